"""The two one-sided tests: against scipy's interval, and what more splits may and may not do."""

from __future__ import annotations

import math
from statistics import mean, stdev

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import t

from gpcnoise_cli.claims.equivalence import MOST_SPLITS, Sample, Verdict, below, same_as, within

MARGIN = 0.5
spreads = st.floats(0.001, 3.0)
means = st.floats(-3.0, 3.0)
splits = st.integers(2, 60)


@given(st.lists(st.floats(80.0, 90.0), min_size=2, max_size=12), st.floats(80.0, 90.0))
def test_the_verdict_is_that_of_the_90_percent_interval(values: list[float], published: float) -> None:
    n, spread = len(values), stdev(values)
    se = spread * math.sqrt(1 / n + 1 / 10)
    low, high = (mean(values) - published + sign * float(t.ppf(0.95, n - 1)) * se for sign in (-1, 1))
    verdict = same_as(Sample.of(values), published, MARGIN).verdict
    if low >= -MARGIN and high <= MARGIN:
        assert verdict is Verdict.CONFIRMED
    elif low > MARGIN or high < -MARGIN:
        assert verdict is Verdict.CONTRADICTED
    else:
        assert verdict is Verdict.UNDECIDED


@given(means, spreads, splits, splits)
def test_more_splits_of_the_same_mean_and_spread_never_undo_a_decision(
    centre: float, spread: float, few: int, further: int
) -> None:
    for test in (lambda ours: same_as(ours, 0.0, MARGIN), lambda ours: within(ours, MARGIN), lambda o: below(o, 0.1)):
        before = test(Sample(centre, few, spread, few - 1)).verdict
        after = test(Sample(centre, few + further, spread, few + further - 1)).verdict
        assert before in (after, Verdict.UNDECIDED)


@given(means, spreads, splits)
def test_as_many_more_splits_as_it_says_decide_it(centre: float, spread: float, few: int) -> None:
    decision = same_as(Sample(centre, few, spread, few - 1), 0.0, MARGIN)
    if decision.verdict is not Verdict.UNDECIDED:
        assert decision.more is None
        return
    enough = MOST_SPLITS if decision.more is None else few + decision.more
    after = same_as(Sample(centre, enough, spread, enough - 1), 0.0, MARGIN).verdict
    assert (after is Verdict.UNDECIDED) == (decision.more is None)
    if decision.more is not None and decision.more > 1:
        one_less = Sample(centre, enough - 1, spread, enough - 2)
        assert same_as(one_less, 0.0, MARGIN).verdict is Verdict.UNDECIDED


@given(means, spreads, splits, st.floats(0.01, 2.0))
def test_a_wider_margin_never_turns_confirmed_into_anything_else(
    centre: float, spread: float, few: int, wider: float
) -> None:
    ours = Sample(centre, few, spread, few - 1)
    if same_as(ours, 0.0, MARGIN).verdict is Verdict.CONFIRMED:
        assert same_as(ours, 0.0, MARGIN + wider).verdict is Verdict.CONFIRMED
    if same_as(ours, 0.0, MARGIN + wider).verdict is Verdict.CONTRADICTED:
        assert same_as(ours, 0.0, MARGIN).verdict is Verdict.CONTRADICTED


@given(st.floats(-100, 100), st.floats(-100, 100))
def test_one_split_alone_decides_nothing(value: float, published: float) -> None:
    decision = same_as(Sample.of([value]), published, MARGIN)
    assert (decision.verdict, decision.more) == (Verdict.UNDECIDED, 1)


def test_one_split_with_a_spread_known_from_others_may_decide() -> None:
    others = [0.01 * k for k in range(10)]
    ours = Sample.of([0.1], elsewhere=others)
    assert (ours.splits, ours.freedom, ours.spread) == (1, 9, stdev(others))
    assert same_as(ours, 0.0, MARGIN).verdict is Verdict.CONFIRMED
    assert same_as(ours, 5.0, MARGIN).verdict is Verdict.CONTRADICTED


def test_the_spread_that_is_better_known_is_taken() -> None:
    assert Sample.of([1.0, 2.0, 3.0], elsewhere=[5.0, 9.0]).spread == 1.0
    assert Sample.of([1.0, 2.0], elsewhere=[1.0, 2.0, 3.0]).freedom == 2


def test_equal_values_have_the_least_spread_that_there_can_be() -> None:
    assert Sample.of([99.0, 99.0], least_spread=0.3).spread == 0.3


def test_a_published_spread_is_used_where_there_is_one() -> None:
    ours = Sample(0.3, 10, 0.1, 9)
    assert same_as(ours, 0.0, MARGIN).verdict is Verdict.CONFIRMED
    assert same_as(ours, 0.0, MARGIN, spread=2.0).verdict is Verdict.UNDECIDED


def test_better_by_more_than_the_margin() -> None:
    clearly = Sample(-0.05, 5, 0.01, 4)
    assert below(clearly, 0.02).verdict is Verdict.CONFIRMED
    assert below(clearly, 0.10).verdict is Verdict.CONTRADICTED
    assert below(Sample(0.05, 5, 0.01, 4), 0.0).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize("difference", [0.0, 0.5])
def test_the_error_rate_is_at_most_five_percent(difference: float) -> None:
    """At the margin itself, where confirming would be wrong half the way, at most 5% are confirmed."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(400):
        theirs = float(rng.normal(0.0, 0.3, 10).mean())
        ours = Sample.of(rng.normal(difference, 0.3, 10).tolist())
        verdict = same_as(ours, theirs, MARGIN).verdict
        wrong += verdict is (Verdict.CONFIRMED if difference == MARGIN else Verdict.CONTRADICTED)
    assert wrong / 400 <= 0.075  # 5% and three standard errors of 400 draws, nearly
