"""When a run has learned what it can: the smoothed bound no longer rises.

The loss is averaged over windows of fixed length, so that minibatch noise does not decide; the rule compares the mean
of the latest windows with the mean of as many before them. Easy sets stop after a few hundred steps; a set whose
inducing points still travel keeps gaining and goes on to the last planned step.

A likelihood with a label noise δ needs more windows. What δ costs is a part of every row's loss that no training takes
away, so gains are small beside the whole, and over the short span minibatch noise alone may hide them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WINDOW = 20
LONG_SPAN = 10


@dataclass(frozen=True)
class StoppingRule:
    """Stop when the loss per row fell by less than `tolerance` (a part of itself) between two spans of windows."""

    span: int = 5
    tolerance: float = 0.005
    wind_down_part: float = 0.3
    least_wind_down: int = 60

    @classmethod
    def of(cls, delta_mode: str | None) -> StoppingRule:
        """The rule for a likelihood that treats its δ like this; None: it has no δ."""
        return cls() if delta_mode is None else cls(span=LONG_SPAN)

    def satisfied(self, windows: Sequence[float]) -> bool:
        if len(windows) < 2 * self.span + 1:  # the first window belongs to the start, not to learning
            return False
        before, now = np.mean(windows[-2 * self.span : -self.span]), np.mean(windows[-self.span :])
        return bool(before - now < self.tolerance * abs(now))

    def wind_down_steps(self, step: int) -> int:
        """How many further steps, at falling rates, end a run that stops at `step`."""
        return max(self.least_wind_down, int(self.wind_down_part * step))
