"""Opening your own table: what kind of file it is, told by its content, and its rows block by block.

The name is only a hint, because data managed by DVC or git-annex are links to names without a suffix. Standard input
(`-`) and pipes are first copied to a temporary file, for a table is read twice.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gpcnoise_cli.data.cell import CellError
from gpcnoise_cli.data.table_parts import TableParts, is_several, parts_of
from gpcnoise_cli.data.text_table import TextTable
from gpcnoise_cli.data.typed_table import excel_blocks, feather_blocks, json_blocks, parquet_blocks
from gpcnoise_cli.errors import GpcnoiseError, UsageError

if TYPE_CHECKING:
    import pandas as pd

STDIN = "-"
# Rows that are held at a time.
BLOCK_ROWS = 16_384
SUPPORTED = (
    "CSV, TSV and other delimited text, JSON lines (all also compressed by gzip, bz2 or xz), Parquet, Feather, Excel"
)
_BINARY = {".parquet": "Parquet", ".feather": "Feather", ".arrow": "Feather", ".xlsx": "Excel", ".xlsm": "Excel"}
_MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Feather", b"PK\x03\x04": "Excel"}
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".psv")
_JSON = (".json", ".jsonl", ".ndjson")
_COMPRESSED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_BROKEN = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True)
class TableFile:
    """A table that can be read, any number of times, until it is closed."""

    name: str
    kind: str  # text | json | Parquet | Feather | Excel
    path: Path
    open: Callable[[], IO[bytes]]
    text: TextTable | None = None

    @property
    def typed(self) -> bool:
        """Whether the file itself tells 1 from "1"."""
        return self.text is None

    def notes(self) -> list[str]:
        """What was found out about the file that may surprise."""
        if self.text is None or self.text.encoding in ("utf-8", "utf-8-sig"):
            return []
        return [f"read as {self.text.encoding} text; if letters look wrong, name another --encoding."]

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[pd.DataFrame]:
        """The rows in order, at most `rows` at a time; an error if there is none."""
        found = False
        for frame in self.frames(rows):
            found = True
            yield frame
        if not found:
            raise GpcnoiseError("the file has a header but no rows.")

    def frames(self, rows: int) -> Iterator[pd.DataFrame]:
        """The same, of which there may be none."""
        try:
            for frame in self._frames(rows):
                frame.columns = [str(name) for name in frame.columns]
                _check_header(list(frame.columns))
                if len(frame):
                    yield frame.reset_index(drop=True)
        except _BROKEN as error:
            raise GpcnoiseError(f"it cannot be unpacked ({error}); the file is cut short or damaged.") from error
        except OSError as error:
            raise GpcnoiseError(f"cannot be read ({error.strerror or error}).") from error

    def _frames(self, rows: int) -> Iterator[pd.DataFrame]:
        if self.text is not None:
            return self.text.blocks(rows)
        if self.kind == "json":
            return json_blocks(self.open, rows)
        readers = {"Parquet": parquet_blocks, "Feather": feather_blocks, "Excel": excel_blocks}
        return readers[self.kind](self.path, rows)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Add the file's name, and the line of a cell, to the errors raised inside."""
        try:
            yield
        except CellError as error:
            line = self.text.line_of(error.cell.row) if self.text is not None else None
            raise GpcnoiseError(error.sentence(self.name, line)) from error
        except UsageError:
            raise
        except GpcnoiseError as error:
            raise GpcnoiseError(f"{self.name}: {error}") from error


def check_file(path: str | Path) -> None:
    """Refuse what is no file, nor a folder or pattern of files, before any work is done."""
    path = Path(path)
    if str(path) == STDIN:
        if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
            raise UsageError("--data - reads the table from standard input, where there is none; pipe one in.")
        return
    if path.is_symlink() and not path.exists():
        raise UsageError(
            f"{str(path)!r} is a link whose target is not here; get the data first (`dvc pull`, `git annex get`)."
        )
    if is_several(path):
        for part in parts_of(path):
            check_file(part)
        return
    if not path.exists():
        raise UsageError(f"there is no file {str(path)!r}.")
    if path.is_file() and path.stat().st_size == 0:
        raise GpcnoiseError(f"{path.name}: the file is empty.")


