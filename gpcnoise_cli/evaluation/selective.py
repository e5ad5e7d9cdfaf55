"""Selective prediction: how accurate the most confident predictions are, when the others are left to someone else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.evaluation.calibration import Labels, Probabilities, by_confidence


@dataclass(frozen=True)
class SelectiveCurve:
    """Accuracy of the most confident rows, from the single most confident one to all of them."""

    coverage: NDArray[np.float64]  # percent of the rows, rising to 100
    accuracy: NDArray[np.float64]  # percent

    def at(self, coverage: float) -> float:
        """Accuracy in percent of the smallest number of rows that makes up `coverage` percent."""
        rows = int(np.ceil(coverage * len(self.accuracy) / 100 - 1e-9))  # 90% of 10 rows are 9, whatever the rounding
        return float(self.accuracy[max(rows, 1) - 1])


def selective_curve(probabilities: Probabilities, y: Labels) -> SelectiveCurve:
    """Accuracy at every coverage that the number of rows allows."""
    _, correct = by_confidence(probabilities, y)
    rows = np.arange(1, len(y) + 1)
    return SelectiveCurve(100.0 * rows / len(y), 100.0 * np.cumsum(correct) / rows)
