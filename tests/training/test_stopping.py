"""The stopping rule: go on while the bound rises, stop when it only trembles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcnoise_cli.training.stopping import StoppingRule

SHORT, LONG = StoppingRule.of(delta_mode=None), StoppingRule.of(delta_mode="optimal")


def first_stop(losses: np.ndarray, rule: StoppingRule = SHORT) -> int | None:
    return next((k for k in range(len(losses) + 1) if rule.satisfied(list(losses[:k]))), None)


@pytest.mark.parametrize("rule", [SHORT, LONG])
def test_it_never_stops_before_it_can_compare(rule: StoppingRule) -> None:
    assert not rule.satisfied([])
    assert not rule.satisfied([1.0])
    assert not rule.satisfied([1.0] * (2 * rule.span))


@pytest.mark.parametrize("rule", [SHORT, LONG])
def test_a_flat_bound_stops_as_soon_as_that_is_known(rule: StoppingRule) -> None:
    assert first_stop(np.full(100, 1000.0), rule) == 2 * rule.span + 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_steady_fall_goes_on(sign: float) -> None:
    """A loss may be negative; a fall is a fall on either side of zero."""
    losses = 1000.0 * np.exp(-sign * 0.02 * np.arange(60)) * sign
    assert first_stop(losses) is None


def test_a_fall_that_levels_off_stops_after_it() -> None:
    losses = 1000.0 + 2000.0 * np.exp(-np.arange(100) / 5.0)
    stop = first_stop(losses)
    assert stop is not None
    assert losses[stop - 1] < 1.02 * losses[-1]


def test_a_rising_loss_stops_too() -> None:
    assert first_stop(1000.0 + 10.0 * np.arange(60)) is not None


def test_noise_does_not_hide_a_fall() -> None:
    rng = np.random.default_rng(0)
    falling = 1000.0 * np.exp(-0.02 * np.arange(60))
    assert first_stop(falling * (1 + 0.01 * rng.normal(size=60))) is None


def test_under_label_noise_a_small_gain_in_noise_goes_on() -> None:
    """A loss of which most is δ's: it falls by 0.15% a window, beside noise of 0.5%."""
    rng = np.random.default_rng(0)
    runs = [1000.0 * np.exp(-0.0015 * np.arange(50)) * (1 + 0.005 * rng.normal(size=50)) for _ in range(100)]
    short, long = (sum(first_stop(losses, rule) is not None for losses in runs) for rule in (SHORT, LONG))
    assert short > 50
    assert long < 5


@given(falls=st.lists(st.floats(-0.01, 0.1), min_size=1, max_size=60))
def test_the_long_span_stops_no_run_that_the_short_one_lets_pass(falls: list[float]) -> None:
    losses = 1000.0 * np.exp(-np.cumsum(falls))
    if first_stop(losses, SHORT) is None:
        assert first_stop(losses, LONG) is None


def test_the_wind_down_grows_with_the_run_and_is_never_nothing() -> None:
    rule = StoppingRule()
    steps = [rule.wind_down_steps(step) for step in (0, 100, 1000, 10_000)]
    assert steps[0] > 0
    assert steps == sorted(steps)
    assert all(more <= max(step, steps[0]) for step, more in zip((0, 100, 1000, 10_000), steps, strict=True))
