"""`gpcnoise sweep`: a grid in Hydra's syntax, results as CSV or JSON, nothing computed twice; and the shell scripts."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "scripts").glob("*.sh"))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_a_sweep_is_computed_once_and_comes_as_csv_and_json(cli: Cli) -> None:
    asked = ["sweep", "--dataset", "twonorm", "-m", "8", "--iterations", "20", "likelihood=probit,logit"]
    code, stdout, stderr = cli(*asked, "--format", "csv")
    assert code == 0, stderr
    rows = list(csv.DictReader(stdout.splitlines()))
    assert [row["likelihood"] for row in rows] == ["probit", "logit"]
    assert all(0 < float(row["nll"]) < 1 for row in rows)

    again = cli(*asked, "--json")
    assert "2 of 2 cells are done already, 0 are to do." in again.stderr
    found = json.loads(again.stdout)
    assert found["swept"] == ["likelihood"]
    assert [cell["nll"] for cell in found["cells"]] == [float(row["nll"]) for row in rows]
    assert len(list(Path("runs/sweep").glob("likelihood=*.json"))) == 2
    assert cli(*asked).stdout.splitlines()[0].split()[:3] == ["likelihood", "acc", "nll"]


def test_dry_run_computes_nothing(cli: Cli) -> None:
    code, stdout, stderr = cli("sweep", "inducing=range(5,20,5)", "split=0,1", "--dry-run", "--shard", "1/2")
    assert code == 0
    assert len(stdout.splitlines()) == 1 + 3
    assert "about" in stderr
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inducing=interval(0,1)"], "interval"),
        (["likelihood=step,sofmax"], "did you mean 'softmax'"),
        (["--out", "here"], "--results DIR"),
        (["--format", "xml"], "unknown format 'xml'"),
        (["inducing=0,5"], "inducing must be at least 1"),
        (["split=0,1", "--shard", "x"], "--shard 'x' cannot be read"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_two(cli: Cli, arguments: list[str], words: str) -> None:
    code, stdout, stderr = cli("sweep", *arguments)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert words in stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_executable_explained_and_parsed_by_bash(script: Path) -> None:
    assert os.access(script, os.X_OK)
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert lines[1].startswith("# ")
    subprocess.run(["bash", "-n", script], check=True)


@pytest.mark.slow
def test_the_loop_over_likelihoods_gives_one_json_object_per_line(tmp_path: Path) -> None:
    (script,) = [path for path in SCRIPTS if path.name == "likelihoods.sh"]
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gpcnoise").write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from gpcnoise_cli.cli.main import run; run()' \"$@\"\n"
    )
    (folder / "gpcnoise").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "DATASET": "twonorm"}
    tiny = ["--iterations", "10", "-m", "5"]
    done = subprocess.run(
        [script, *tiny], env={**environment, "LIKELIHOODS": "probit nonsense"}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "unknown likelihood 'nonsense'" in done.stderr
    (line,) = Path("runs.jsonl").read_text().splitlines()
    assert json.loads(line)["likelihood"] == "probit"
    best = subprocess.run([script.with_name("best.sh"), "runs.jsonl"], capture_output=True, text=True, check=True)
    assert "twonorm GPC-II split 0" in best.stdout


@pytest.mark.parametrize(
    "swept",
    [
        "inducing=range(1,1000000000)",
        "inducing=range(0,1,1e-9)",
        "inducing=shuffle(range(1,10000000))",
        "split=range(0,inf)",
    ],
)
def test_a_huge_range_is_refused_before_it_is_expanded(cli: Cli, swept: str) -> None:
    code, stdout, stderr = cli("sweep", swept, "split=range(0,9000)", "--dry-run")
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert "defect" not in stderr


@pytest.mark.parametrize("more", [["--dry-run"], []])
def test_a_table_that_is_not_there_is_an_error_of_the_sweep_not_of_its_cells(cli: Cli, more: list[str]) -> None:
    code, stdout, stderr = cli("sweep", "--data", "absent.csv", "--target", "kind", "split=0,1", *more)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert "there is no file" in stderr
    assert not Path("runs").exists()


def test_a_table_without_the_target_is_told_before_any_cell(cli: Cli) -> None:
    Path("t.csv").write_text("x,kind\n" + "1.5,a\n2.5,b\n" * 20)
    code, _, stderr = cli("sweep", "--data", "t.csv", "--target", "kinds", "split=0,1")
    assert (code, stderr.count("\n")) == (2, 1)
    assert "did you mean 'kind'" in stderr
    assert not Path("runs").exists()
