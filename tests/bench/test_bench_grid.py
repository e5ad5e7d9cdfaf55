"""`bench grid`: the real command in a folder of its own, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.bench import grid
from gpcnoise_cli.bench.grid import Request, measure_grid
from gpcnoise_cli.bench.tables import grid_table, slowest_cells_table
from gpcnoise_cli.bench.timed import Finished
from gpcnoise_cli.errors import UsageError

Cli = Callable[..., Any]


def cell(likelihood: str, seconds: float) -> dict[str, Any]:
    known = {"dataset": "waveform", "split": 0, "steps": 10, "acc": 80.0, "nll": 0.4, "curve": [1, 2, 3]}
    return {**known, "likelihood": likelihood, "train_seconds": seconds}


def ends_with(code: int, report: dict[str, Any] | None) -> Callable[..., Finished]:
    return lambda command, show_errors: Finished(code, json.dumps(report) if report else "", "", 36.0, 60.0)


def test_the_default_is_the_first_split_of_every_set_with_preset_fast() -> None:
    assert Request().name == "gpcnoise reproduce uci --preset fast --protocol paper --splits 0"
    asked = Request(datasets="waveform,twonorm", workers=1, overrides=("inducing=20",))
    assert asked.name.endswith("--splits 0 --datasets waveform,twonorm --workers 1 inducing=20")


def test_rates_come_from_the_cells_that_were_computed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cells = [cell("step", 3.0), cell("softmax", 9.0), cell("probit", 5.0)]
    report = {"cells": cells, "failed": {"waveform/logit/split-00": "lost"}, "absent": ["miniboone"]}
    monkeypatch.setattr(grid, "run_timed", ends_with(1, report))
    (tmp_path / grid.FILE).write_text('{"another": {}}')
    record = measure_grid(Request(), tmp_path, {"busy": False})
    assert record["cells_per_hour"] == pytest.approx(300)
    assert record["processor_seconds_per_cell"] == pytest.approx(20)
    assert record["train_seconds"] == 17.0
    assert "curve" not in record["cells"][0]
    assert json.loads((tmp_path / grid.FILE).read_text()) == {"another": {}, Request().name: record}
    (row,) = grid_table([record]).rows
    assert [value.text for value in row.values] == [Request().name, "3", "1", "0.6", "300", "20.0", "5.7"]
    assert [row.values[1].text for row in slowest_cells_table(record, most=2).rows] == ["softmax", "probit"]


def test_an_interrupted_grid_is_not_kept(monkeypatch: pytest.MonkeyPatch, cli: Cli, tmp_path: Path) -> None:
    monkeypatch.setattr(grid, "run_timed", ends_with(130, {"cells": [cell("step", 1.0)], "failed": {}, "absent": []}))
    outcome = cli("bench", "grid", "--out", tmp_path / "out")
    assert (outcome.code, outcome.stdout) == (130, "")
    assert not (tmp_path / "out").exists()


def test_failed_cells_are_counted_and_fail_the_command(
    monkeypatch: pytest.MonkeyPatch, cli: Cli, tmp_path: Path
) -> None:
    report = {"cells": [cell("step", 1.0)], "failed": {"a": "lost"}, "absent": []}
    monkeypatch.setattr(grid, "run_timed", ends_with(1, report))
    outcome = cli("bench", "grid", "--out", tmp_path, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.stdout)["grid"]["failed"] == {"a": "lost"}
    monkeypatch.setattr(grid, "run_timed", ends_with(1, {**report, "cells": []}))
    assert "all 1 cells" in cli("bench", "grid", "--out", tmp_path).stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_real_grid(cli: Cli, tmp_path: Path) -> None:
    tiny = ("--datasets", "waveform", "--likelihoods", "softmax", "--iterations", 4, "inducing=8")
    outcome = cli("bench", "grid", *tiny, "--protocol", "clean", "--out", tmp_path, "--json")
    assert outcome.code == 0, outcome.stderr
    record = json.loads(outcome.stdout)["grid"]
    (only,) = record["cells"]
    assert (only["dataset"], only["likelihood"], only["steps"]) == ("waveform", "softmax", 4)
    assert record["seconds"] > only["train_seconds"]
    assert record["processor_seconds"] > 0.5 * record["train_seconds"]


def test_a_grid_that_is_refused_keeps_its_exit_code(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("bench", "grid", "--datasets", "waves", "--out", tmp_path / "out")
    assert (outcome.code, outcome.stdout) == (2, "")
    assert "ended with exit code 2; its own message stands above" in outcome.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_folder_with_cells_would_not_be_timed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--keep .*cells that are there already would not be timed"):
        measure_grid(Request(), tmp_path / "bench", {}, keep=tmp_path)
