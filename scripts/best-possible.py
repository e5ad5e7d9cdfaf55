#!/usr/bin/env python3
"""What the best possible classifier has on the four sets whose recipe is known, on the test rows of the paper's splits.

scripts/best-possible.py                       all four, splits 0 to 9
scripts/best-possible.py waveform 0 1 2        one of them, some splits

Bayes' rule with the densities from which the rows were drawn. A trained classifier may have a higher accuracy on some
test rows by luck, and none has one to expect.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from gpcnoise_cli.data.load import load_split
from gpcnoise_cli.evaluation.metrics import evaluate

Array = NDArray[np.float64]
T = np.arange(1, 22)
WAVES = np.maximum(6.0 - np.abs(T - np.array([[11], [15], [7]])), 0.0)
ENDS = WAVES[[[1, 2], [0, 2], [0, 1]]]  # of each class, the two waves that are mixed
NORM = 2.0 / np.sqrt(20)


class Recipe(NamedTuple):
    """The densities of the classes, up to a factor that all share, and their moments."""

    log_densities: Callable[[Array], Array]
    means: Array  # one line for each class
    variances: Array


def waveform(X: Array) -> Array:
    """log ∫₀¹ N(x; u a + (1 − u) b, I) du for each class, up to what does not depend on it."""
    columns = []
    for a, b in ENDS:
        length = np.linalg.norm(a - b)
        along = (X[:, :21] - b) @ (a - b) / length
        rest = ((X[:, :21] - b) ** 2).sum(axis=1) - along**2
        # The mass of a unit normal between −along and length − along, in the tail where it is small.
        low, high = -along, length - along
        low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
        mass = log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))
        columns.append(mass - np.log(length) - 0.5 * rest)
    return np.stack(columns, axis=1)


def twonorm(X: Array) -> Array:
    return np.stack([-0.5 * ((X - mean) ** 2).sum(axis=1) for mean in (NORM, -NORM)], axis=1)


def ringnorm(X: Array) -> Array:
    wide = -0.125 * (X**2).sum(axis=1) - X.shape[1] * np.log(2.0)
    return np.stack([wide, -0.5 * ((X - NORM) ** 2).sum(axis=1)], axis=1)


_MIXED = ENDS.mean(axis=1), 1.0 + (ENDS[:, 0] - ENDS[:, 1]) ** 2 / 12.0
_NOISE = np.zeros((3, 19))
RECIPES = {
    "waveform": Recipe(waveform, *_MIXED),
    "waveform-noise": Recipe(waveform, np.hstack([_MIXED[0], _NOISE]), np.hstack([_MIXED[1], _NOISE + 1.0])),
    "twonorm": Recipe(twonorm, NORM * np.outer([1, -1], np.ones(20)), np.ones((2, 20))),
    "ringnorm": Recipe(ringnorm, NORM * np.outer([0, 1], np.ones(20)), np.outer([4, 1], np.ones(20))),
}


def posteriors(recipe: Recipe, X: Array) -> Array:
    """Class probabilities of standardised rows: the archive's files are, so the recipe's scale is put back."""
    mean = recipe.means.mean(axis=0)
    scale = np.sqrt(recipe.variances.mean(axis=0) + recipe.means.var(axis=0))
    logs = recipe.log_densities(X * scale + mean)
    return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))


def scores(name: str, split: int) -> tuple[float, float]:
    """acc in percent and nll on the test rows of a split."""
    rows = load_split(name, protocol="paper", split=split)
    found = evaluate(posteriors(RECIPES[name], rows.X_test[:, 1:]), rows.y_test)  # without the row number
    return found.acc, found.nll


def main(*words: str) -> None:
    unknown = [word for word in words if word not in RECIPES and not word.isdigit()]
    if unknown:
        sys.exit(f"{unknown[0]!r} is neither a number nor one of {', '.join(RECIPES)}.")
    names = [word for word in words if word in RECIPES] or list(RECIPES)
    splits = [int(word) for word in words if word.isdigit()] or list(range(10))
    print(f"{'set':<16}{'splits':>6}{'acc':>8}{'±':>6}{'nll':>9}{'±':>8}")
    for name in names:
        found = np.array([scores(name, split) for split in splits])
        acc, loss = found.mean(axis=0)
        errors = ("–", "–")  # one split has no spread
        if len(splits) > 1:
            acc_error, loss_error = found.std(axis=0, ddof=1) / np.sqrt(len(splits))
            errors = f"{acc_error:.2f}", f"{loss_error:.4f}"
        print(f"{name:<16}{len(splits):>6}{acc:>8.2f}{errors[0]:>6}{loss:>9.4f}{errors[1]:>8}")


if __name__ == "__main__":
    main(*sys.argv[1:])
