"""Predictions as a table: the column `class` with the class's own name, then `p(<name>)` for each class.

A table is written block by block, so its length does not matter, and appears under its name only when it is whole.
"""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.split import ClassName
from gpcnoise_cli.data.table_file import SEPARATORS, SUPPORTED, file_kind
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Blocks = Iterable[NDArray[np.floating]]
WriteBlock = Callable[["pd.DataFrame"], Any]


def check_target(out: Path, *, force: bool) -> None:
    """Refuse a file that cannot be written or must not be replaced, before any work is done."""
    try:
        file_kind(out)
    except UsageError as error:
        raise UsageError(f"cannot tell how to write {out.name!r}; --out takes {SUPPORTED}.") from error
    if out.is_dir() or (out.exists() and not force):
        raise UsageError(f"{str(out)!r} exists already; choose another name or replace it with --force.")
    if not out.parent.is_dir():
        raise UsageError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}; make it first.")


def formula_like(class_names: Sequence[ClassName]) -> list[str]:
    """The names that a spreadsheet would take for formulas: `=1+1`, `@home`, but not `-1`.

    They are written as they are, because a program that reads the table looks for the names of the training data.
    """
    texts = [name for name in class_names if isinstance(name, str)]
    return [text for text in texts if text.lstrip().startswith(("=", "+", "-", "@")) and not _is_number(text)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def probability_column(name: ClassName) -> str:
    return f"p({name})"


def prediction_table(probabilities: NDArray[np.floating], class_names: Sequence[ClassName]) -> pd.DataFrame:
    """One block of the table."""
    import pandas as pd

    frame = pd.DataFrame(probabilities, columns=[probability_column(name) for name in class_names])
    names = np.empty(len(class_names), dtype=object)  # filled by hand: NumPy would turn mixed types into text
    names[:] = class_names
    frame.insert(0, "class", names[probabilities.argmax(axis=1)])
    return frame


def write_predictions(out: Path, blocks: Blocks, class_names: Sequence[ClassName]) -> None:
    """Write CSV, TSV (also gzipped) or Parquet, whichever `out` ends in."""

    def fill(stream: IO[bytes]) -> None:
        with _writer(out, stream, class_names) as write:
            for probabilities in blocks:
                write(prediction_table(probabilities, class_names))

    write_atomically(out, fill)


def csv_blocks(blocks: Blocks, class_names: Sequence[ClassName], separator: str = ",") -> Iterator[str]:
    """The table as text, for standard output."""
    for number, probabilities in enumerate(blocks):
        yield _text(prediction_table(probabilities, class_names), separator, header=number == 0)


@contextlib.contextmanager
def _writer(out: Path, stream: IO[bytes], class_names: Sequence[ClassName]) -> Iterator[WriteBlock]:
    kind = file_kind(out)
    if kind == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = _schema(class_names)
        with pq.ParquetWriter(stream, schema) as parquet:
            yield lambda frame: parquet.write_table(pa.Table.from_pandas(_typed(frame, schema), schema))
        return
    headed = False

    def write(frame: pd.DataFrame) -> None:
        nonlocal headed
        target.write(_text(frame, SEPARATORS[kind], header=not headed).encode())
        headed = True

    with contextlib.ExitStack() as stack:
        zipped = out.suffix.lower() == ".gz"
        target = stack.enter_context(gzip.GzipFile("", "wb", fileobj=stream, mtime=0)) if zipped else stream
        yield write


def _text(frame: pd.DataFrame, separator: str, *, header: bool) -> str:
    return frame.to_csv(sep=separator, header=header, index=False, lineterminator="\n")


def _schema(class_names: Sequence[ClassName]) -> pa.Schema:
    """`class` has the type of the names; text if they are of several."""
    import pyarrow as pa

    types = {type(name) for name in class_names}
    of_class = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}.get(types.pop() if len(types) == 1 else str)
    columns = [pa.field(probability_column(name), pa.float64()) for name in class_names]
    return pa.schema([pa.field("class", of_class or pa.string()), *columns])


def _typed(frame: pd.DataFrame, schema: pa.Schema) -> pd.DataFrame:
    import pyarrow as pa

    return frame.assign(**{"class": frame["class"].astype(str)}) if schema.field("class").type == pa.string() else frame
