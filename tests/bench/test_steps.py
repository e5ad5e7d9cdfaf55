"""The benchmark compares like with like, times what it says, and files what it found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcnoise_cli.bench.aims import compare_times
from gpcnoise_cli.bench.case import STANDARD_CASES, Case, synthetic
from gpcnoise_cli.bench.gpytorch_client import PYTHON_VARIABLE, find_gpytorch
from gpcnoise_cli.bench.growth import Axis, exponent
from gpcnoise_cli.bench.interleave import Effort, interleave, ratio, spread
from gpcnoise_cli.bench.kept import read_kept
from gpcnoise_cli.bench.quality import FILE, compare
from gpcnoise_cli.bench.systems import Gemm, engine, stock
from gpcnoise_cli.errors import GpcnoiseError

BINARY = Case(C=1, d=3, inducing=8, batch_size=32, rows=100, likelihood="probit")
MANY = Case(C=4, d=3, inducing=8, batch_size=32, rows=100)
PER_CLASS = Case(C=4, d=3, inducing=8, batch_size=32, rows=100, ard=True, shared=False)


class Recorded:
    """A system that takes a known time and writes down when it was asked."""

    first_loss = None

    def __init__(self, name: str, seconds: float, asked: list[str]) -> None:
        self.name, self.seconds, self.asked = name, seconds, asked

    def run(self, steps: int) -> float:
        self.asked.append(self.name)
        return steps * self.seconds

    def close(self) -> None: ...


def test_the_claimed_sizes_are_the_issue_s() -> None:
    assert {(case.inducing, case.batch_size) for case in STANDARD_CASES} == {(300, 1024)}
    assert [(case.C, case.d, case.ard, case.shared) for case in STANDARD_CASES] == [
        (1, 21, False, True),
        (3, 41, False, True),
        (26, 17, False, True),
        (3, 41, True, False),
        (26, 17, True, False),
    ]


def test_a_case_says_what_its_kernels_are_whatever_the_preset_says() -> None:
    assert (MANY.config().kernel.ard, MANY.config().kernel.shared) == (False, True)
    assert (PER_CLASS.config().kernel.ard, PER_CLASS.config().kernel.shared) == (True, False)
    kernel = stock(synthetic(PER_CLASS)).loop.optimizer.model.kernel
    assert [one.lengthscales.shape for one in kernel.latent_kernels] == [(3,)] * 4


def test_aims_are_judged_where_they_are_set() -> None:
    times = {name: np.full(3, seconds) for name, seconds in [("stock", 3.9), ("mixed", 1.0), ("natgrad", 1.1)]}
    by_case = {
        case.shared: {(one["over"], one["under"]): one for one in compare_times(times, case)}
        for case in (Case(C=26, d=17), Case(C=26, d=17, ard=True, shared=False))
    }
    assert set(by_case[True]) == {("stock", "mixed"), ("natgrad", "mixed")}, "what was not timed is left out"
    assert by_case[True]["stock", "mixed"]["reached"] is True
    assert by_case[False]["stock", "mixed"]["reached"] is False
    assert by_case[False]["stock", "mixed"]["aim"] == 4.0
    assert by_case[True]["natgrad", "mixed"]["reached"] is True
    (one,) = compare_times({"natgrad": times["natgrad"], "mixed": times["mixed"]}, Case(C=3, d=41))
    assert (one["aim"], one["reached"], one["of_medians"]) == (None, None, pytest.approx(1.1))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(BINARY, id="probit"),
        pytest.param(MANY, id="softmax", marks=pytest.mark.slow),
        pytest.param(PER_CLASS, id="one kernel per class", marks=pytest.mark.slow),
    ],
)
def test_stock_and_engine_compute_the_same_loss(case: Case) -> None:
    problem = synthetic(case)
    reference, exact, mixed = stock(problem), engine(problem, "adam", "float64"), engine(problem)
    assert exact.first_loss == pytest.approx(reference.first_loss, rel=1e-10)
    assert mixed.first_loss == pytest.approx(reference.first_loss, rel=1e-4)
    for system in (reference, exact):
        system.run(5)
    losses = [float(system.loop.take_mean_loss(6)) for system in (reference, exact)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6), "the same batches and the same Adam lead the same way"


def test_rounds_are_interleaved_and_warm_up_is_not_counted() -> None:
    asked: list[str] = []
    systems = {name: Recorded(name, seconds, asked) for name, seconds in (("a", 0.1), ("b", 0.2))}
    times = interleave(systems, Effort(rounds=3, seconds=0.4))
    assert asked == ["a", "a", "b", "b", "a", "b", "a", "b", "a", "b"]
    np.testing.assert_allclose(times["a"], [0.1] * 3)
    assert ratio(times["b"], times["a"])["of_medians"] == pytest.approx(2.0)


def test_spread_is_median_and_quartiles() -> None:
    assert spread(np.arange(5.0)) == {"median": 2.0, "q1": 1.0, "q3": 3.0}


def test_the_floor_multiplies_the_stacked_shapes() -> None:
    floor = Gemm(MANY)
    PA, S = floor.products(floor.P, floor.A, floor.weighted)
    assert PA.shape == (4 * 8, 32)
    assert S.shape == (4 * 8, 8)
    assert floor.run(3) > 0


def test_growth_varies_one_size_and_reports_its_exponent() -> None:
    axis = Axis("m", "inducing", (10, 20, 40))
    assert [case.inducing for case in axis.cases(MANY)] == [10, 20, 40]
    assert {case.batch_size for case in axis.cases(MANY)} == {32}
    points = [{"axis": "m", "value": m, "seconds_per_step": {"mixed": {"median": m**2}}} for m in axis.values]
    assert exponent(points, "m", "mixed") == pytest.approx(2.0)


def test_synthetic_rows_have_every_class_and_repeat() -> None:
    problem = synthetic(MANY, np.float32)
    assert problem.X.dtype == np.float32
    assert set(problem.y) == {0, 1, 2, 3}
    np.testing.assert_array_equal(problem.X, synthetic(MANY, np.float32).X)


def test_gpytorch_is_absent_unless_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PYTHON_VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert find_gpytorch() is None


@pytest.mark.parametrize("python", ["no-such-interpreter", sys.executable])
def test_an_interpreter_without_gpytorch_is_named(python: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PYTHON_VARIABLE, python)
    (tmp_path / "gpytorch.py").write_text("raise ImportError('not the real one')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(GpcnoiseError, match=f"{PYTHON_VARIABLE}"):
        find_gpytorch()


def run_with(nll: list[float], **more: Any) -> dict[str, Any]:
    known = ("dataset", "source", "protocol", "likelihood", "split", "seed", "n_train", "d", "classes", "acc", "bound")
    steps = [100 * (number + 1) for number in range(len(nll))]
    return {
        **dict.fromkeys((*known, "optimizer"), 0),
        "steps": steps[-1],
        "train_seconds": 0.02 * steps[-1],
        "seconds_per_step": 0.02,
        "nll": nll[-1],
        "curve": {"step": steps, "seconds": [0.02 * step for step in steps], "nll": nll},
        **more,
    }


TIMES = {"stock": {"median": 0.06}, "mixed": {"median": 0.02}, "natgrad": {"median": 0.03}}


def test_time_to_quality_is_the_first_measurement_at_the_mark() -> None:
    runs = {"paper": run_with([0.9, 0.5, 0.404, 0.42, 0.4]), "fast": run_with([0.404, 0.39])}
    record = compare(runs, TIMES)
    assert record["mark_nll"] == pytest.approx(0.405)
    assert (record["paper"]["steps"], record["paper"]["seconds"]) == (300, 6.0)
    assert record["stock"] == {"seconds": 18.0, "steps": 300, "seconds_per_step": 0.06}
    assert record["speedup_over_stock"] == {"paper": pytest.approx(3.0), "fast": pytest.approx(6.0)}
    assert record["nll_fast_minus_paper"] == pytest.approx(-0.01)


def test_a_quality_that_is_never_reached_is_none() -> None:
    record = compare({"paper": run_with([0.4]), "fast": run_with([0.5])}, TIMES)
    assert record["fast"]["seconds"] is None
    assert record["speedup_over_stock"]["fast"] is None


def test_a_damaged_quality_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "quality.json").write_text("{")
    with pytest.raises(GpcnoiseError, match="damaged"):
        read_kept(tmp_path / FILE)
