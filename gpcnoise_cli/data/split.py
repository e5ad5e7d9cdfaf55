"""A split: the arrays a model is trained and tested on, and the two protocols that make them.

Both protocols shuffle the rows as `bayesian_benchmarks` does (seed = split number, the first int(0.9 N) rows train), so
split k holds the same rows under either. They differ in the scaling: `paper` standardises over all rows and divides by
1e-6 + std, as the paper did; `clean` fits mean and std on the training rows only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.registry import PROTOCOLS
from gpcnoise_cli.errors import GpcnoiseError, UsageError, unknown_choice

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
class Scaler:
    """Column-wise standardisation, (X − mean) / scale."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    def transform(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return (X - self.mean) / self.scale

    def to_dict(self) -> dict[str, list[float]]:
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, list[float]]) -> Scaler:
        return cls(np.asarray(values["mean"], dtype=np.float64), np.asarray(values["scale"], dtype=np.float64))


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
    findings: tuple[Finding, ...] = ()  # of one's own table: what its columns turned out to be
    notes: tuple[str, ...] = ()  # and what is to be said about it
    store: Store | None = None  # where the training rows are on disk: X_train and y_train are its first rows, mapped

    @property
    def n_train(self) -> int:
        return int(self.X_train.shape[0])

    @property
    def n_test(self) -> int:
        return int(self.X_test.shape[0])

    @property
    def d(self) -> int:
        return int(self.X_train.shape[1])

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    def class_counts(self) -> NDArray[np.int64]:
        """Training rows of each class."""
        counts = np.zeros(self.num_classes, dtype=np.int64)
        for start in range(0, self.n_train, _BLOCK):
            counts += np.bincount(self.y_train[start : start + _BLOCK], minlength=self.num_classes)
        return counts

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


def check_request(protocol: str, split: int, test_fraction: float) -> None:
    """Refuse a protocol, split number or test fraction that cannot be meant."""
    if protocol not in PROTOCOLS:
        raise unknown_choice("protocol", protocol, PROTOCOLS)
    if not 0 <= split < 2**32:
        raise UsageError(f"split number {split} is out of range; give a whole number from 0 to {2**32 - 1}.")
    if not 0.0 < test_fraction < 1.0:
        raise UsageError(f"test fraction {test_fraction} must lie between 0 and 1.")


def shuffled_rows(n: int, split: int) -> NDArray[np.int64]:
    """The row order of split number `split`: what np.random.seed(split); np.random.shuffle(np.arange(n)) gives.

    RandomState holds the same stream as the global functions and leaves the global state alone.
    """
    rows = np.arange(n)
    np.random.RandomState(split).shuffle(rows)
    return rows


def fit_paper_scaler(X: NDArray[np.float64], names: Sequence[str] = ()) -> Scaler:
    """The paper's scaling; the operations and their order are those of bayesian_benchmarks, to the last bit."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaler = Scaler(np.average(X, 0), 1e-6 + np.std(X, 0))
    return _finite(scaler, names)


def fit_clean_scaler(X: NDArray[np.float64], names: Sequence[str] = ()) -> Scaler:
    """Mean and std of the training rows; a constant column keeps scale 1, so it becomes zero and not NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std, constant = np.mean(X, axis=0), np.std(X, axis=0), np.ptp(X, axis=0) == 0.0
    # Rounding may move the mean of a constant column off its value: take the value itself.
    return _finite(Scaler(np.where(constant, X[0], mean), np.where(constant | (std == 0.0), 1.0, std)), names)


def fit_scaler_in_blocks(blocks: Iterator[NDArray[np.float64]], names: Sequence[str], protocol: str) -> Scaler:
    """The scaling of either protocol from rows that come block by block; equal up to the last bits.

    Mean and sum of squares of two parts are joined by the formula of Chan, Golub and LeVeque, which loses no digits.
    """
    n, mean, squares, low, high = 0, np.zeros(len(names)), np.zeros(len(names)), np.inf, -np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        for X in blocks:
            total, centre = n + len(X), X.mean(axis=0)
            gap = centre - mean
            squares = squares + np.square(X - centre).sum(axis=0) + np.square(gap) * (n * len(X) / total)
            n, mean = total, mean + gap * (len(X) / total)
            low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
        std, constant = np.sqrt(squares / n), np.equal(low, high)
    mean = np.where(constant, low, mean)
    if protocol == "paper":
        return _finite(Scaler(mean, 1e-6 + np.where(constant, 0.0, std)), names)
    return _finite(Scaler(mean, np.where(constant | (std == 0.0), 1.0, std)), names)


def _finite(scaler: Scaler, names: Sequence[str]) -> Scaler:
    bad = ~(np.isfinite(scaler.mean) & np.isfinite(scaler.scale))
    if bad.any():
        column = int(np.flatnonzero(bad)[0])
        which = f"column {names[column]!r}" if len(names) else f"feature {column + 1}"
        raise GpcnoiseError(f"{which} holds values too large to standardise; rescale it first.")
    return scaler


def make_split(dataset: str, table: Table, *, protocol: str, split: int, test_fraction: float = 0.1) -> Split:
    """Shuffle, cut and scale a whole table."""
    check_request(protocol, split, test_fraction)
    X, y = table.X, table.y
    rows = shuffled_rows(len(X), split)
    n_train = int(len(X) * (1.0 - test_fraction))
    if n_train < 1:
        raise UsageError(f"test fraction {test_fraction} leaves none of the {len(X)} rows for training.")
    train, test = rows[:n_train], rows[n_train:]
    encoder = table.encoder
    if encoder is not None:  # numbers that are missing are filled from the rows that the scaling is taken from
        encoder = encoder.with_medians(X if protocol == "paper" else X[train])
        X = encoder.filled(X)
    fit = fit_paper_scaler if protocol == "paper" else fit_clean_scaler
    scaler = fit(X if protocol == "paper" else X[train], table.feature_names)
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
    )


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
    return replace(split, X_train=split.X_train[:kept], y_train=split.y_train[:kept], X_test=X_test, y_test=y_test)
