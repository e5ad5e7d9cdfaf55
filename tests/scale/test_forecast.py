"""What a run takes, on paper: how it grows, what several devices change, and which limit is met first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.scale.forecast import Forecast, Job, Machine, forecast
from gpcnoise_cli.scale.step_cost import StepCost

HERE = Machine(None, 0.5, 16.0, 16.0, 10.0, 1.0)
GPU = replace(HERE, tflops=19.5, memory_gb=40.0)


def planned(*overrides: str, machine: Machine = HERE, rows: int = 100_000, classes: int = 3, **sizes: Any) -> Forecast:
    return forecast(Job(compose(overrides), rows, 30, classes, **sizes), machine, StepCost.read())


def test_a_step_costs_the_same_whatever_the_number_of_rows() -> None:
    assert planned(rows=10_000).step_seconds == planned(rows=10_000_000).step_seconds


def test_time_is_proportional_to_steps_and_cells() -> None:
    one, two = planned("iterations=500"), planned("iterations=1000")
    assert two.train_seconds == pytest.approx(2 * one.train_seconds)
    grid = planned("iterations=500", cells=10, workers=3)
    assert grid.total_seconds == pytest.approx(4 * one.total_seconds)


def test_devices_share_rows_but_not_the_work_on_factors() -> None:
    alone, shared = (planned("batch_size=65536", machine=GPU, devices=devices) for devices in (1, 8))
    assert shared.one_device_step_seconds == pytest.approx(alone.step_seconds)
    assert alone.step_seconds / 8 < shared.step_seconds - shared.network_seconds < alone.step_seconds
    assert alone.network_seconds == alone.bytes_per_step == 0


def test_half_of_each_square_is_sent() -> None:
    m, C, d = 300, 3, 30
    found = planned("inducing=300", "optimizer=natgrad", "kernel.shared=true", devices=2)
    assert found.numbers_per_step == C * m * (m + 1) / 2 + C * m + m * d + (d + 2) + 2
    # In a ring of two, each sends its whole contribution once; float32 where the work is.
    assert found.bytes_per_step == pytest.approx(4 * C * m * m / 2, rel=0.15)
    assert planned("inducing=300", "preset=paper", devices=2).bytes_per_step > 1.8 * found.bytes_per_step


def test_a_billion_rows_break_memory_first_and_small_ones_nothing() -> None:
    huge = planned(rows=10**9, machine=GPU, devices=8, cells=10_000)
    assert huge.breaks_first is not None
    assert huge.breaks_first.what == "host memory"
    assert huge.limits[0] == huge.breaks_first
    assert huge.to_dict()["breaks_first"] == "host memory"
    more = planned(rows=10**9, machine=replace(GPU, host_memory_gb=2000.0), devices=8)
    assert more.breaks_first is not None
    assert more.breaks_first.what == "device memory"
    assert (
        planned(rows=10**10, machine=replace(GPU, host_memory_gb=1e9, memory_gb=1e9)).breaks_first.what == "row numbers"
    )
    assert planned().breaks_first is None


def test_a_store_takes_the_rows_out_of_memory_and_may_be_slow() -> None:
    kept = planned(rows=10**9, machine=GPU, store=True)
    assert kept.breaks_first is None
    assert kept.device_rows_gb < 0.1
    assert kept.host_gb < 2
    assert kept.score_seconds < planned(rows=10**9, machine=GPU).score_seconds / 100
    assert kept.store_gb == 120
    slow = planned(rows=10**9, machine=replace(GPU, disk_gb_per_second=0.01), store=True)
    assert slow.wasted_on is not None
    assert slow.wasted_on.what == "reading the store"


def test_what_the_time_is_wasted_on_is_named() -> None:
    assert planned("runtime.eval_every=1", rows=10**7).wasted_on.what == "scoring the test rows"
    assert planned("batch_size=64", devices=8, machine=GPU).wasted_on.what == "work that is not shared"
    slow = replace(GPU, network_gbits=0.1)
    assert planned("batch_size=65536", "inducing=1000", devices=8, machine=slow).wasted_on.what == "network"


@pytest.mark.parametrize("overrides", [(), ("preset=paper",), ("runtime.eval_every=10",)])
def test_measurements_are_counted_as_training_makes_them(overrides: tuple[str, ...]) -> None:
    job = Job(compose(["iterations=300", *overrides]), 1000, 3, 3)
    assert job.measurements == {(): 3, ("preset=paper",): 20, ("runtime.eval_every=10",): 30}[overrides]


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ({"rows": 0}, "--rows must be at least 2, not 0"),
        ({"cells": 0}, "--cells must be at least 1, not 0"),
        ({"devices": 2000}, "a minibatch of 1024 rows cannot be shared by 2000 devices"),
    ],
)
def test_what_cannot_be_is_refused(sizes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        planned(**sizes)


def test_a_machine_without_a_network_is_refused() -> None:
    with pytest.raises(UsageError, match="--network-gbits must be greater than 0, not 0"):
        replace(HERE, network_gbits=0.0)
