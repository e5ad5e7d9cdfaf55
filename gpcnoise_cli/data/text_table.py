"""Delimited text: its encoding, its separator, and its records, each as long as the header.

Encoding and separator are found, or given. What would silently change the data is an error that names the line: a row
that is longer or shorter than the header, a quote that is never closed, a zero byte.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from gpcnoise_cli.errors import GpcnoiseError, UsageError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
LONGEST_VALUE = 1 << 24
ROW_NAMES = "rownames"  # what R calls its nameless first column
_SAMPLE = 1 << 16
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

Open = Callable[[], IO[bytes]]


@dataclass(frozen=True)
class TextTable:
    """How one file is to be read; `open` gives its bytes, as often as needed."""

    open: Open
    separator: str
    encoding: str
    spaced_quotes: bool
    """Whether a quote may follow a space: `a, "b, c"`."""

    @classmethod
    def found(cls, open: Open, usual: str, separator: str | None, encoding: str | None) -> TextTable:
        """What is not given is found in the file; `usual` is the separator that its name suggests."""
        encoding = checked_encoding(encoding) if encoding else find_encoding(open)
        with io.TextIOWrapper(open(), encoding, newline="") as text:
            try:
                sample = text.read(_SAMPLE)
            except UnicodeError as error:
                raise _undecodable(encoding) from error
        separator = checked_separator(separator) if separator is not None else find_separator(sample, usual)
        return cls(open, separator, encoding, f'{separator} "' in sample or separator == " ")

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Every record that is not blank, with the line on which it starts; the first is the header."""
        csv.field_size_limit(LONGEST_VALUE)
        with io.TextIOWrapper(self.open(), self.encoding, newline="") as text:
            reader = csv.reader(text, delimiter=self.separator, skipinitialspace=self.spaced_quotes, strict=True)
            start = 1
            try:
                for record in reader:
                    if record:
                        yield start, record
                    start = reader.line_num + 1
            except csv.Error as error:
                raise GpcnoiseError(f"line {start}: {_in_words(error)}.") from error
            except UnicodeError as error:
                raise _undecodable(self.encoding) from error

    def blocks(self, rows: int) -> Iterator[pd.DataFrame]:
        """Frames of texts."""
        import pandas as pd

        records = self.records()
        header = _named([name.strip() for name in next(records, (1, []))[1]])
        width, block = len(header), []
        for line, record in records:
            if len(record) != width:
                if len(record) == width + 1 and not record[-1].strip():
                    record = record[:-1]  # every line ends with a separator
                else:
                    raise GpcnoiseError(
                        f"line {line} has {len(record)} value{'s' if len(record) != 1 else ''}, but the header names "
                        f"{width} column{'s' if width != 1 else ''} (separated by {self.separator!r}); mend that line, "
                        "or name another separator by --sep."
                    )
            block.append(record)
            if len(block) == rows:
                yield pd.DataFrame(block, columns=header, dtype=object)
                block = []
        if block:
            yield pd.DataFrame(block, columns=header, dtype=object)

    def line_of(self, row: int) -> int | None:
        """The line on which 0-based data row `row` starts."""
        return next((line for number, (line, _) in enumerate(self.records()) if number == row + 1), None)


def _named(header: list[str]) -> list[str]:
    """The header; a nameless first column, as R and pandas write their row names, is called so."""
    if header and not header[0] and ROW_NAMES not in header:
        return [ROW_NAMES, *header[1:]]
    while header and not header[-1]:  # lines that end with a separator
        header = header[:-1]
    return header


def checked_separator(given: str) -> str:
    separator = NAMED_SEPARATORS.get(given.lower(), given)
    if len(separator) != 1 or separator in '"\r\n':
        names = ", ".join(name for name in NAMED_SEPARATORS if name.isalpha())
        raise UsageError(f"--sep takes a single character or one of {names}, not {given!r}.")
    return separator


def checked_encoding(given: str) -> str:
    try:
        "".encode(given)  # also refuses what is a codec, but not of text
        return "utf-8-sig" if codecs.lookup(given).name == "utf-8" else given
    except (LookupError, ValueError) as error:
        raise UsageError(f"there is no encoding {given!r}; usual ones are utf-8, latin-1, cp1252, utf-16.") from error


def find_encoding(open: Open) -> str:
    """UTF-8 where the whole file is, UTF-16 by its mark or its zero bytes, else Windows' or ISO's Western one."""
    with open() as stream:
        head = stream.read(_SAMPLE)
        for mark, encoding in _MARKS.items():
            if head.startswith(mark):
                return encoding
        half = len(head) / 2
        if head[1::2].count(0) > 0.4 * half and not head[::2].count(0):
            return "utf-16-le"
        if head[::2].count(0) > 0.4 * half and not head[1::2].count(0):
            return "utf-16-be"
        utf8, western = codecs.getincrementaldecoder("utf-8")(), codecs.getincrementaldecoder("cp1252")()
        decodes, lines, block = {"utf-8": utf8, "cp1252": western}, 1, head
        while block:
            if b"\0" in block:
                line = lines + block[: block.index(b"\0")].count(b"\n")
                raise GpcnoiseError(f"line {line} holds a zero byte, so it is no text; name its --encoding or mend it.")
            lines += block.count(b"\n")
            for name, decoder in list(decodes.items()):
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    del decodes[name]
            block = stream.read(1 << 20)
        try:
            utf8.decode(b"", final=True)  # a character that the end of the file cuts off
        except UnicodeDecodeError:
            decodes.pop("utf-8", None)
    return next(iter(decodes), "latin-1")


def find_separator(sample: str, usual: str) -> str:
    """The mark that parts the header and parts most lines of the sample into as many values; `usual` if none does."""

    def score(mark: str) -> tuple[float, bool, int]:
        try:
            records = [record for record in csv.reader(io.StringIO(sample, newline=""), delimiter=mark) if record][:100]
        except csv.Error:
            return 0.0, False, 0
        lengths = Counter(map(len, records[:-1] if len(records) > 2 else records))  # the sample may cut the last one
        width = len(records[0]) if records else 0
        return (lengths[width] / lengths.total() if width > 1 else 0.0), mark == usual, width

    best = max(SEPARATORS, key=score)
    return best if score(best)[0] > 0 else usual


def _in_words(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end" in text:
        return "a quote that opens here is never closed"
    if "field larger" in text:
        return f"a value of more than {LONGEST_VALUE:,} characters (is a quote not closed?)"
    if "expected after" in text:
        return "something follows a closing quote; double the quotes that are part of a text"
    return f"it cannot be read as a table ({text})"


def _undecodable(encoding: str) -> GpcnoiseError:
    return GpcnoiseError(f"it is not {encoding} text; name another --encoding, such as latin-1 or utf-16.")
