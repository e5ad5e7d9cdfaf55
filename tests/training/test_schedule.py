"""Rates stay, then fall, cycle after cycle; the end can be brought forward but not put off."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from gpcnoise_cli.config.schema import OptimizerConfig
from gpcnoise_cli.training.schedule import LEAST_FACTOR, Schedule


def schedule_of(iterations: int, cycle: int, growth: float = 1.5) -> Schedule:
    return Schedule(iterations, OptimizerConfig("natgrad", 0.1, cycle=cycle, cycle_growth=growth))


def factors(schedule: Schedule, steps: range) -> np.ndarray:
    return np.array([float(schedule.factor(tf.constant(step, tf.int64))) for step in steps])


def test_without_cycles_rates_never_change() -> None:
    schedule = schedule_of(100, 0)
    assert np.all(factors(schedule, range(0, 100, 7)) == 1.0)
    assert int(schedule.cycle_end) == 100


def test_in_a_cycle_rates_stay_full_and_then_fall_to_nearly_nothing() -> None:
    curve = factors(schedule_of(100, 100), range(100))
    assert np.all(curve[:30] == 1.0)
    assert np.all(np.diff(curve) <= 0.0)
    assert 0.0 < curve[-1] < 0.1


@settings(max_examples=30)
@given(iterations=st.integers(1, 3000), cycle=st.integers(1, 200), growth=st.floats(1.0, 3.0))
def test_cycles_follow_one_another_up_to_the_end_and_never_shrink(iterations: int, cycle: int, growth: float) -> None:
    schedule = schedule_of(iterations, cycle, growth)
    ends = [int(schedule.cycle_end)]
    while ends[-1] < iterations:
        schedule.next_cycle()
        assert int(schedule.cycle_start) == ends[-1]
        ends.append(int(schedule.cycle_end))
    assert ends[-1] == iterations
    lengths = np.diff([0, *ends])
    assert np.all(np.diff(lengths) >= 0)
    assert len(ends) == 1 or lengths[0] == cycle


def test_a_new_cycle_starts_at_full_size_again() -> None:
    schedule = schedule_of(1000, 60)
    assert factors(schedule, range(59, 60))[0] < 0.1
    schedule.next_cycle()
    assert factors(schedule, range(60, 61))[0] == 1.0
    assert int(schedule.cycle_end) == 150


def test_after_trouble_all_rates_are_smaller() -> None:
    schedule = schedule_of(100, 100)
    before = factors(schedule, range(0, 100, 9))
    schedule.scale.assign(0.5)
    assert np.array_equal(factors(schedule, range(0, 100, 9)), before / 2)


def test_its_variables_are_all_it_is() -> None:
    """A checkpoint holds these; a schedule that is given them continues as the first would have."""
    first, second = schedule_of(200, 20), schedule_of(200, 20)
    first.next_cycle()
    first.scale.assign(0.25)
    first.stop(90)
    for target, source in zip(second.variables, first.variables, strict=True):
        target.assign(source)
    assert np.array_equal(factors(second, range(0, 90, 10)), factors(first, range(0, 90, 10)))
    assert int(second.end) == 90


@pytest.mark.parametrize("iterations", [1, 2])
def test_the_shortest_runs_move_too(iterations: int) -> None:
    assert np.all(factors(schedule_of(iterations, 60), range(iterations)) >= LEAST_FACTOR)
