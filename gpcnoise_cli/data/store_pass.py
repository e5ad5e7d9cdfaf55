"""From the files of a table to a store, in memory that does not grow with the table.

The files are read twice, block by block, as a table in memory is: once to find out what the columns and classes are,
once to encode. Encoded rows are scattered to buckets by the key of their place in the split (`row_order`), unscaled and
with their gaps, in a temporary file. Gaps and scaling are then settled: medians from the first bucket, which is as good
a sample of the training rows as any, mean and variance from all of them. Last, each bucket is ordered, filled, scaled
and written. A table of one bucket gets the very numbers that it gets in memory, rounded to float32.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.encoder import TableEncoder
from gpcnoise_cli.data.row_order import RowOrder
from gpcnoise_cli.data.scaling import Scaler, fit_scaler, fit_scaler_in_blocks, shared_scales
from gpcnoise_cli.data.split import MOST_TEST_ROWS
from gpcnoise_cli.data.store import StoreWriter, block_rows
from gpcnoise_cli.data.table import FittedTable, fitter_of, labelled_blocks, leaks
from gpcnoise_cli.data.table_file import TableFile
from gpcnoise_cli.data.table_parts import TableParts
from gpcnoise_cli.data.treatment import Treatment
from gpcnoise_cli.errors import GpcnoiseError, UsageError

_CHUNK = 2**14

Chunks = Iterator[tuple[NDArray[np.float64], NDArray[np.int32]]]


def train_rows(n: int, test_fraction: float) -> int:
    """How many of `n` rows are trained on: as in memory, but for the bound on test rows."""
    trained = int(n * (1.0 - test_fraction))
    if trained < 1:
        raise UsageError(f"test fraction {test_fraction} leaves none of the {n} rows for training.")
    return max(trained, n - MOST_TEST_ROWS)


def write_store(
    folder: Path,
    file: TableFile | TableParts,
    target: str,
    treatment: Treatment,
    *,
    protocol: str,
    split: int,
    test_fraction: float,
    categories: str = "level",
) -> None:
    """Fill `folder` with the rows of `file`: first those to train on, then those to test with."""
    fitted = fitter_of(file, target, treatment).finish()
    n, d = fitted.labelled, len(fitted.encoder.feature_names)
    n_train = train_rows(n, test_fraction)
    order = RowOrder(n, split, block_rows(d))
    _check_space(folder, n * (Buckets.row_type(d).itemsize + 4 * d + 4))
    with Buckets(folder / "buckets", order, d) as buckets:
        _scatter(file, fitted.encoder, buckets)
        first = buckets.ordered(0)
        kept = min(len(first), n_train) if protocol == "clean" else len(first)
        encoder = fitted.encoder.with_medians(first["x"][:kept])
        notes = (*file.notes(), *fitted.notes, *leaks(fitted, first["x"], first["y"].astype(np.int64)))
        del first
        scaler = _scaler(buckets, encoder, n_train, protocol, shared_scales(encoder, categories))
        with StoreWriter(folder, n, d) as writer:
            for X, y in buckets.chunks(encoder):
                writer.append(scaler.transform(X), y)
            writer.finish(_facts(fitted, encoder, scaler, n_train, notes))
    buckets.path.unlink()


def _scatter(file: TableFile | TableParts, encoder: TableEncoder, buckets: Buckets) -> None:
    for frame, y, rows in labelled_blocks(file, encoder):
        buckets.scatter(encoder.encode(frame, rows=rows, fill=False), y)
    if buckets.scattered != buckets.order.n:
        raise GpcnoiseError("it had another number of rows when it was read again.")


def _scaler(buckets: Buckets, encoder: TableEncoder, n_train: int, protocol: str, shared: Sequence[slice]) -> Scaler:
    names = encoder.feature_names
    if buckets.order.buckets == 1:
        # Protocol paper: over all rows in the order of the file, as in memory.
        rows = buckets.read(0) if protocol == "paper" else buckets.ordered(0)[:n_train]
        return fit_scaler(encoder.filled(np.ascontiguousarray(rows["x"])), names, protocol, shared)

    def blocks() -> Iterator[NDArray[np.float64]]:
        left = n_train if protocol == "clean" else buckets.order.n
        for X, _ in buckets.chunks(encoder):
            yield X[:left]
            left -= min(left, len(X))
            if not left:
                return

    return fit_scaler_in_blocks(blocks(), names, protocol, shared)


def _facts(
    fitted: FittedTable, encoder: TableEncoder, scaler: Scaler, n_train: int, notes: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "n_train": n_train,
        "scaler": scaler.to_dict(),
        "encoder": encoder.to_dict(),
        "findings": [finding.to_dict() for finding in fitted.findings],
        "notes": list(notes),
    }


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise GpcnoiseError(
            f"the rows need {needed / 1e9:.1f} GB in {str(folder.parent)!r} while they are prepared, and "
            f"{free / 1e9:.1f} GB are free; nothing was written: free some space, or set GPCNOISE_STORE_DIR to a "
            "folder on a larger disk."
        )


@dataclass
class Buckets:
    """Encoded rows in one temporary file, a region for each bucket; within it they lie as they came."""

    path: Path
    order: RowOrder
    d: int

    @staticmethod
    def row_type(d: int) -> np.dtype[Any]:
        return np.dtype([("x", "<f8", (d,)), ("y", "<i4"), ("key", "<u8")])

    def __enter__(self) -> Buckets:
        self.type, self.scattered = self.row_type(self.d), 0
        self.starts = np.concatenate([[0], np.cumsum(self.order.sizes)])
        self._filled = np.zeros(self.order.buckets, dtype=np.int64)
        self._stream = self.path.open("w+b")
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def scatter(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """The next rows of the table."""
        stop = self.scattered + len(X)
        if stop > self.order.n:
            raise GpcnoiseError("it had more rows when it was read again.")
        rows = np.empty(len(X), dtype=self.type)
        rows["x"], rows["y"], rows["key"] = X, y, self.order.keys(self.scattered, stop)
        bucket = self.order.bucket(rows["key"])
        sorting = np.argsort(bucket, kind="stable")
        rows, bounds = rows[sorting], np.searchsorted(bucket[sorting], np.arange(self.order.buckets + 1))
        for number in np.flatnonzero(np.diff(bounds)):
            part = rows[bounds[number] : bounds[number + 1]]
            self._stream.seek(int(self.starts[number] + self._filled[number]) * self.type.itemsize)
            self._stream.write(part.data)
            self._filled[number] += len(part)
        self.scattered = stop

    def read(self, number: int) -> NDArray[Any]:
        """The rows of a bucket, in the order of the table."""
        start, stop = int(self.starts[number]), int(self.starts[number + 1])
        self._stream.flush()
        return np.fromfile(self.path, self.type, count=stop - start, offset=start * self.type.itemsize)

    def ordered(self, number: int) -> NDArray[Any]:
        """The rows of a bucket in the order of the split."""
        rows = self.read(number)
        return rows[np.argsort(rows["key"], kind="stable")]

    def chunks(self, encoder: TableEncoder) -> Chunks:
        """All rows in the order of the split, filled, a few at a time."""
        for number in range(self.order.buckets):
            rows = self.read(number)
            sorting = np.argsort(rows["key"], kind="stable")
            for start in range(0, len(rows), _CHUNK):
                chunk = rows[sorting[start : start + _CHUNK]]
                yield encoder.filled(np.ascontiguousarray(chunk["x"])), chunk["y"]
