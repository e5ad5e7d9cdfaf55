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


def test_changed_data_are_not_taken_for_the_test_split(cli: Cli, tmp_path: Path) -> None:
    """The same columns and classes, but other rows: some of the test rows would be ones that it was trained on."""
    table, run = tmp_path / "table.csv", tmp_path / "run"
    table.write_text("\n".join(["a,b,kind", *(f"{i % 7},{i % 5},{'no' if i % 7 > 3 else 'yes'}" for i in range(80))]))
    options = ["--data", table, "--target", "kind", "-m", 5, "--iterations", 1]
    assert cli("train", *options, "--json", "--out", run).code == 0
    assert cli("plot", run).code == 0
    table.write_text("\n".join(table.read_text().splitlines()[:-20]))
    outcome = cli("plot", run, "--out", tmp_path / "p")
    assert (outcome.code, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1)
    assert f"{table} has changed since the run was trained on it" in outcome.stderr
    assert not (tmp_path / "p").exists()


def test_an_older_cell_is_named_by_its_method(cli: Cli, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"method": "GPC-I"}, {"label": "Selu", "method": "selu"}]
    for number, record in enumerate(records):
        (tmp_path / f"{number}.json").write_text(json.dumps({"dataset": "letter", **record, "acc": 90.0, "nll": 0.3}))
    assert cli("plot", tmp_path / "0.json", tmp_path / "1.json", "--out", tmp_path / "p").code == 0
    with (tmp_path / "p" / "comparison.csv").open(encoding="utf-8") as stream:
        assert [row["run"] for row in csv.DictReader(stream)] == ["GPC-I", "Selu"]


def test_an_unfinished_run_is_named(cli: Cli, two_runs: list[Path], tmp_path: Path) -> None:
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "config.yaml").write_bytes((two_runs[0] / "config.yaml").read_bytes())
    outcome = cli("plot", unfinished)
    assert outcome.code == 1
    assert "gpcnoise train --resume" in outcome.stderr


@pytest.mark.parametrize(
    "damage", [{"acc": "x"}, {"nll": []}, {"curve": 3}, {"curve": {"step": 1}}, {"curve": {"step": [1, 2], "nll": [1]}}]
)
def test_a_damaged_cell_is_named(cli: Cli, tmp_path: Path, damage: dict[str, Any]) -> None:
    sound = {"acc": 90.0, "nll": 0.3, "dataset": "x", "method": "GPC-I"}
    (tmp_path / "sound.json").write_text(json.dumps(sound))
    (tmp_path / "cell.json").write_text(json.dumps(sound | damage))
    code, stdout, stderr = cli("plot", tmp_path / "sound.json", tmp_path / "cell.json", "--out", tmp_path / "plots")
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert "cell.json is no result cell" in stderr


def test_a_score_that_is_no_number_is_left_out_of_the_picture(cli: Cli, tmp_path: Path) -> None:
    for name, nll in (("a", 0.3), ("b", None)):
        curve = {"step": [1, 2], "acc": [80.0, 90.0], "nll": [None, nll]}
        record = {"acc": 90.0, "nll": nll, "dataset": name, "method": "GPC-I", "curve": curve}
        (tmp_path / f"{name}.json").write_text(json.dumps(record))
    assert cli("plot", tmp_path / "a.json", tmp_path / "b.json", "--out", tmp_path / "plots").code == 0
