"""When to stop: go on while a cycle gains, and notice a run that loses what it had."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcnoise_cli.training.stopping import LOST_NATS, gained_enough, is_lost, learned_nothing

ROWS = 1000


@given(now=st.floats(-1e6, -1.0), gain=st.floats(0.0, 1e6))
def test_the_larger_gain_is_never_the_one_that_stops(now: float, gain: float) -> None:
    if gained_enough(now - gain, now, ROWS, 0.01):
        assert gained_enough(now - 2 * gain - 1.0, now, ROWS, 0.01)


def test_a_gain_is_measured_against_the_loss_of_a_row() -> None:
    assert gained_enough(-410.0, -400.0, ROWS, 0.01)
    assert not gained_enough(-401.0, -400.0, ROWS, 0.01)


def test_a_set_that_is_learned_to_the_last_row_is_not_trained_for_gains_nobody_sees() -> None:
    assert not gained_enough(-5.5, -5.0, ROWS, 0.01)  # a tenth of the loss, but half a thousandth of a nat a row
    assert gained_enough(-7.0, -5.0, ROWS, 0.01)


def test_a_bound_that_falls_stops_a_run_and_the_first_cycle_never_does() -> None:
    assert not gained_enough(-400.0, -500.0, ROWS, 0.01)
    assert gained_enough(-float("inf"), -500.0, ROWS, 0.01)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_noise_about_the_best_loss_is_no_loss(noise: float) -> None:
    assert not is_lost([900.0, 500.0, *(400.0 * (1 + noise * (-1) ** k) for k in range(10))], ROWS)


def test_two_windows_far_above_the_best_are_a_loss_and_one_is_not() -> None:
    before = [7000.0, 900.0, 600.0, 573.0]
    assert not is_lost([*before, 4730.0], 5000)
    assert is_lost([*before, 2000.0, 4730.0], 5000)
    assert not is_lost([*before, 4730.0, 600.0], 5000)


def test_many_times_a_tiny_loss_is_still_tiny() -> None:
    assert not is_lost([50.0, 1.0, 1.0, LOST_NATS * ROWS, LOST_NATS * ROWS], ROWS)


def test_a_class_that_is_all_but_everything_leaves_nothing_to_learn() -> None:
    assert learned_nothing(0.69, np.array([0.5, 0.5]))
    assert not learned_nothing(0.5, np.array([0.5, 0.5]))
    assert not learned_nothing(1e-6, np.array([1 - 1e-7, 1e-7]))
