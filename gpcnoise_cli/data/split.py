"""A split: the arrays a model is trained and tested on, and the two protocols that make them.

Both protocols shuffle the rows as `bayesian_benchmarks` does (seed = split number, the first int(0.9 N) rows train), so
split k holds the same rows under either. They differ in the scaling: `paper` standardises over all rows and divides by
1e-6 + std, as the paper did; `clean` fits mean and std on the training rows only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.registry import PROTOCOLS, TEST_ROWS
from gpcnoise_cli.data.scaling import Scaler, fit_scaler, shared_scales
from gpcnoise_cli.errors import UsageError, unknown_choice

if TYPE_CHECKING:
    from gpcnoise_cli.data.column_kinds import Finding
    from gpcnoise_cli.data.encoder import TableEncoder
    from gpcnoise_cli.data.store import Store

ClassName = str | int | float | bool
# Test rows are scored many times in a run, in memory: of a table on disk no more than these are set aside. They give an
# accuracy to within 0.16 points (one standard error).
MOST_TEST_ROWS = 100_000
_BLOCK = 2**20


@dataclass(frozen=True)
class Split:
    """Everything training needs; X is scaled, y holds 0..C−1 and `class_names[y]` is what the data called it."""

    dataset: str
    protocol: str
    split: int
    source: str  # archive | generated | file | bayesian_benchmarks | npz | csv | package
    X_train: NDArray[Any]
    y_train: NDArray[Any]  # int64, or the int32 of a mapped file
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]
    class_names: tuple[ClassName, ...]
    feature_names: tuple[str, ...]
    scaler: Scaler
    encoder: TableEncoder | None = None
    rows: NDArray[np.int64] | None = None  # where the training rows stand in the table, counted from 0
    weights: NDArray[np.float64] | None = None  # of the training rows; a row of weight 2 counts as two
    X_calibration: NDArray[Any] | None = None  # training rows that were kept from training
    y_calibration: NDArray[np.int64] | None = None
    findings: tuple[Finding, ...] = ()  # of one's own table: what its columns turned out to be
    notes: tuple[str, ...] = ()  # and what is to be said about it
    shared_scales: tuple[slice, ...] = ()  # features that vary by one together, each block like a single number
    store: Store | None = None  # where the training rows are on disk: X_train and y_train are its first rows, mapped

    @property
    def n_train(self) -> int:
        return int(self.X_train.shape[0])

    @property
    def total_weight(self) -> float:
        """How many rows the training rows stand for."""
        return self.n_train if self.weights is None else float(np.sum(self.weights))

    @property
    def n_test(self) -> int:
        return int(self.X_test.shape[0])

    @property
    def d(self) -> int:
        return int(self.X_train.shape[1])

    @property
    def units(self) -> int:
        """The number of features that would vary as much if each varied by one: half the mean squared distance."""
        return self.d - sum(block.stop - block.start - 1 for block in self.shared_scales)

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    def class_counts(self) -> NDArray[np.int64]:
        """Training rows of each class."""
        counts = np.zeros(self.num_classes, dtype=np.int64)
        for start in range(0, self.n_train, _BLOCK):
            counts += np.bincount(self.y_train[start : start + _BLOCK], minlength=self.num_classes)
        return counts

    def class_totals(self) -> NDArray[Any]:
        """The weight of the training rows of each class: their number, where they have no weights."""
        if self.weights is None:
            return self.class_counts()
        return np.bincount(self.y_train, self.weights, minlength=self.num_classes)

    def first_rows(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Training rows to start a model from and to judge it by: all of them, or the first block of those on disk.

        The rows on disk are shuffled, so the first are as good a sample as any.
        """
        if self.store is None:
            return self.X_train, self.y_train
        return self.store.rows(0, min(self.n_train, self.store.block_rows))


