"""Whether a confidence of 90% is right in 90 of 100 cases: the reliability table and the expected calibration error.

The confidence is the probability of the predicted class. Bins are of equal width, the usual choice, or of equal mass:
as many rows in each, so that no bin rests on a handful of them and none is crowded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Probabilities = NDArray[np.float64]
Labels = NDArray[np.integer]

ECE_BINS = 15


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy of the predicted class, by bin; empty bins are left out."""

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]


def reliability(
    probabilities: Probabilities, y: Labels, bins: int = ECE_BINS, *, equal_mass: bool = False
) -> Reliability:
    """What a reliability diagram draws."""
    if equal_mass:
        confidence, correct = by_confidence(probabilities, y)
        bin_of = np.arange(len(y)) * bins // len(y)
    else:
        confidence = probabilities.max(axis=1)
        correct = (probabilities.argmax(axis=1) == y).astype(np.float64)
        bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    used = count > 0
    mean = [np.bincount(bin_of, weights=values, minlength=bins)[used] / count[used] for values in (confidence, correct)]
    return Reliability(mean[0], mean[1], count[used])


def expected_calibration_error(
    probabilities: Probabilities, y: Labels, bins: int = ECE_BINS, *, equal_mass: bool = False
) -> float:
    """The mean gap between confidence and accuracy, weighted by how many predictions fall into each bin."""
    table = reliability(probabilities, y, bins, equal_mass=equal_mass)
    return float(np.sum(table.count * np.abs(table.accuracy - table.confidence)) / table.count.sum())


def by_confidence(probabilities: Probabilities, y: Labels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Confidence and correctness, most confident row first.

    Rows of one and the same confidence share the mean of their correctness: which of them comes first must not matter.
    """
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == y
    levels, level_of, count = np.unique(confidence, return_inverse=True, return_counts=True)
    share = np.bincount(level_of, weights=correct) / count
    return np.repeat(levels, count)[::-1], np.repeat(share, count)[::-1]
