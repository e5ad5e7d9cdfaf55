"""Predictions as a table: columns kept of the data, `class` with the class's own name, `p(<name>)` for each class.

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
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Class probabilities, and the columns of the data that come along.
Blocks = Iterable[tuple[NDArray[np.floating], "pd.DataFrame"]]
WriteBlock = Callable[["pd.DataFrame"], Any]

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def file_kind(path: Path) -> str:
    """The ending that decides how `path` is written: .csv, .tsv or .parquet."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = (suffixes[:-1] if zipped else suffixes)[-1:]
    if kind not in [[ending] for ending in SEPARATORS] and (zipped or kind != [".parquet"]):
        raise UsageError(
            f"cannot tell how to write {path.name!r}; --out takes .csv, .tsv (also .csv.gz, .tsv.gz) and .parquet."
        )
    return kind[0]


def check_target(out: Path, *, force: bool) -> None:
    """Refuse a file that cannot be written or must not be replaced, before any work is done."""
    file_kind(out)
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


def prediction_table(
    probabilities: NDArray[np.floating], class_names: Sequence[ClassName], kept: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One block of the table."""
    import pandas as pd

    frame = pd.DataFrame(probabilities, columns=[probability_column(name) for name in class_names])
    names = np.empty(len(class_names), dtype=object)  # filled by hand: NumPy would turn mixed types into text
    names[:] = class_names
    frame.insert(0, "class", names[probabilities.argmax(axis=1)])
    if kept is None or not len(kept.columns):
        return frame
    for name in kept.columns:
        if name in frame.columns:
            raise GpcnoiseError(f"the kept column {name!r} has the name of a column of the predictions; rename it.")
    return pd.concat([kept.reset_index(drop=True), frame], axis=1)


def write_predictions(out: Path, blocks: Blocks, class_names: Sequence[ClassName]) -> None:
    """Write CSV, TSV (also gzipped) or Parquet, whichever `out` ends in."""

    def fill(stream: IO[bytes]) -> None:
        with _writer(out, stream, class_names) as write:
            for probabilities, kept in blocks:
                write(prediction_table(probabilities, class_names, kept))

    write_atomically(out, fill)


def csv_blocks(blocks: Blocks, class_names: Sequence[ClassName], separator: str = ",") -> Iterator[str]:
    """The table as text, for standard output."""
    for number, (probabilities, kept) in enumerate(blocks):
        yield _text(prediction_table(probabilities, class_names, kept), separator, header=number == 0)


@contextlib.contextmanager
def _writer(out: Path, stream: IO[bytes], class_names: Sequence[ClassName]) -> Iterator[WriteBlock]:
    kind = file_kind(out)
    if kind == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        with contextlib.ExitStack() as stack:
            parquet: pq.ParquetWriter | None = None

            def write_parquet(frame: pd.DataFrame) -> None:
                nonlocal parquet
                if parquet is None:
                    schema = _schema(class_names, [name for name in frame.columns[: frame.columns.get_loc("class")]])
                    parquet = stack.enter_context(pq.ParquetWriter(stream, schema))
                parquet.write_table(pa.Table.from_pandas(_typed(frame, parquet.schema), parquet.schema))

            yield write_parquet
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


def _schema(class_names: Sequence[ClassName], kept: Sequence[str] = ()) -> pa.Schema:
    """`class` has the type of the names; text if they are of several. Columns kept are text."""
    import pyarrow as pa

    types = {type(name) for name in class_names}
    of_class = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}.get(types.pop() if len(types) == 1 else str)
    columns = [pa.field(probability_column(name), pa.float64()) for name in class_names]
    along = [pa.field(name, pa.string()) for name in kept]
    return pa.schema([*along, pa.field("class", of_class or pa.string()), *columns])


def _typed(frame: pd.DataFrame, schema: pa.Schema) -> pd.DataFrame:
    import pyarrow as pa

    text = [name for name in frame.columns if schema.field(name).type == pa.string()]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in text})
