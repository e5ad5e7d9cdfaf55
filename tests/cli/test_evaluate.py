"""`gpcnoise evaluate`: the numbers of training come out again, and new labelled rows are scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

Cli = Callable[..., Any]
Trained = Callable[..., Any]
METRICS = ("acc", "nll", "brier", "ece", "ece_equal_mass", "auroc", "acc_at_80", "acc_at_90", "acc_at_95")


@pytest.mark.parametrize(
    "options",
    [
        ("--likelihood", "softmax"),
        pytest.param(
            ("--likelihood", "probit", "--kernel", "matern32", "--ard", "--delta", "free", "--precision", "float64"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("--likelihood", "logit", "kernel.shared=false", "--precision", "float32", "optimizer=adam"),
            marks=pytest.mark.slow,
        ),
        ("--protocol", "paper", "--split", "3"),
    ],
    ids=["mixed", "float64", "float32", "paper"],
)
def test_the_run_s_own_numbers_come_out_again(cli: Cli, trained: Trained, tables: Any, options: tuple[str]) -> None:
    run = trained(tables.three, *options)
    outcome = cli("evaluate", run.path, "--json")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.count("\n") == 1
    found = json.loads(outcome.stdout)
    assert found["per_class"] == run.result["per_class"]
    assert set(METRICS) <= found.keys()
    # Predictions are in float64, those of training in its own precision; where rows nearly tie, bins and ranks jump.
    for name in METRICS if run.result["precision"] == "float64" else ("acc", "nll", "brier"):
        assert found[name] == pytest.approx(run.result[name], abs=1e-5)
    same = ("dataset", "protocol", "split", "likelihood", "method", "bound", "kernel", "precision", "classes")
    assert {name: found[name] for name in same} == {name: run.result[name] for name in same}
    assert (found["n"], found["rows"]) == (16, "test split")


def test_a_labelled_file_is_scored(cli: Cli, trained: Trained, tables: Any, tmp_path: Path) -> None:
    run = trained(tables.three, "--likelihood", "softmax")
    rows = pd.read_csv(tables.three).iloc[:50]
    rows[["kind", "old", "height", "colour", "weight"]].to_csv(tmp_path / "new.tsv", sep="\t", index=False)
    found = json.loads(cli("evaluate", run.path, "--data", tmp_path / "new.tsv", "--json").stdout)
    assert (found["n"], found["rows"], found["data"]) == (50, "all", str(tmp_path / "new.tsv"))
    predicted = cli("predict", run.path, "--data", tmp_path / "new.tsv").stdout.splitlines()[1:]
    right = sum(line.replace('"', "").startswith(kind) for line, kind in zip(predicted, rows["kind"], strict=True))
    assert found["acc"] == pytest.approx(100 * right / 50)


def test_the_table_for_people(cli: Cli, trained: Trained, tables: Any) -> None:
    run = trained(tables.three, "--likelihood", "softmax")
    title, columns, numbers, heading, *classes = cli("evaluate", run.path).stdout.splitlines()
    assert title == (
        f"GPCsm (softmax, tilted bound) on the test rows of {tables.three} (protocol clean, split 0): "
        "16 rows, 3 classes"
    )
    assert " ".join(columns.split()) == "acc % nll Brier ECE ECE (equal mass) AUROC acc@80 % acc@90 % acc@95 %"
    assert heading.split() == ["class", "rows", "precision", "recall"]
    assert [line.partition("  ")[0] for line in classes] == ["bad", "so, so", "very good"]
    assert sum(int(line.split()[-3]) for line in classes) == 16
    assert numbers.split()[0] == f"{run.result['acc']:.2f}"


@pytest.mark.slow  # `predict` does it quickly
def test_whole_number_and_true_false_classes(cli: Cli, trained: Trained, tables: Any) -> None:
    for table in (tables.whole, tables.flags):
        run = trained(table)
        found = json.loads(cli("evaluate", run.path, "--data", table, "--json").stdout)
        assert found["n"] == 160


def test_a_file_without_the_classes(
    refused: Callable[..., None], trained: Trained, tables: Any, tmp_path: Path
) -> None:
    run = trained(tables.three, "--likelihood", "softmax")
    pd.read_csv(tables.three).drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    refused(1, ["new.csv", "target column 'kind'"], "evaluate", run.path, "--data", tmp_path / "new.csv")


def test_an_unknown_class_is_named(refused: Callable[..., None], trained: Trained, tables: Any, tmp_path: Path) -> None:
    run = trained(tables.three, "--likelihood", "softmax")
    rows = pd.read_csv(tables.three)
    rows.loc[3, "kind"] = "superb"
    rows.to_csv(tmp_path / "new.csv", index=False)
    words = ["new.csv", "unknown class 'superb'", "row 4", "'very good'"]
    refused(1, words, "evaluate", run.path, "--data", tmp_path / "new.csv")


def test_changed_data_are_not_taken_for_the_test_split(
    cli: Cli, refused: Callable[..., None], tables: Any, tmp_path: Path
) -> None:
    table, run = tmp_path / "table.csv", tmp_path / "run"
    table.write_bytes(tables.two.read_bytes())
    command = ["train", "--data", table, "--target", "kind", "-m", 5, "--iterations", 1, "--json", "--out", run]
    assert cli(*command).code == 0
    lines = table.read_text().splitlines()
    table.write_text("\n".join(lines[:-20]) + "\n")
    refused(1, [str(table), "has changed", "--data FILE"], "evaluate", run)
    table.unlink()
    refused(2, [f"there is no file '{table}'"], "evaluate", run)
