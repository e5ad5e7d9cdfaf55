"""The ratios of a step that are worth a name, and what each is to be at the sizes where speed is claimed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.bench.case import Case
from gpcnoise_cli.bench.interleave import ratio


@dataclass(frozen=True)
class Comparison:
    """`over` ÷ `under` in time; an aim is `sense` a value, by (C, one kernel for all classes)."""

    over: str
    under: str
    sense: str  # at least | at most
    aims: Mapping[tuple[int, bool], float]

    def aim(self, case: Case) -> float | None:
        return self.aims.get((case.C, case.shared))

    def reached(self, measured: float, case: Case) -> bool | None:
        aim = self.aim(case)
        if aim is None:
            return None
        return measured >= aim if self.sense == "at least" else measured <= aim


COMPARISONS = (
    Comparison("stock", "mixed", "at least", {(1, True): 3.0, (26, True): 3.0, (3, False): 4.0, (26, False): 4.0}),
    Comparison("stock", "float64", "at least", {(1, True): 1.3, (3, True): 1.3, (26, True): 1.3}),
    Comparison("gpytorch", "mixed", "at least", {(1, True): 2.0, (26, True): 3.0}),
    Comparison("mixed", "gemm", "at most", {(26, True): 2.5}),
    Comparison("mixed", "shared", "at most", {(26, False): 2.5}),
    Comparison("natgrad", "mixed", "at most", {(26, True): 1.15, (26, False): 1.15}),
)


def compare_times(times: Mapping[str, NDArray[np.float64]], case: Case) -> Iterator[dict[str, Any]]:
    """Every comparison whose two systems were timed in `case`."""
    for one in COMPARISONS:
        if one.over in times and one.under in times:
            measured = ratio(times[one.over], times[one.under])
            yield {
                "over": one.over,
                "under": one.under,
                **measured,
                "sense": one.sense,
                "aim": one.aim(case),
                "reached": one.reached(measured["of_medians"], case),
            }
