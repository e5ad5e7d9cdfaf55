"""The fitted constants: what ships is what the measurements in results/ give, and the fit finds what made the times."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.scale.fit import fit
from gpcnoise_cli.scale.step_cost import Sizes, StepCost

MEASURED = Path(__file__).parents[2] / "results" / "bench"


def test_what_ships_was_fitted_to_the_measurements_in_results() -> None:
    kept, again = StepCost.read(), fit(MEASURED)
    for name, value in again.seconds.items():
        np.testing.assert_allclose(kept.seconds[name], value, rtol=1e-4, err_msg=name)
    assert dataclasses.replace(kept, seconds={}, median_error=0, largest_error=0) == dataclasses.replace(
        again, seconds={}, median_error=0, largest_error=0
    )


def test_measured_steps_are_forecast_within_a_seventh() -> None:
    cost = StepCost.read()
    assert cost.median_error < 0.05
    assert cost.largest_error < 1 / 7
    for one in json.loads((MEASURED / "steps.json").read_text())["steps"]:
        sizes = Sizes(one["C"], 1 if one["shared"] else one["C"], one["inducing"], one["batch_size"], one["d"])
        for optimizer, precision, name in (("adam", "mixed", "mixed"), ("natgrad", "mixed", "natgrad")):
            seconds = sum(cost.terms(sizes, optimizer, precision).values())
            np.testing.assert_allclose(seconds, one["seconds_per_step"][name]["median"], rtol=1 / 7)


def test_made_times_give_their_constants_back(tmp_path: Path) -> None:
    truth = dict(zip(Sizes(1, 1, 1, 1, 1).counts(), (1e-3, 5e-12, 2e-11, 3e-11, 4e-11, 8e-9), strict=True))

    def timed(factor: float, **sizes: int | bool) -> dict[str, object]:
        one = {"C": 3, "d": 20, "inducing": 300, "batch_size": 1024, "rows": 9999, "shared": True, **sizes}
        kernels = 1 if one["shared"] else one["C"]
        counts = Sizes(one["C"], kernels, one["inducing"], one["batch_size"], one["d"]).counts()
        taken = factor * sum(truth[term] * count for term, count in counts.items())
        names = {"mixed": 1.0, "float64": 2.0, "float32": 0.5, "natgrad": 1.1}
        times = {name: {"median": taken * times} for name, times in names.items()}
        return {**one, "seconds_per_step": times, "floor": {"gflops_per_second": 100.0}}

    steps = [timed(1.0, C=C, d=d, shared=shared) for C in (1, 3, 26) for d in (5, 60) for shared in (True, False)]
    # Measured on a day on which the machine was half as fast.
    growth = [timed(2.0, inducing=m) for m in (50, 100, 500)] + [timed(2.0, batch_size=B) for B in (128, 4096)]
    machine = {"cpu": "made up", "cores": 1}
    (tmp_path / "steps.json").write_text(json.dumps({"machine": machine, "steps": steps}))
    (tmp_path / "growth.json").write_text(json.dumps({"machine": machine, "growth": {"points": growth}}))
    found = fit(tmp_path)
    for name, value in truth.items():
        np.testing.assert_allclose(found.seconds[name], value, rtol=1e-3, err_msg=name)
    np.testing.assert_allclose(list(found.factors.values()), [2.0, 0.5, 1.1])


def test_what_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no .*steps.json; `gpcnoise bench steps --out"):
        fit(tmp_path)
    (tmp_path / "steps.json").write_text("{")
    with pytest.raises(UsageError, match=r"steps.json is damaged"):
        fit(tmp_path)
    with pytest.raises(UsageError, match=r"steps.json holds no constants .*; `gpcnoise bench fit` makes such a file"):
        StepCost.read(tmp_path / "steps.json")
