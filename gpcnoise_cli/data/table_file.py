"""Opening your own table: CSV, TSV (plain or gzipped) and Parquet into a pandas frame, or one sentence why not.

pandas forgives much that would silently change the data: it renames a repeated column, takes the first column for an
index when rows are longer than the header, and turns short rows into missing values. Here each of these is an error.
"""

from __future__ import annotations

import csv
import gzip
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from gpcnoise_cli.data.encoder import CellError
from gpcnoise_cli.errors import GpcnoiseError, UsageError

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.parsers import TextFileReader

SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUPPORTED = ".csv, .tsv (also .csv.gz, .tsv.gz) and .parquet"


def file_kind(path: Path) -> str:
    """The extension that decides how `path` is read: .csv, .tsv or .parquet."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    gzipped_other = suffixes[-1:] == [".gz"] and kind not in SEPARATORS
    if kind not in (*SEPARATORS, ".parquet") or gzipped_other:
        raise UsageError(f"cannot tell how to read {path.name!r}; supported are {SUPPORTED}.")
    return kind


def open_text(path: Path) -> TextIO:
    """The text of a CSV or TSV file; a byte-order mark at its start is not data."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def check_file(path: Path) -> str:
    """The kind of the table in `path`; an error if there is no such file or it is empty."""
    kind = file_kind(path)
    if not path.exists():
        raise UsageError(f"there is no file {str(path)!r}.")
    if path.is_dir():
        raise UsageError(f"{str(path)!r} is a folder, not a table.")
    if path.stat().st_size == 0:
        raise GpcnoiseError(f"{path.name}: the file is empty.")
    return kind


def read_table(path: str | Path, text_columns: Iterable[str] = ()) -> pd.DataFrame:
    """The table in `path`; columns in `text_columns` are kept as written instead of being typed by their content."""
    (frame,) = read_blocks(path, text_columns)
    return frame


def read_blocks(path: str | Path, text_columns: Iterable[str] = (), rows: int | None = None) -> Iterator[pd.DataFrame]:
    """The same table in blocks of `rows` rows, each typed by its own content; in one block if `rows` is None."""
    path = Path(path)
    kind = check_file(path)
    blocks = _parquet_blocks(path, rows) if kind == ".parquet" else _text_blocks(path, kind, text_columns, rows)
    found = False
    try:
        for frame in blocks:
            if not frame.empty:
                found = True
                yield frame
    except OSError as error:
        raise GpcnoiseError(f"{path.name}: cannot be read ({error.strerror or error}).") from error
    if not found:
        raise GpcnoiseError(f"{path.name}: the file has a header but no rows.")


def _parquet_blocks(path: Path, rows: int | None) -> Iterator[pd.DataFrame]:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        frames = (
            iter([pd.read_parquet(path)])
            if rows is None
            else (batch.to_pandas() for batch in pq.ParquetFile(path).iter_batches(rows))
        )
        for frame in frames:
            frame.columns = [str(name) for name in frame.columns]
            _check_header(path, list(frame.columns))
            yield frame.reset_index(drop=True)
    except (pa.ArrowException, ValueError) as error:
        raise GpcnoiseError(f"{path.name}: not a readable Parquet file ({_first_line(error)}).") from error


def _text_blocks(path: Path, kind: str, text_columns: Iterable[str], rows: int | None) -> Iterator[pd.DataFrame]:
    import pandas as pd

    separator = SEPARATORS[kind]
    try:
        header = _read_header(path, separator)
        with (
            open_text(path) as text,
            pd.read_csv(
                text,
                sep=separator,
                header=0,
                names=header,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
                dtype={name: "str" for name in text_columns if name in header},
                float_precision="round_trip",
                iterator=True,
            ) as reader,
        ):
            first = True
            while (frame := _next_block(reader, rows)) is not None:
                yield _drop_row_names(path, frame, first)
                first = False
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, csv.Error) as error:
        raise GpcnoiseError(f"{path.name}: not a readable UTF-8 text file ({_first_line(error)}).") from error
    except pd.errors.EmptyDataError as error:
        raise GpcnoiseError(f"{path.name}: the file is empty.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise GpcnoiseError(f"{path.name}: not a regular table ({_first_line(error)}).") from error


def _read_header(path: Path, separator: str) -> list[str]:
    with open_text(path) as text:
        header = next((row for row in csv.reader(text, delimiter=separator, skipinitialspace=True) if row), [])
    header = [name.strip() for name in header]
    if not header:
        raise GpcnoiseError(f"{path.name}: the file is empty.")
    other = next((mark for mark in (";", "\t", ",") if len(header) == 1 and mark in header[0]), None)
    if other is not None:
        raise GpcnoiseError(f"{path.name}: columns look separated by {other!r}; save the file with {separator!r}.")
    _check_header(path, header)
    return header


def _next_block(reader: TextFileReader, rows: int | None) -> pd.DataFrame | None:
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return reader.read(rows)
        except StopIteration:
            return None


def _drop_row_names(path: Path, frame: pd.DataFrame, first_block: bool) -> pd.DataFrame:
    """Drop a nameless first column that counts the rows, as R and pandas write it: a row number is not a feature."""
    if frame.columns[0] != "" or frame.empty:
        return frame
    numbers = frame.iloc[:, 0].to_numpy()
    counts = numbers.dtype.kind in "iu" and (np.diff(numbers) == 1).all()
    if counts and (numbers[0] in (0, 1) or not first_block):
        return frame.iloc[:, 1:]
    raise GpcnoiseError(f"{path.name}: the first column has no name; name it or remove it.")


def _check_header(path: Path, header: list[str]) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice and twice != [""]:
        raise GpcnoiseError(f"{path.name}: column {max(twice)!r} appears twice; rename one.")
    nameless = [position for position, name in enumerate(header, start=1) if name == "" and position > 1]
    if nameless:
        raise GpcnoiseError(f"{path.name}: column {nameless[0]} has no name; name it or remove it.")


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__


def line_of(path: Path, row: int) -> int | None:
    """The line of the file on which 0-based data row `row` starts; None for Parquet, which has no lines."""
    if file_kind(path) == ".parquet":
        return None
    with open_text(path) as text:
        reader = csv.reader(text, delimiter=SEPARATORS[file_kind(path)])
        position, start = -1, 1  # the header is record −1; a record may span lines, a blank line is none
        for record in reader:
            if record:
                if position == row:
                    return start
                position += 1
            start = reader.line_num + 1
    return None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's name, and the line of a cell, to the errors raised inside."""
    try:
        yield
    except CellError as error:
        raise GpcnoiseError(error.sentence(path.name, line_of(path, error.cell.row))) from error
    except UsageError:
        raise
    except GpcnoiseError as error:
        raise GpcnoiseError(f"{path.name}: {error}") from error
