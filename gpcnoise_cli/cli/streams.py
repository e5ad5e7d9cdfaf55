"""stdin, stdout and stderr as a shell may hand them over: closed, for ASCII only, or with a reader that goes away.

A closed stream counts as /dev/null. Letters that the encoding of a terminal or pipe cannot hold are spelled out. When
the reader of a pipe has gone (`| head -1`) or the terminal has been closed, the rest is dropped: the command ends as it
would have, and training goes on to its checkpoint. A full disk under stdout is still an error; under stderr, which
carries only messages, nothing is.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

SPELLED = {
    "δ": "delta", "α": "alpha", "μ": "mu", "ν": "nu", "σ": "sigma", "Δ": "Delta", "Φ": "Phi", "√": "sqrt", "±": "+/-",
    "×": "x", "·": ".", "–": "-", "—": "-", "−": "-", "─": "-", "…": "...", "→": "->", "≤": "<=", "≥": ">=", "≈": "~",
    "†": "+", "²": "^2", "’": "'", "“": '"', "”": '"', "•": "*", "✓": "yes", "✗": "no",
}  # fmt: skip
ERRORS = "gpcnoise.spelled"


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    """For `codecs`: bytes of a file name that is no text go out as they are, other letters as words or escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00]), error.start + 1
    escaped = letter.encode("ascii", "backslashreplace").decode()
    return SPELLED.get(letter, escaped), error.start + 1


codecs.register_error(ERRORS, _spell)


class _Patient(io.FileIO):
    """A descriptor whose reader may leave."""

    def __init__(self, descriptor: int, *, only_messages: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.only_messages, self.gone = only_messages, False

    def write(self, data: Buffer) -> int:
        if not self.gone:
            try:
                return super().write(data) or 0
            except OSError as error:
                if not self.only_messages and error.errno not in (errno.EPIPE, errno.EIO):
                    raise
                self.gone = True
        return len(memoryview(data).cast("B"))


def prepare_streams() -> None:
    """To be called first: later a file might have been opened under the number of a closed stream."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False))
    sys.stdout = _writer(1, sys.stdout, only_messages=False)
    sys.stderr = _writer(2, sys.stderr, only_messages=True)


def _writer(descriptor: int, before: TextIO | None, *, only_messages: bool) -> io.TextIOWrapper:
    raw = _Patient(descriptor, only_messages=only_messages)
    encoding = getattr(before, "encoding", None) or "utf-8"
    by_line = only_messages or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, ERRORS, line_buffering=by_line)


def reader_gone() -> bool:
    """Whether nobody reads stdout any more: a long result need not be computed to its end."""
    return getattr(getattr(getattr(sys.stdout, "buffer", None), "raw", None), "gone", False)
