"""Which columns matter to a model: how relevant its kernel finds them, and what it loses without them.

ARD relevance needs no labels: 2 var(x_j)/ℓ_j² is the mean squared distance of two rows along feature j in units of its
lengthscale, summed over the features of a column and given as a part of the whole. It says how much the kernel looks at
a column, not how much the column is worth: a straight slope has a long lengthscale and may decide everything.

Permutation importance (Breiman, 2001; Fisher, Rudin and Dominici, 2019) is measured on rows that were not trained on:
how much the mean nll rises, and the accuracy falls, when the values of one column are dealt out among the rows anew.
Columns that say the same thing stand in for each other, and each seems to matter less than both do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.evaluation.calibration import Labels
from gpcnoise_cli.evaluation.metrics import clip_probabilities

REPEATS = 5
# Of rows that are asked, and of predictions in all, unless that would leave fewer rows than these.
MOST_ROWS, MOST_PREDICTIONS, LEAST_ROWS = 1000, 100_000, 100
Groups = Mapping[str, Sequence[int]]
"""The features of each column, by their numbers: a category has several."""


@dataclass(frozen=True)
class Importance:
    """One column; `relevance` is None where the kernel has one lengthscale for all."""

    column: str
    nll: float  # by how much it rises without the column
    nll_error: float  # the standard error of that over the repetitions
    acc: float  # by how many points of percent the accuracy falls
    relevance: float | None = None  # a part of 1


def permutation_importance(
    predict: Callable[[NDArray[Any]], NDArray[np.float64]],
    X: NDArray[Any],
    y: Labels,
    groups: Groups,
    *,
    repeats: int = REPEATS,
    most_predictions: int = MOST_PREDICTIONS,
    seed: int = 0,
    relevance: Mapping[str, float] | None = None,
) -> list[Importance]:
    """What each column is worth, the most important first; of many rows a sample is asked."""
    rng = np.random.default_rng(seed)
    most_rows = int(np.clip(most_predictions // (repeats * len(groups)), LEAST_ROWS, MOST_ROWS))
    rows = np.sort(rng.permutation(len(X))[:most_rows])
    X, y = X[rows], y[rows]
    nll, acc = _scores(predict(X), y)
    found = []
    for column, features in groups.items():
        losses = np.empty((repeats, 2))
        for repeat in range(repeats):
            shuffled = X.copy()
            shuffled[:, list(features)] = X[rng.permutation(len(X))][:, list(features)]
            losses[repeat] = _scores(predict(shuffled), y)
        error = float(np.std(losses[:, 0], ddof=1) / np.sqrt(repeats)) if repeats > 1 else 0.0
        mean = losses.mean(axis=0)
        known = None if relevance is None else relevance[column]
        found.append(Importance(column, float(mean[0] - nll), error, float(acc - mean[1]), known))
    return sorted(found, key=lambda one: -one.nll)


def ard_relevance(parameters: Mapping[str, Any], X: NDArray[Any], groups: Groups) -> dict[str, float] | None:
    """The part of each column in the squared distances of the kernel; None where it has one lengthscale for all.

    `parameters` are those of model.json. Of a kernel with several parts each counts by its variance, and classes with
    kernels of their own count alike.
    """
    d, spread = X.shape[1], np.var(X, axis=0)
    by_class: Any = 0.0
    for name, value in parameters.items():
        if name.endswith("lengthscales") and np.shape(value)[-1:] == (d,):
            lengthscales = np.atleast_2d(np.asarray(value, dtype=np.float64))
            variance = np.reshape(parameters[name.removesuffix("lengthscales") + "variance"], (-1, 1))
            by_class = by_class + variance * spread / lengthscales**2
    if not np.any(by_class):
        return None
    total = np.mean(by_class / by_class.sum(axis=1, keepdims=True), axis=0)
    return {column: float(total[list(features)].sum()) for column, features in groups.items()}


def _scores(probabilities: NDArray[np.float64], y: Labels) -> tuple[float, float]:
    p = clip_probabilities(probabilities)
    return float(-np.mean(np.log(p[np.arange(len(y)), y]))), float(100.0 * np.mean(p.argmax(axis=1) == y))
