"""A split: the arrays a model is trained and tested on, and the two protocols that make them.

Both protocols shuffle the rows as `bayesian_benchmarks` does (seed = split number, the first int(0.9 N) rows train), so
split k holds the same rows under either. They differ in the scaling: `paper` standardises over all rows and divides by
1e-6 + std, as the paper did; `clean` fits mean and std on the training rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.registry import PROTOCOLS
from gpcnoise_cli.errors import GpcnoiseError, UsageError, unknown_choice

if TYPE_CHECKING:
    from gpcnoise_cli.data.column_kinds import Finding
    from gpcnoise_cli.data.encoder import TableEncoder

ClassName = str | int | float | bool


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
    y_train: NDArray[np.int64]
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


def fit_paper_scaler(X: NDArray[np.float64], names: Sequence[str] = ()) -> Scaler:
    """The paper's scaling; the operations and their order are those of bayesian_benchmarks, to the last bit."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaler = Scaler(np.average(X, 0), 1e-6 + np.std(X, 0))
    return _finite(scaler, names)


def moments(X: NDArray[Any], weights: NDArray[np.float64] | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Mean and standard deviation of each column; a row of weight 2 counts as two."""
    if weights is None:
        return np.mean(X, axis=0), np.std(X, axis=0)
    mean = np.average(X, axis=0, weights=weights)
    return mean, np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))


def fit_clean_scaler(
    X: NDArray[np.float64], names: Sequence[str] = (), weights: NDArray[np.float64] | None = None
) -> Scaler:
    """Mean and std of the training rows; a constant column keeps scale 1, so it becomes zero and not NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        (mean, std), constant = moments(X, weights), np.ptp(X, axis=0) == 0.0
    # Rounding may move the mean of a constant column off its value: take the value itself.
    return _finite(Scaler(np.where(constant, X[0], mean), np.where(constant | (std == 0.0), 1.0, std)), names)


def share_scales(scaler: Scaler, X: NDArray[np.float64], blocks: Sequence[slice]) -> Scaler:
    """`scaler` with one scale for all features of a block, by which they vary by one together.

    The features of a category are 0 and 1. Scaled one by one, each adds 2 to the mean squared distance of two rows, so
    that a category of 51 levels outweighs 50 numbers, and a rare level lies far from everything. Scaled together they
    add 2, like a number: levels that differ are √2 apart, or more where one of them prevails.
    """
    scale = scaler.scale.copy()
    for block in blocks:
        spread = float(np.sqrt(np.var(X[:, block], axis=0).sum()))
        scale[block] = spread if spread > 0.0 else 1.0
    return Scaler(scaler.mean, scale)


def _finite(scaler: Scaler, names: Sequence[str]) -> Scaler:
    bad = ~(np.isfinite(scaler.mean) & np.isfinite(scaler.scale))
    if bad.any():
        column = int(np.flatnonzero(bad)[0])
        which = f"column {names[column]!r}" if len(names) else f"feature {column + 1}"
        raise GpcnoiseError(f"{which} holds values too large to standardise; rescale it first.")
    return scaler


def make_split(
    dataset: str,
    table: Table,
    *,
    protocol: str,
    split: int,
    test_fraction: float = 0.1,
    categories: str = "level",
) -> Split:
    """Shuffle, cut and scale a whole table; `categories` is dataset.categories of the configuration."""
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
    scaled_by = X if protocol == "paper" else X[train]
    scaler = fit(scaled_by, table.feature_names)
    blocks = encoder.categories() if encoder is not None and categories == "column" else []
    scaler = share_scales(scaler, scaled_by, blocks) if blocks else scaler
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
    return replace(
        split,
        X_train=split.X_train[:kept],
        y_train=split.y_train[:kept],
        X_test=split.X_train[kept:],
        y_test=split.y_train[kept:],
        rows=None if split.rows is None else split.rows[:kept],
        weights=None if split.weights is None else split.weights[:kept],
    )
