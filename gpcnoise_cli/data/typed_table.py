"""Tables that know their types: Parquet and Feather (by pyarrow), Excel (by openpyxl, where installed), JSON.

Each gives data frames block by block. Whole numbers with gaps stay whole numbers, so that class 1 does not become 1.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gpcnoise_cli.errors import GpcnoiseError

if TYPE_CHECKING:
    import pandas as pd


def parquet_blocks(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Read as it is used: buffering ahead would hold whole row groups, which may be as large as the file.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18) as file:
            for batch in file.iter_batches(rows):
                yield batch.to_pandas(integer_object_nulls=True)
    except (pa.ArrowException, ValueError) as error:
        raise GpcnoiseError(f"not a readable Parquet file ({_first_line(error)}).") from error


def feather_blocks(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
            for number in range(file.num_record_batches):
                for batch in pa.Table.from_batches([file.get_batch(number)]).to_batches(max_chunksize=rows):
                    yield batch.to_pandas(integer_object_nulls=True)
    except (pa.ArrowException, ValueError) as error:
        raise GpcnoiseError(f"not a readable Feather file ({_first_line(error)}).") from error


def excel_blocks(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    """The first sheet, row by row; its first row is the header."""
    import zipfile

    import pandas as pd

    try:
        import openpyxl
    except ImportError as error:
        raise GpcnoiseError(
            "Excel files are read by openpyxl, which is not installed: pip install openpyxl, or save it as CSV."
        ) from error
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, openpyxl.utils.exceptions.InvalidFileException) as error:
        raise GpcnoiseError(f"not a readable Excel file ({_first_line(error)}).") from error
    try:
        lines = (line for line in book.worksheets[0].iter_rows(values_only=True) if any(v is not None for v in line))
        header = ["" if name is None else str(name).strip() for name in next(lines, ())]
        while header and not header[-1]:
            header.pop()
        block: list[list[Any]] = []
        for line in lines:
            cells = list(line)[: len(header)]
            block.append(cells + [None] * (len(header) - len(cells)))
            if len(block) == rows:
                yield pd.DataFrame(block, columns=header, dtype=object)
                block = []
        if block:
            yield pd.DataFrame(block, columns=header, dtype=object)
    finally:
        book.close()


def json_blocks(open: Callable[[], IO[bytes]], rows: int) -> Iterator[pd.DataFrame]:
    """JSON lines, an object each, or one array of objects; keys that a block lacks are missing values."""
    import pandas as pd

    header: dict[str, None] = {}
    block: list[dict[str, Any]] = []

    def frame() -> pd.DataFrame:
        header.update(dict.fromkeys(key for record in block for key in record))
        return pd.DataFrame([[record.get(key) for key in header] for record in block], columns=[*header], dtype=object)

    for record in _objects(open):
        block.append(record)
        if len(block) == rows:
            yield frame()
            block = []
    if block:
        yield frame()


def _objects(open: Callable[[], IO[bytes]]) -> Iterator[dict[str, Any]]:
    with open() as stream:
        start = stream.read(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    line = 0
    try:
        with open() as stream:
            if start == b"[":
                found = json.loads(stream.read().decode("utf-8-sig"))
                for line, record in enumerate(found, start=1):
                    yield _object(record, f"element {line}")
                return
            for text in stream:
                line += 1
                if text.strip():
                    yield _object(json.loads(text.decode("utf-8-sig")), f"line {line}")
    except ValueError as error:
        where = f"line {line}" if start != b"[" else "the array"
        raise GpcnoiseError(f"{where} is not JSON ({_first_line(error)}); one object a line is expected.") from error


def _object(record: Any, where: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise GpcnoiseError(f'{where} is no JSON object; each row is one, such as {{"x": 1.5, "class": "a"}}.')
    return {str(key): json.dumps(value) if isinstance(value, dict | list) else value for key, value in record.items()}


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
