"""Rates stay, then fall; the end can be brought forward but not put off."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from gpcnoise_cli.training.schedule import Schedule


def factors(schedule: Schedule, steps: range) -> np.ndarray:
    return np.array([float(schedule.factor(tf.constant(step, tf.int64))) for step in steps])


def test_without_decay_rates_never_change() -> None:
    schedule = Schedule(100, decay=False)
    schedule.wind_down(10, 5)
    assert np.all(factors(schedule, range(0, 100, 7)) == 1.0)


def test_with_decay_rates_stay_full_and_then_fall_to_nearly_nothing() -> None:
    curve = factors(Schedule(100, decay=True), range(100))
    assert np.all(curve[:30] == 1.0)
    assert np.all(np.diff(curve) <= 0.0)
    assert 0.0 < curve[-1] < 0.1


@settings(max_examples=20)
@given(iterations=st.integers(1, 300), step=st.integers(0, 300), more=st.integers(0, 100))
def test_winding_down_only_ever_brings_the_end_forward(iterations: int, step: int, more: int) -> None:
    step = min(step, iterations)
    schedule = Schedule(iterations, decay=True)
    schedule.wind_down(step, more)
    end = int(schedule.end)
    assert end == min(iterations, step + more)
    assert int(schedule.decay_from) <= step
    curve = factors(schedule, range(step, end, max((end - step) // 5, 1)))
    assert np.all(curve > 0.0)
    assert np.all(curve <= 1.0)
    assert np.all(np.diff(curve) <= 0.0)


def test_its_variables_are_all_it_is() -> None:
    """A checkpoint holds these two; a schedule that is given them continues as the first would have."""
    first, second = Schedule(200, decay=True), Schedule(200, decay=True)
    first.wind_down(50, 40)
    for target, source in zip(second.variables, first.variables, strict=True):
        target.assign(source)
    assert np.array_equal(factors(second, range(0, 90, 10)), factors(first, range(0, 90, 10)))


@pytest.mark.parametrize("iterations", [1, 2])
def test_the_shortest_runs_move_too(iterations: int) -> None:
    assert np.all(factors(Schedule(iterations, decay=True), range(iterations)) > 0.0)
