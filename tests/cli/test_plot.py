"""`gpcnoise plot`: pictures of one run and of several."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
KINDS = ("curve", "reliability", "selective", "confusion")


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    from gpcnoise_cli.cli.main import main

    base = tmp_path_factory.mktemp("runs")
    folders = [base / "probit", base / "softmax"]
    for folder in folders:
        options = ["--dataset", "three-class", "--likelihood", folder.name, "-m", "6", "--iterations", "12"]
        assert main(["train", *options, "--out", str(folder), "--json"]) == 0
    return folders


def test_a_run_gives_curve_reliability_selective_accuracy_and_confusion(cli: Cli, two_runs: list[Path]) -> None:
    outcome = cli("plot", two_runs[0])
    assert outcome.code == 0, outcome.stderr
    written = [Path(line) for line in outcome.stdout.split()]
    expected = {f"{name}.{end}" for name in KINDS for end in ("png", "pdf", "csv")}
    assert {path.name for path in written} == expected
    assert all(path.parent == two_runs[0] / "plots" for path in written)
    with (two_runs[0] / "plots" / "selective.csv").open(encoding="utf-8") as stream:
        last = list(csv.DictReader(stream))[-1]
    scores = json.loads((two_runs[0] / "metrics.json").read_text())
    assert (float(last["coverage"]), float(last["accuracy"])) == (100.0, pytest.approx(scores["acc"]))
    with (two_runs[0] / "plots" / "confusion.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    total = sum(int(row[name]) for row in rows for name in ("0", "1", "2"))
    assert total == scores["n_test"]


def test_several_runs_and_cells_are_compared(cli: Cli, two_runs: list[Path], tmp_path: Path) -> None:
    cell = tmp_path / "split-00.json"
    cell.write_text(json.dumps({"dataset": "three-class", "method": "GPC-I", "acc": 90.0, "nll": 0.3}))
    outcome = cli("plot", *two_runs, "--out", tmp_path / "p", "--json")
    assert outcome.code == 0, outcome.stderr
    names = {Path(file).name for file in json.loads(outcome.stdout)["files"]}
    assert {"comparison.png", "curves.pdf", "comparison.csv", "curves.csv"} <= names
    outcome = cli("plot", two_runs[0], cell, "--out", tmp_path / "q", "--json")
    assert outcome.code == 0, outcome.stderr
    names = {Path(file).name for file in json.loads(outcome.stdout)["files"]}
    assert "comparison.png" in names
    assert "curves.png" not in names  # the cell has no curve to draw


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "there is no run folder or cell"), ("{", "neither a run folder nor"), ('{"a": 1}', "holds no acc and nll")],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(
    content: str | None, words: str, cli: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_text(content)
    outcome = cli("plot", path, "--out", tmp_path / "p")
    assert outcome.code == 2
    assert words in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "p").exists()


def test_an_unfinished_run_is_named(cli: Cli, two_runs: list[Path], tmp_path: Path) -> None:
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "config.yaml").write_bytes((two_runs[0] / "config.yaml").read_bytes())
    outcome = cli("plot", unfinished)
    assert outcome.code == 1
    assert "gpcnoise train --resume" in outcome.stderr
