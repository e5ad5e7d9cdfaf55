"""Comparing several methods over many sets, as Demšar (JMLR 2006) advises: ranks, Friedman, Wilcoxon with Holm.

Only sets with a figure for every method enter; how many these are belongs to every statement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.05
LEAST_SETS = 3


@dataclass(frozen=True)
class Pair:
    """Two methods: on how many sets the first is better and worse, and the Wilcoxon signed-rank test."""

    first: str
    second: str
    wins: int
    losses: int
    p: float
    p_holm: float


@dataclass(frozen=True)
class Comparison:
    """Average ranks (1 is best) with the tests of all methods together and two by two."""

    methods: tuple[str, ...]
    sets: tuple[str, ...]
    ranks: tuple[float, ...]
    friedman: float
    friedman_p: float
    critical_difference: float
    pairs: tuple[Pair, ...]

    @property
    def order(self) -> list[int]:
        """The methods from the best rank to the worst."""
        return sorted(range(len(self.methods)), key=lambda index: self.ranks[index])


def compare(
    methods: Sequence[str], figures: Mapping[tuple[str, str], float], sets: Sequence[str], *, larger_is_better: bool
) -> Comparison | None:
    """Compare `methods` by `figures[set, method]`; None where too few sets are complete to say anything."""
    from scipy.stats import friedmanchisquare, rankdata

    complete = [name for name in sets if all((name, method) in figures for method in methods)]
    if len(complete) < LEAST_SETS or len(methods) < 3:
        return None
    values = np.array([[figures[name, method] for method in methods] for name in complete])
    badness = -values if larger_is_better else values
    ranks = np.array([rankdata(row) for row in badness])
    statistic, p = friedmanchisquare(*badness.T) if np.ptp(ranks) > 0 else (0.0, 1.0)
    return Comparison(
        methods=tuple(methods),
        sets=tuple(complete),
        ranks=tuple(float(rank) for rank in ranks.mean(axis=0)),
        friedman=float(statistic),
        friedman_p=float(p),
        critical_difference=critical_difference(len(methods), len(complete)),
        pairs=_pairs(methods, badness),
    )


@cache
def critical_difference(num_methods: int, num_sets: int, alpha: float = ALPHA) -> float:
    """Nemenyi: average ranks further apart than this differ at level alpha."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - alpha, num_methods, np.inf)) / math.sqrt(2)
    return q * math.sqrt(num_methods * (num_methods + 1) / (6 * num_sets))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def cliques(comparison: Comparison) -> list[tuple[float, float]]:
    """The longest spans of average ranks within which no two methods differ by the critical difference."""
    ranks = [comparison.ranks[index] for index in comparison.order]
    spans: list[tuple[float, float]] = []
    for start, low in enumerate(ranks):
        high = max(rank for rank in ranks[start:] if rank - low <= comparison.critical_difference)
        if high > low and not any(a <= low and high <= b for a, b in spans):
            spans.append((low, high))
    return spans


def _pairs(methods: Sequence[str], badness: NDArray[np.float64]) -> tuple[Pair, ...]:
    found = list(combinations(range(len(methods)), 2))
    p_values = [_wilcoxon(badness[:, i], badness[:, j]) for i, j in found]
    return tuple(
        Pair(
            methods[i],
            methods[j],
            int(np.sum(badness[:, i] < badness[:, j])),
            int(np.sum(badness[:, i] > badness[:, j])),
            p,
            adjusted,
        )
        for (i, j), p, adjusted in zip(found, p_values, holm(p_values), strict=True)
    )


def _wilcoxon(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    from scipy.stats import wilcoxon

    differences = first - second
    differences = differences[differences != 0]
    if len(differences) == 0:
        return 1.0
    # The exact distribution holds for few sets without ties among the differences; else the normal approximation.
    tied = len(np.unique(np.abs(differences))) < len(differences)
    exact = len(differences) <= 50 and not tied
    return float(wilcoxon(differences, method="exact" if exact else "approx").pvalue)
