"""Two one-sided tests: is a mean over splits within a margin of a published one, outside of it, or not known yet?

The difference of the two means has a 90% interval by Student's t, which is two one-sided tests of 5%. Inside the
margins it confirms, outside it contradicts, and across one of them nothing is decided. The published figures are means
over ten splits, too, and have an error of their own; where their spread is not printed, ours is taken for it. Ours are
in part the very same splits, so the interval is rather too wide than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from statistics import mean, stdev

from gpcnoise_cli.claims.margins import ALPHA

PAPER_SPLITS = 10
# Beyond so many splits of ours nothing changes any more: what is left is the error of the published figure.
MOST_SPLITS = 100


class Verdict(Enum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_COMPUTED = "not computed"
    NOT_RUNNABLE = "not runnable"


@dataclass(frozen=True)
class Sample:
    """A mean over splits; the spread (standard deviation) has `freedom` degrees, and is None where none is known."""

    mean: float
    splits: int
    spread: float | None = None
    freedom: int = 0

    @classmethod
    def of(cls, values: Sequence[float], *, elsewhere: Sequence[float] = (), least_spread: float = 0.0) -> Sample:
        """`elsewhere` are other splits of the same set and method, whose spread is taken where it is better known.

        `least_spread` is what the spread cannot be below: equal values on a few splits do not mean that there is none.
        """
        known = values if len(values) >= len(elsewhere) else elsewhere
        if len(known) < 2:
            return cls(mean(values), len(values))
        return cls(mean(values), len(values), max(stdev(known), least_spread), len(known) - 1)

    def negative(self) -> Sample:
        """The same the other way round."""
        return replace(self, mean=-self.mean)

    @property
    def error(self) -> float | None:
        """The standard error of the mean."""
        return None if self.spread is None else self.spread / math.sqrt(self.splits)


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    more: int | None = None  # splits that would decide it, about; None where no number would, or none is needed


def same_as(ours: Sample, published: float, margin: float, spread: float | None = None) -> Decision:
    """Is our mean within `margin` of the published one, which is a mean over ten splits with `spread`?"""
    return _decide(ours, abs(ours.mean - published), margin, PAPER_SPLITS, spread)


def within(difference: Sample, margin: float) -> Decision:
    """Is the difference of two of our own means, split by split, less than `margin` to either side?"""
    return _decide(difference, abs(difference.mean), margin)


def below(difference: Sample, margin: float) -> Decision:
    """Is the first of two of our own means below the second by more than `margin`, split by split?"""
    # The interval lies below −margin (confirmed) or above it (contradicted).
    return _decide(difference, difference.mean, -margin)


def _decide(
    ours: Sample, distance: float, limit: float, their_splits: int | None = None, their_spread: float | None = None
) -> Decision:
    """Whether `distance` is at most `limit`, with its interval."""
    if ours.spread is None:
        return Decision(Verdict.UNDECIDED, 1)
    spread = ours.spread

    def verdict(splits: int) -> Verdict:
        theirs = 0.0 if their_splits is None else (spread if their_spread is None else their_spread) ** 2 / their_splits
        freedom = max(ours.freedom, splits - 1)
        half = t_quantile(freedom) * math.sqrt(spread**2 / splits + theirs)
        if distance + half <= limit:
            return Verdict.CONFIRMED
        return Verdict.CONTRADICTED if distance - half > limit else Verdict.UNDECIDED

    found = verdict(ours.splits)
    if found is not Verdict.UNDECIDED:
        return Decision(found)
    further = range(ours.splits + 1, MOST_SPLITS + 1)
    enough = next((splits for splits in further if verdict(splits) is not Verdict.UNDECIDED), None)
    return Decision(found, None if enough is None else enough - ours.splits)


@cache
def t_quantile(freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf(1 - ALPHA, freedom))
