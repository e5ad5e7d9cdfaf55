"""How the time of a step grows with m, B, C and n, one at a time from a common point.

n must not matter: a minibatch is drawn by position, whatever the number of rows, and nothing else sees them. All the
points of an axis are timed in the same interleaved rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpcnoise_cli.bench.case import Case, synthetic
from gpcnoise_cli.bench.interleave import Effort, interleave, spread
from gpcnoise_cli.bench.systems import Loop, engine, stock

# There are many points, and a curve forgives more noise than a ratio.
EFFORT = Effort(5, 0.4)
SYSTEMS: dict[str, Callable[..., Loop]] = {"mixed": engine, "stock": stock}


@dataclass(frozen=True)
class Axis:
    """One size that varies; `field` is its name in `Case`."""

    symbol: str
    field: str
    values: tuple[int, ...]

    def cases(self, base: Case) -> list[Case]:
        sizes: list[dict[str, Any]] = [{self.field: value} for value in self.values]
        return [replace(base, **size) for size in sizes]


BASE = Case(C=3, d=21)
AXES = (
    Axis("m", "inducing", (50, 100, 200, 300, 500)),
    Axis("B", "batch_size", (128, 256, 512, 1024, 2048, 4096)),
    Axis("C", "C", (2, 3, 6, 12, 26)),
    Axis("n", "rows", (10_000, 100_000, 500_000, 2_000_000)),
)
QUICK_AXES = (
    Axis("m", "inducing", (100, 300)),
    Axis("B", "batch_size", (256, 1024)),
    Axis("C", "C", (2, 8)),
    Axis("n", "rows", (10_000, 2_000_000)),
)


def measure_growth(
    axes: Sequence[Axis], base: Case, effort: Effort, told: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """The points of all axes, each with the seconds per step of every system, and how steeply these rise."""
    points = [point for axis in axes for point in _measure(axis, axis.cases(base), effort, told)]
    exponents = {axis.symbol: {name: exponent(points, axis.symbol, name) for name in SYSTEMS} for axis in axes}
    return {"points": points, "exponents": exponents}


def exponent(points: Sequence[dict[str, Any]], symbol: str, system: str) -> float | None:
    """The slope of log time against log size over the upper half of an axis: 0 where size costs nothing."""
    along = [(one["value"], one["seconds_per_step"][system]["median"]) for one in points if one["axis"] == symbol]
    (small, before), (large, after) = along[len(along) // 2 - 1], along[-1]
    return float(np.log(after / before) / np.log(large / small)) if large > small else None


def _measure(
    axis: Axis, cases: Sequence[Case], effort: Effort, told: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    systems: dict[str, Loop] = {}
    for value, case in zip(axis.values, cases, strict=True):
        problem = synthetic(case, np.float32)
        for name, build in SYSTEMS.items():
            told(f"growth in {axis.symbol}: compiling {name} at {axis.symbol} = {value}")
            systems[f"{name} {value}"] = build(problem)
    times = interleave(systems, effort, lambda text: told(f"growth in {axis.symbol}: {text}"))
    for value, case in zip(axis.values, cases, strict=True):
        seconds = {name: spread(times[f"{name} {value}"]) for name in SYSTEMS}
        yield {"axis": axis.symbol, "value": value, **case.to_dict(), "seconds_per_step": seconds}