@contextmanager
def open_table(
    path: str | Path, separator: str | None = None, encoding: str | None = None
) -> Iterator[TableFile | TableParts]:
    """The table in `path`, a file, a folder or a pattern; what is not given of separator and encoding is found."""
    check_file(path)
    with ExitStack() as stack:
        files = [stack.enter_context(_opened(part, separator, encoding)) for part in parts_of(path)]
        yield TableParts(Path(path).name, files) if is_several(path) else files[0]


@contextmanager
def _opened(path: Path, separator: str | None, encoding: str | None) -> Iterator[TableFile]:
    name = "standard input" if str(path) == STDIN else path.name
    with _regular(path, name) as regular:
        try:
            file = _recognised(name, regular, separator, encoding)
        except UsageError:
            raise
        except GpcnoiseError as error:
            raise GpcnoiseError(f"{name}: {error}") from error
        except _BROKEN as error:
            raise GpcnoiseError(f"{name}: it cannot be unpacked ({error}); it is cut short or damaged.") from error
        except OSError as error:
            raise GpcnoiseError(f"{name}: cannot be read ({error.strerror or error}).") from error
        yield file


@contextmanager
def _regular(path: Path, name: str) -> Iterator[Path]:
    """`path` itself, or a temporary copy of what can be read only once."""
    if str(path) != STDIN and stat.S_ISREG(path.stat().st_mode):
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="gpcnoise-", suffix="".join(path.suffixes)) as copy:
        try:
            if str(path) == STDIN:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            else:
                with path.open("rb") as stream:
                    shutil.copyfileobj(stream, copy)
            copy.flush()
        except OSError as error:
            raise GpcnoiseError(f"{name}: cannot be read ({error.strerror or error}).") from error
        yield Path(copy.name)


def _recognised(name: str, path: Path, separator: str | None, encoding: str | None) -> TableFile:
    opened, packed = _opener(path)
    with opened() as stream:
        head = stream.read(1 << 12)
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    suffix = next((one for one in reversed(suffixes) if one not in (".gz", ".bz2", ".xz")), "")
    if not head.strip():
        raise GpcnoiseError("the file is empty.")
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    expected = _BINARY.get(suffix)
    if suffix == ".zip" or head.startswith(b"\xd0\xcf\x11\xe0") or (packed and kind is not None):
        raise GpcnoiseError(f"this kind of file is not read; unpack it, or save it as CSV. Supported: {SUPPORTED}.")
    if kind is None and expected is not None:
        raise GpcnoiseError(f"not a readable {expected} file (its first bytes are those of another kind).")
    if kind is not None:
        return TableFile(name, kind, path, opened)
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:2]
    if suffix in _JSON or (suffix not in _TEXT and (begins[:1] == b"{" or begins in (b"[{", b"[\n", b"[\r", b"[ "))):
        return TableFile(name, "json", path, opened)
    usual = {".tsv": "\t", ".tab": "\t", ".psv": "|"}.get(suffix, ",")
    return TableFile(name, "text", path, opened, TextTable.found(opened, usual, separator, encoding))


def _opener(path: Path) -> tuple[Callable[[], IO[bytes]], bool]:
    """What opens the file, unpacking it on the way, and whether it does."""
    with path.open("rb") as stream:
        head = stream.read(8)
    unpack = next((opener for magic, opener in _COMPRESSED.items() if head.startswith(magic)), None)
    return (lambda: unpack(path, "rb"), True) if unpack is not None else (lambda: path.open("rb"), False)


def _check_header(header: list[str]) -> None:
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise GpcnoiseError(f"column {twice[-1]!r} appears twice; rename one.")
    nameless = [position for position, name in enumerate(header, start=1) if not name]
    if nameless:
        raise GpcnoiseError(f"column {nameless[0]} has no name; name it or remove it.")
