"""`gpcnoise plan`: the answer for a configuration, without TensorFlow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_it_plans_a_registered_set(cli: Callable[..., Any]) -> None:
    outcome = cli("plan", "--dataset", "letter", "--json")
    assert outcome.code == 0
    found = json.loads(outcome.stdout)
    assert (found["rows"], found["features"], found["classes"]) == (20000, 16, 26)
    assert found["train_seconds"] == pytest.approx(found["iterations"] * found["step_seconds"])
    assert found["breaks_first"] is None
    assert found["assumed"]["tflops"] is None


def test_a_billion_rows_on_eight_gpus(cli: Callable[..., Any]) -> None:
    sizes = ("--rows", "1000000000", "--features", "30", "--classes", "3", "--cells", "10000")
    outcome = cli("plan", *sizes, "--device", "gpu", "--devices", "8", "--host-memory-gb", "64")
    assert outcome.code == 0
    assert "10,000 cells" in outcome.stdout
    assert "breaks first: host memory; keep the rows in a store on disk" in outcome.stderr
    assert "assumed of a GPU: 19.5 TFLOP/s" in outcome.stderr


def test_constants_of_ones_own(cli: Callable[..., Any], tmp_path: Path) -> None:
    results = Path(__file__).parents[2] / "results" / "bench"
    own = tmp_path / "own.json"
    assert cli("bench", "fit", "--from", results, "--out", own).code == 0
    kept, again = (json.loads(cli("plan", "--json", *words).stdout) for words in ((), ("--constants", own)))
    assert again["step_seconds"] == pytest.approx(kept["step_seconds"], rel=1e-4)


def test_bad_input_is_answered_in_a_sentence(refused: Callable[..., None], tmp_path: Path) -> None:
    refused(
        2, ["cannot be known beforehand", "--rows, --features, --classes"], "plan", "--data", "x.csv", "--target", "y"
    )
    refused(2, ["--devices all", "give a number"], "plan", "--devices", "all")
    refused(2, ["method=svgp", "not selu"], "plan", "--method", "selu")
    refused(2, ["--tflops must be greater than 0"], "plan", "--device", "gpu", "--tflops", "0")
    refused(2, ["holds no constants"], "plan", "--constants", tmp_path / "none.json")
    refused(2, ["runtime.devices must be a whole number from 1 up, or all, not '0'"], "plan", "--devices", "0")


def test_it_needs_no_tensorflow() -> None:
    code = "import sys; from gpcnoise_cli.cli.main import main; main(['plan']); assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_rows_on_disk_by_either_name(cli: Callable[..., Any]) -> None:
    sizes = ("plan", "--rows", "1000000000", "--features", "30", "--classes", "3", "--json")
    one, other = (json.loads(cli(*sizes, how).stdout) for how in ("--store", "dataset.storage=disk"))
    assert one == other
    assert one["store"] is True
