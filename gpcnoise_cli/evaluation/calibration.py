"""Whether a confidence of 90% is right in 90 of 100 cases: the reliability table and the expected calibration error.

The confidence is the probability of the predicted class. Bins are of equal width, the usual choice, or of equal mass:
as many rows in each, so that no bin rests on a handful of them and none is crowded. Each bin has the Wilson interval of
its accuracy: how much of a gap to the diagonal chance alone explains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Probabilities = NDArray[np.float64]
Labels = NDArray[np.integer]

ECE_BINS = 15
# Two-sided, of the standard normal: 95% of all intervals hold what they are meant to hold.
Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy of the predicted class, by bin; empty bins are left out."""

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]

    @property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """From where to where the accuracy of each bin may lie, at 95%."""
        return wilson(self.accuracy, self.count)


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


def wilson(share: ArrayLike, n: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95% interval of a probability of which a `share` of `n` trials was seen (Wilson, 1927).

    Unlike share ± 1.96 standard errors it stays within [0, 1], and is honest where all or none of a few trials succeed.
    """
    share, n = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    centre = (share + Z_95**2 / (2 * n)) / (1 + Z_95**2 / n)
    half = Z_95 / (1 + Z_95**2 / n) * np.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


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
