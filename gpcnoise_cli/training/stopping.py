"""When a run has learned what it can: the smoothed bound no longer rises.

The loss is averaged over windows of fixed length, so that minibatch noise does not decide; the rule compares the mean
of the latest windows with the mean of as many before them. Easy sets stop after a few hundred steps; a set whose
inducing points still travel keeps gaining and goes on to the last planned step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WINDOW = 20


@dataclass(frozen=True)
class StoppingRule:
    """Stop when the loss per row fell by less than `tolerance` (a part of itself) between two spans of windows."""

    span: int = 5
    tolerance: float = 0.005
    wind_down_part: float = 0.3
    least_wind_down: int = 60

    def satisfied(self, windows: Sequence[float]) -> bool:
        if len(windows) < 2 * self.span + 1:  # the first window belongs to the start, not to learning
            return False
        before, now = np.mean(windows[-2 * self.span : -self.span]), np.mean(windows[-self.span :])
        return bool(before - now < self.tolerance * abs(now))

    def wind_down_steps(self, step: int) -> int:
        """How many further steps, at falling rates, end a run that stops at `step`."""
        return max(self.least_wind_down, int(self.wind_down_part * step))
