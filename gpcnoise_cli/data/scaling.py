"""Standardisation: how either protocol scales features, from rows in memory or block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import GpcnoiseError

if TYPE_CHECKING:
    from gpcnoise_cli.data.encoder import TableEncoder


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


def fit_scaler(X: NDArray[np.float64], names: Sequence[str], protocol: str, shared: Sequence[slice] = ()) -> Scaler:
    """The scaling of either protocol; the features in each slice of `shared` have one scale."""
    scaler = fit_paper_scaler(X, names) if protocol == "paper" else fit_clean_scaler(X, names)
    return share_scales(scaler, X, shared)


def shared_scales(encoder: TableEncoder | None, categories: str) -> list[slice]:
    """The blocks of features that have one scale; `categories` is dataset.categories of the configuration."""
    return encoder.categories() if encoder is not None and categories == "column" else []


def share_scales(scaler: Scaler, X: NDArray[np.float64], blocks: Sequence[slice]) -> Scaler:
    """`scaler` with one scale for all features of a block, by which they vary by one together.

    The features of a category are 0 and 1. Scaled one by one, each adds 2 to the mean squared distance of two rows, so
    that a category of 51 levels outweighs 50 numbers, and a rare level lies far from everything. Scaled together they
    add 2, like a number: levels that differ are √2 apart, or more where one of them prevails.
    """
    return _shared(scaler, blocks, lambda block: np.var(X[:, block], axis=0))


def _shared(scaler: Scaler, blocks: Sequence[slice], variances: Callable[[slice], NDArray[np.float64]]) -> Scaler:
    scale = scaler.scale.copy()
    for block in blocks:
        spread = float(np.sqrt(variances(block).sum()))
        scale[block] = spread if spread > 0.0 else 1.0
    return Scaler(scaler.mean, scale)


def fit_scaler_in_blocks(
    blocks: Iterator[NDArray[np.float64]], names: Sequence[str], protocol: str, shared: Sequence[slice] = ()
) -> Scaler:
    """What `fit_scaler` gives, up to the last bits, from rows that come block by block.

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
    mean, std = np.where(constant, low, mean), np.where(constant, 0.0, std)
    scale = 1e-6 + std if protocol == "paper" else np.where(std == 0.0, 1.0, std)
    return _shared(_finite(Scaler(mean, scale), names), shared, lambda block: np.square(std[block]))


def _finite(scaler: Scaler, names: Sequence[str]) -> Scaler:
    bad = ~(np.isfinite(scaler.mean) & np.isfinite(scaler.scale))
    if bad.any():
        column = int(np.flatnonzero(bad)[0])
        which = f"column {names[column]!r}" if len(names) else f"feature {column + 1}"
        raise GpcnoiseError(f"{which} holds values too large to standardise; rescale it first.")
    return scaler
