"""Estimates of time: from the most similar cells that were measured, and they say from which."""

from __future__ import annotations

from functools import cache

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.cost import Estimator, flops_of
from gpcnoise_cli.runs.provenance import host


@cache
def cell(*overrides: str) -> Cell:
    return Cell.of("a", compose(["preset=paper", "inducing=50", "iterations=1000", *overrides]))


def measured(**changes: object) -> dict[str, object]:
    record = {
        "dataset": "waveform", "likelihood": "softmax", "classes": 3, "kernel": "rbf", "optimizer": "adam",
        "inducing": 50, "batch_size": 1024, "iterations": 1000, "steps": 1000, "n_train": 4500,
        "seconds_per_step": 0.01, "seconds": 15.0, "train_seconds": 10.0,
    }  # fmt: skip
    return {**record, **changes}


def test_the_basis_goes_from_the_same_set_to_the_model() -> None:
    estimator = Estimator.from_records([measured()])
    assert estimator.estimate(cell("dataset=waveform", "split=3")).basis == "same set"
    assert estimator.estimate(cell("dataset=waveform", "split=3")).seconds == pytest.approx(15.0)
    assert estimator.estimate(cell("dataset=thyroid")).basis == "similar cells"
    assert estimator.estimate(cell("dataset=letter")).basis == "scaled"
    assert Estimator().estimate(cell("dataset=letter")).basis == "model"


def test_another_machines_times_count_only_where_there_are_no_others() -> None:
    waveform, elsewhere = cell("dataset=waveform"), {**host(), "cpu": "abacus"}
    slow = measured(host=elsewhere, seconds_per_step=1.0)
    assert Estimator.from_records([slow]).estimate(waveform).seconds > 1000
    assert Estimator.from_records([slow, measured(host=host())]).estimate(waveform).seconds == pytest.approx(15.0)


def test_larger_cells_are_estimated_longer() -> None:
    estimator = Estimator.from_records([measured()])
    times = [estimator.estimate(cell(f"dataset={name}")).seconds for name in ("waveform", "pendigits", "letter")]
    assert times == sorted(times)
    assert flops_of(cell("inducing=100").config) > 3 * flops_of(cell().config)


def test_a_record_without_times_teaches_nothing() -> None:
    assert Estimator.from_records([{}, measured(seconds_per_step=None), measured(seconds_per_step=0)]).rates == []


def test_the_times_of_one_method_say_nothing_of_another() -> None:
    ep = cell("dataset=waveform", "method=ep")
    assert Estimator.from_records([measured()]).estimate(ep).basis == "scaled"
    config = {"optimizer": {"name": ep.config.optimizer.name}, "method": {"settings": ep.config.method.settings}}
    timed = measured(method="ep", likelihood="step", optimizer="its own", config=config, seconds_per_step=0.1)
    both = Estimator.from_records([measured(method="GPCsm"), timed])
    assert both.estimate(ep).basis == "same set"
    assert both.estimate(ep).seconds == pytest.approx(105.0)
    assert both.estimate(cell("dataset=thyroid", "method=ep")).basis == "similar cells"
    assert both.estimate(cell("dataset=waveform")).seconds == pytest.approx(15.0)


def test_times_with_other_settings_of_a_method_are_not_its_own() -> None:
    def orth(gamma: int) -> Cell:
        return cell("dataset=waveform", "method=orth", f"method.settings.gamma={gamma}")

    few, many = orth(0), orth(400)
    config = {"optimizer": {"name": few.config.optimizer.name}, "method": {"settings": few.config.method.settings}}
    estimator = Estimator.from_records([measured(method="orth", config=config)])
    assert [estimator.estimate(one).basis for one in (few, many)] == ["same set", "model"]
