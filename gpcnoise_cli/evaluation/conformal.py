"""Prediction sets that hold the true class as often as promised, by split conformal prediction.

The held-out rows say how small the probability of a true class may be: with k = ⌈(n + 1) · level⌉, the k-th largest
p(true class) of n held-out rows is the threshold, and a set holds every class that reaches it (Sadinle, Lei and
Wasserman, 2019: the smallest sets of a level there are). If new rows come from where the held-out ones came, a set
holds the true class with a probability of at least `level`, and of less than level + 1/(n + 1) where probabilities do
not coincide. That holds whatever the model is worth, and on average over rows, not for every kind of row.

A set is never empty: where no class reaches the threshold, the most probable one is named. That can only add to the
coverage, which then lies above the level; a model that is right more often than `level` names one class and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.evaluation.calibration import Labels, Probabilities, wilson

Sets = NDArray[np.bool_]


@dataclass(frozen=True)
class Coverage:
    """How prediction sets fared on labelled rows."""

    level: float  # what was promised
    coverage: float  # the part of sets that hold the true class
    low: float  # its 95% interval
    high: float
    mean_size: float
    singletons: float  # the part of sets that name one class


def check_level(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise UsageError(f"the level of prediction sets must lie between 0 and 1, not {level:g}; 0.9 is usual.")
    return level


def rank_for(n: int, level: float) -> int:
    """k = ⌈(n + 1) · level⌉: the k-th most usual of n rows, and one more, are a part of at least `level`.

    It is n + 1, a row that nobody has seen, where n is too small for the level.
    """
    return int(np.ceil((n + 1) * level - 1e-9))


def rows_needed(level: float) -> int:
    """The fewest held-out rows with which sets of this level can leave any class out."""
    return int(np.ceil(level / (1 - level) - 1e-9))


def least_probability(held_out: Probabilities, y: Labels, level: float) -> float:
    """What a class must reach to be in a set; 0, so that every class does, where the held-out rows are too few."""
    observed = np.sort(held_out[np.arange(len(y)), y])[::-1]
    rank = rank_for(len(y), check_level(level))
    return float(observed[rank - 1]) if rank <= len(y) else 0.0


def prediction_sets(probabilities: Probabilities, least: float) -> Sets:
    """[n, C], True for the classes in the set of each row."""
    sets = probabilities >= least
    sets[np.arange(len(sets)), probabilities.argmax(axis=1)] = True
    return sets


def coverage_of(sets: Sets, y: Labels, level: float) -> Coverage:
    sizes = sets.sum(axis=1)
    covered = float(np.mean(sets[np.arange(len(y)), y]))
    low, high = wilson(covered, len(y))
    return Coverage(level, covered, float(low), float(high), float(np.mean(sizes)), float(np.mean(sizes == 1)))
