"""`gpcnoise bench` from the outside, at tiny sizes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.bench import case, growth, interleave, quality
from gpcnoise_cli.bench.gpytorch_client import PYTHON_VARIABLE
from gpcnoise_cli.bench.steps import ENGINES, FLOOR, SHARED, STOCK
from gpcnoise_cli.cli.bench.shared import show

Cli = Callable[..., Any]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    small = case.Case(C=3, d=3, inducing=8, batch_size=32, rows=100)
    monkeypatch.delenv(PYTHON_VARIABLE, raising=False)
    monkeypatch.setattr(case, "STANDARD_CASES", (small, replace(small, ard=True, shared=False)))
    monkeypatch.setattr(growth, "BASE", small)
    monkeypatch.setattr(growth, "QUICK_AXES", (growth.Axis("n", "rows", (50,)),))
    monkeypatch.setattr(interleave, "QUICK", interleave.Effort(2, 0.01))


@pytest.mark.slow  # a dozen compiled loops
def test_without_a_name_steps_and_growth_are_one_json_object(cli: Cli, tmp_path: Path, capsys: Capture) -> None:
    code, stdout, stderr = cli("bench", "--quick", "--json", "--out", tmp_path)
    assert code == 0
    result = json.loads(stdout)
    assert set(result) == {"machine", "steps", "growth"}
    assert result["machine"]["cores"] >= 1
    assert {"cpu", "load_average", "busy", "versions"} <= set(result["machine"])
    assert [(point["axis"], point["value"], point["rows"]) for point in result["growth"]["points"]] == [("n", 50, 50)]
    assert "C = 3, d = 3: compiling stock GPflow" in stderr
    shared, per_class = result["steps"]
    _check_steps(shared)
    _check_steps(per_class, SHARED)
    assert {(one["over"], one["under"]) for one in per_class["compared"]} == {
        ("stock", "mixed"),
        ("stock", "float64"),
        ("mixed", "gemm"),
        ("mixed", "shared"),
        ("natgrad", "mixed"),
    }

    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"steps.json", "growth.json", "growth.csv", "growth.png", "growth.pdf"}
    assert json.loads((tmp_path / "steps.json").read_text())["steps"] == result["steps"]
    assert (tmp_path / "growth.csv").read_text().startswith("axis,value,C,d,")

    show(result.pop("machine"), result, json=False)
    stdout, stderr = capsys.readouterr()
    words = ("stock ÷ this", "stock GPflow, float64", "floor: the products alone", "Growth of one training step")
    for expected in (*words, "C = 3 (softmax), d = 3, one kernel per class, ARD, m = 8", "at least 4"):
        assert expected in stdout
    assert "cores, load" in stderr


def test_one_part_alone_prints_its_table(cli: Cli, tmp_path: Path) -> None:
    code, stdout, stderr = cli("bench", "growth", "--quick", "--out", tmp_path)
    assert code == 0, stderr
    assert stdout.splitlines()[0] == "Growth of one training step, one size at a time"
    assert {path.name for path in tmp_path.iterdir()} == {"growth.json", "growth.csv", "growth.png", "growth.pdf"}


def _check_steps(record: dict[str, Any], *more: str) -> None:
    assert set(record["seconds_per_step"]) == {*ENGINES, STOCK, FLOOR, *more}
    assert all(0 < taken["q1"] <= taken["median"] <= taken["q3"] for taken in record["seconds_per_step"].values())
    assert all(record["speedup"][own][STOCK]["of_medians"] > 0 for own in ENGINES)
    assert all(record["over_floor"][own]["of_medians"] > 0 for own in ENGINES)
    assert record["floor"]["flops"] == 4 * 8**2 * 32 * 3
    floor = record["seconds_per_step"][FLOOR]["median"]
    assert record["floor"]["gflops_per_second"] == pytest.approx(record["floor"]["flops"] / floor / 1e9)
    assert len({round(loss, 2) for loss in record["first_loss"].values()}) == 1, "all compute the same bound"


@pytest.mark.slow
def test_quality_is_kept_and_not_measured_twice(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = ("inducing=8", "batch_size=32", "iterations=4", "runtime.eval_every=2", "likelihood.prediction_draws=8")
    arguments = ("bench", "quality", "--quick", "--dataset", "three-class", "--out", tmp_path, *sizes)
    code, stdout, _ = cli(*arguments, "dataset.source=generated")
    assert code == 0
    assert stdout.splitlines()[3].startswith("three-class")
    assert [path.name for path in (tmp_path / "unfinished").iterdir()] == [".gitignore"]
    assert {path.name for path in tmp_path.iterdir()} == {"unfinished", "quality.json", "quality.png", "quality.pdf"}

    monkeypatch.setattr(quality, "compute_cell", None)
    code, again, _ = cli(*arguments, "dataset.source=generated", "--json")
    assert code == 0
    kept = json.loads(again)["quality"]
    assert kept == json.loads((tmp_path / "quality.json").read_text())
    record = kept["clean/softmax/three-class"]
    assert record["paper"]["training"]["all_steps"] == 4
    assert record["stock"]["seconds"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bench", "--quick", "steps"), "put the options after the name"),
        (("bench", "speed"), "no such command 'speed'"),
        (("bench", "quality", "--dataset", "nowhere"), "nowhere"),
        (("bench", "quality", "--protocol", "dirty"), "dirty"),
    ],
)
def test_wrong_usage_is_one_sentence(cli: Cli, arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    code, stdout, stderr = cli(*arguments, *(("--out", tmp_path) if arguments[1] == "quality" else ()))
    assert (code, stdout) == (2, "")
    assert words in stderr


@pytest.mark.slow
def test_tensorflow_starts_without_its_notices(tmp_path: Path) -> None:
    code = "from gpcnoise_cli.cli.main import run; run()"
    command = [sys.executable, "-c", code, "bench", "quality", "--dataset", "nowhere", "--out", str(tmp_path)]
    environment = {key: value for key, value in os.environ.items() if key != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    *before, last = done.stderr.splitlines()
    assert done.returncode == 2
    assert last.startswith("gpcnoise: error: ")
    assert not [line for line in before if "this machine is busy" not in line]


@pytest.mark.parametrize("verb", [[], ["steps"], ["growth"], ["quality"], ["classifiers"], ["command"], ["grid"]])
def test_a_folder_that_cannot_be_made_is_told_before_anything_is_measured(
    cli: Cli, tmp_path: Path, verb: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpcnoise_cli.runtime.load_tensorflow", lambda: pytest.fail("TensorFlow was loaded"))
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        code, stdout, stderr = cli("bench", *verb, "--out", out)
        assert (code, stdout, stderr.count("\n")) == (2, "", 1)
        assert f"'{tmp_path / 'file'}' is none" in stderr
