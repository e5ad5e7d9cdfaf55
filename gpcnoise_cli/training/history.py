"""What a run remembers besides its variables: its curve, its losses, what its states were worth, and what befell it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpcnoise_cli.training.events import CurvePoint
from gpcnoise_cli.training.stopping import WINDOW


@dataclass
class History:
    """Goes into a checkpoint as JSON, and partly into the result."""

    seconds: float = 0.0
    curve: list[CurvePoint] = field(default_factory=list)
    windows: list[float] = field(default_factory=list)  # mean losses of WINDOW steps each
    bounds: list[float] = field(default_factory=list)  # at the ends of cycles
    best_bound: float = -np.inf
    assessed_at: int = -1  # the latest step at which the state was assessed
    ended_at_best: bool = False  # the last state was worse than the best, which was put in its place
    returns: int = 0  # to the best state, after the loss had run away
    precision: str = "mixed"  # the one in use, which may not be the one asked for
    incidents: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "curve": [point.to_dict() for point in self.curve]}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> History:
        return cls(**{**stored, "curve": [CurvePoint(**point) for point in stored["curve"]]})

    def smoothed_loss(self, partial_mean: float, partial_steps: int) -> float:
        """The mean loss of the latest window; of the one under way where that is long enough or the only one."""
        if self.windows and partial_steps < WINDOW // 2:
            return self.windows[-1]
        return partial_mean
