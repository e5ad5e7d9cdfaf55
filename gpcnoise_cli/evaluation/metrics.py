"""How good a table of class probabilities is: accuracy, negative log likelihood, Brier score, calibration error.

One set of functions for every command. Probabilities are [n, C], labels 0..C−1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Probabilities = NDArray[np.float64]
Labels = NDArray[np.integer]

LEAST_PROBABILITY = 1e-12
ECE_BINS = 15


@dataclass(frozen=True)
class Metrics:
    acc: float  # percent
    nll: float  # mean, nats
    brier: float  # mean squared distance to the one-hot label, 0..2
    ece: float  # expected calibration error of the predicted class, 0..1


def clip_probabilities(probabilities: NDArray[np.floating]) -> Probabilities:
    """Into [1e-12, 1] and summing to one, so that one confident mistake cannot make the mean infinite."""
    clipped = np.clip(np.asarray(probabilities, dtype=np.float64), LEAST_PROBABILITY, 1.0)
    return clipped / clipped.sum(axis=1, keepdims=True)


def evaluate(probabilities: NDArray[np.floating], y: Labels) -> Metrics:
    """All metrics of one test set."""
    p = clip_probabilities(probabilities)
    rows = np.arange(len(p))
    one_hot = np.zeros_like(p)
    one_hot[rows, y] = 1.0
    return Metrics(
        acc=float(100.0 * np.mean(p.argmax(axis=1) == y)),
        nll=float(-np.mean(np.log(p[rows, y]))),
        brier=float(np.mean(np.sum((p - one_hot) ** 2, axis=1))),
        ece=expected_calibration_error(p, y),
    )


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy of the predicted class, in bins of equal width; empty bins are left out."""

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]


def reliability(probabilities: Probabilities, y: Labels, bins: int = ECE_BINS) -> Reliability:
    """What a reliability diagram draws."""
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == y
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    used = count > 0
    mean = [np.bincount(bin_of, weights=values, minlength=bins)[used] / count[used] for values in (confidence, correct)]
    return Reliability(mean[0], mean[1], count[used])


def expected_calibration_error(probabilities: Probabilities, y: Labels, bins: int = ECE_BINS) -> float:
    """The mean gap between confidence and accuracy, weighted by how many predictions fall into each bin."""
    table = reliability(probabilities, y, bins)
    return float(np.sum(table.count * np.abs(table.accuracy - table.confidence)) / table.count.sum())
