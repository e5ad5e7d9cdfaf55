"""Timing several systems fairly on a machine that is never quite quiet.

After a warm-up that compiles, every round times each system once, in turn (A B C A B C …), so that a slow spell hits
all of them. The answer is the median over rounds, with quartiles, and the ratio of two systems both as the ratio of
their medians and round by round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.bench.systems import System

MOST_STEPS_PER_ROUND = 2000


@dataclass(frozen=True)
class Effort:
    """How often to measure, and for about how long each time."""

    rounds: int
    seconds: float


USUAL, QUICK = Effort(9, 0.8), Effort(3, 0.3)


def interleave(
    systems: Mapping[str, System], effort: Effort, told: Callable[[str], None] = lambda text: None
) -> dict[str, NDArray[np.float64]]:
    """Seconds per step of every system in every round: [rounds] each."""
    steps: dict[str, int] = {}
    for name, system in systems.items():
        system.run(1)
        steps[name] = int(np.clip(effort.seconds / system.run(1), 1, MOST_STEPS_PER_ROUND))
    taken: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(effort.rounds):
        told(f"round {number + 1} of {effort.rounds}")
        for name, system in systems.items():
            taken[name].append(system.run(steps[name]) / steps[name])
    return {name: np.asarray(times) for name, times in taken.items()}


def spread(values: NDArray[np.float64]) -> dict[str, Any]:
    """Median and quartiles."""
    q1, median, q3 = (float(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
    return {"median": median, "q1": q1, "q3": q3}


def ratio(slower: NDArray[np.float64], quicker: NDArray[np.float64]) -> dict[str, Any]:
    """How many times as long `slower` takes: of the medians, and the quartiles of the rounds' own ratios."""
    return {"of_medians": float(np.median(slower) / np.median(quicker)), "per_round": spread(slower / quicker)}