@dataclass(frozen=True)
class Table:
    """A whole data set before splitting: raw X, y in 0..C−1. `source` says where it was read from."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    class_names: tuple[ClassName, ...]
    feature_names: tuple[str, ...]
    source: str
    encoder: TableEncoder | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    rows: NDArray[np.int64] | None = None  # their numbers in the file, where some of those were left out
    weights: NDArray[np.float64] | None = None  # how many rows each counts as
    first_test_row: int | None = None  # where the second file begins, in a set that comes in two


def check_request(protocol: str, split: int, test_fraction: float) -> None:
    """Refuse a protocol, split number or test fraction that cannot be meant."""
    if protocol not in PROTOCOLS:
        raise unknown_choice("protocol", protocol, PROTOCOLS)
    if not 0 <= split < 2**32:
        raise UsageError(f"split number {split} is out of range; give a whole number from 0 to {2**32 - 1}.")
    if not 0.0 <= test_fraction < 1.0:
        raise UsageError(f"test fraction {test_fraction} must be at least 0 and less than 1.")


def shuffled_rows(n: int, split: int) -> NDArray[np.int64]:
    """The row order of split number `split`: what np.random.seed(split); np.random.shuffle(np.arange(n)) gives.

    RandomState holds the same stream as the global functions and leaves the global state alone.
    """
    rows = np.arange(n)
    np.random.RandomState(split).shuffle(rows)
    return rows


def make_split(
    dataset: str,
    table: Table,
    *,
    protocol: str,
    split: int,
    test_fraction: float = 0.1,
    test_rows: str = "random",
    categories: str = "level",
) -> Split:
    """Shuffle, cut and scale a whole table; `test_rows` and `categories` are those of the configuration's dataset."""
    check_request(protocol, split, test_fraction)
    X, y = table.X, table.y
    train, test = _cut(dataset, table, shuffled_rows(len(X), split), test_fraction, test_rows)
    encoder = table.encoder
    if encoder is not None:  # numbers that are missing are filled from the rows that the scaling is taken from
        encoder = encoder.with_medians(X if protocol == "paper" else X[train])
        X = encoder.filled(X)
    blocks = shared_scales(encoder, categories)
    scaler = fit_scaler(X if protocol == "paper" else X[train], table.feature_names, protocol, blocks)
    return Split(
        dataset=dataset,
        protocol=protocol,
        split=split,
        source=table.source,
        X_train=np.ascontiguousarray(scaler.transform(X[train])),
        y_train=y[train],
        X_test=np.ascontiguousarray(scaler.transform(X[test])),
        y_test=y[test],
        class_names=table.class_names,
        feature_names=table.feature_names,
        scaler=scaler,
        encoder=encoder,
        findings=table.findings,
        notes=table.notes,
        rows=train if table.rows is None else table.rows[train],
        weights=None if table.weights is None else table.weights[train],
        shared_scales=tuple(blocks),
    )


def _cut(
    dataset: str, table: Table, rows: NDArray[np.int64], test_fraction: float, test_rows: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training and test rows of the shuffled `rows`: the first part trains, or the archive's own first file."""
    if test_rows not in TEST_ROWS:
        raise unknown_choice("choice of test rows", test_rows, TEST_ROWS)
    if test_rows == "archive":
        if table.first_test_row is None:
            raise UsageError(f"{dataset} (read from: {table.source}) has no test file; omit dataset.test_rows.")
        return rows[rows < table.first_test_row], rows[rows >= table.first_test_row]
    n_train = int(len(rows) * (1.0 - test_fraction))
    if n_train < 1:
        raise UsageError(f"test fraction {test_fraction} leaves none of the {len(rows)} rows for training.")
    return rows[:n_train], rows[n_train:]


def hold_out(split: Split, fraction: float) -> Split:
    """`split` with the last part of its training rows in place of the test rows.

    Settings that decide how models are trained are chosen on such rows, so that the test rows stay unseen. The rows of
    a split are shuffled, so its last ones are as good as any.
    """
    if fraction == 0.0:
        return split
    if not 0.0 < fraction < 1.0:
        raise UsageError(f"the part of training rows to hold out must lie between 0 and 1, not {fraction}.")
    kept = int(split.n_train * (1.0 - fraction))
    if not 0 < kept < split.n_train:
        raise UsageError(f"holding out {fraction} of {split.n_train} training rows leaves none on one side.")
    X_test, y_test = split.X_train[kept:], split.y_train[kept:]
    if split.store is not None:
        X_test, y_test = split.store.rows(kept, min(split.n_train, kept + MOST_TEST_ROWS))
    return replace(
        split,
        X_train=split.X_train[:kept],
        y_train=split.y_train[:kept],
        X_test=X_test,
        y_test=y_test,
        rows=None if split.rows is None else split.rows[:kept],
        weights=None if split.weights is None else split.weights[:kept],
    )
