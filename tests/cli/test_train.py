"""`gpcnoise train` as a user meets it: every likelihood and option in miniature, its output and its folder."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

Cli = Callable[..., Any]
Trained = Callable[..., Any]

# What the JSON of `train` holds at least.
# fmt: off
FIELDS = [
    "preset", "dataset", "protocol", "likelihood", "method", "objective", "bound", "kernel", "ard", "inducing",
    "batch_size", "delta_mode", "delta", "iterations", "learning_rate", "optimizer", "precision", "device", "split",
    "seed", "n_train", "n_test", "d", "classes", "acc", "nll", "brier", "ece", "elbo", "objective_value",
    "train_seconds", "seconds_per_step", "run_dir", "versions", "ece_equal_mass", "auroc", "acc_at_80",
    "acc_at_90", "acc_at_95", "per_class", "class_names",
]
# fmt: on
LABELS = {"step": "GPC-I", "probit": "GPC-II", "logit": "GPC-III", "softmax": "GPCsm"}
QUICK = {("softmax", "three"), ("step", "three")}
METRICS = ("acc", "nll", "brier", "ece", "elbo")
# Every training is traced for a second or two, so each of these tries several options at once.
ONE_KERNEL_PER_CLASS = (
    *("--likelihood", "logit", "--kernel", "matern52", "--no-ard", "--kernel-per-class", "--delta", "fixed"),
    *("--precision", "float32", "optimizer=adam"),
)
PAPER_IN_FLOAT32 = (
    *("--preset", "paper", "--iterations", "8", "--likelihood", "probit", "--shared-kernel", "--precision", "float32"),
    "delta.prior=beta",
)
FILES = ["columns.json", "config.yaml", "curve.csv", "log.txt", "metrics.json", "model.json", "model.npz"]


def parameters(run_dir: Path) -> dict[str, np.ndarray]:
    with np.load(run_dir / "model.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.mark.parametrize(
    ("likelihood", "table", "classes", "d"),
    [
        pytest.param(name, *table, marks=() if (name, table[0]) in QUICK else pytest.mark.slow)
        for name in LABELS
        for table in (("two", 2, 2), ("three", 3, 5))
    ],
)
def test_every_likelihood_trains(
    trained: Trained, tables: Any, likelihood: str, table: str, classes: int, d: int
) -> None:
    result = trained(getattr(tables, table), "--likelihood", likelihood).result
    assert set(FIELDS) <= result.keys()
    assert all(math.isfinite(result[name]) for name in METRICS)
    assert 0 <= result["acc"] <= 100
    assert 0 <= result["nll"] < 1.2 * math.log(classes)
    expected = {
        "method": "svgp",
        "label": LABELS[likelihood],
        "bound": "tilted" if likelihood == "softmax" else "gaussian",
        "delta_mode": None if likelihood == "softmax" else "optimal",
        "classes": classes,
        "d": d,
        "n_train": 144,
        "n_test": 16,
        "steps": 8,
        "preset": "fast",
        "precision": "mixed",
        "kernel": "rbf",
    }
    assert {name: result[name] for name in expected} == expected
    assert (result["delta"] is None) == (likelihood == "softmax")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--likelihood", "probit", "--kernel", "matern32", "--ard", "--delta", "free", "--precision", "float64"],
            {"kernel": "matern32", "ard": True, "delta_mode": "free", "precision": "float64"},
        ),
        (
            ["--kernel", "matern52+rbf", "--ard", "likelihood.bound=gumbel"],
            {"kernel": "matern52+rbf", "ard": True, "bound": "gumbel", "optimizer": "natgrad"},
        ),
        (
            [*ONE_KERNEL_PER_CLASS],
            {
                "kernel": "matern52",
                "shared_kernel": False,
                "delta_mode": "fixed",
                "delta": pytest.approx(1e-3),
                "precision": "float32",
                "optimizer": "adam",
            },
        ),
        (
            [*PAPER_IN_FLOAT32],
            {
                "preset": "paper",
                "delta_mode": "free",
                "learning_rate": 0.01,
                "optimizer": "adam",
                "precision": "float32",
            },
        ),
        (["--protocol", "paper", "--split", "3", "--seed", "7"], {"protocol": "paper", "split": 3, "seed": 7}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_reach_the_model(trained: Trained, tables: Any, options: list[str], expected: dict[str, Any]) -> None:
    result = trained(tables.three, *options).result
    assert all(math.isfinite(result[name]) for name in METRICS)
    assert {name: result[name] for name in expected} == expected


def test_one_lengthscale_per_feature_and_one_kernel_per_class(trained: Trained, tables: Any) -> None:
    both = trained(tables.three, "--kernel", "matern52+rbf", "--ard", "likelihood.bound=gumbel")
    each = trained(tables.three, *ONE_KERNEL_PER_CLASS)
    one = trained(tables.three, *PAPER_IN_FLOAT32)
    for run, shapes in ((both, [(3, 5)] * 2), (each, [(3,)]), (one, [(5,)])):
        found = [value.shape for name, value in parameters(run.path).items() if name.endswith("lengthscales")]
        assert found == shapes


def test_the_run_folder_holds_what_the_run_was(trained: Trained, tables: Any) -> None:
    run = trained(tables.three, "--likelihood", "softmax", "runtime.eval_every=1")
    assert sorted(path.name for path in run.path.iterdir()) == FILES
    assert json.loads((run.path / "metrics.json").read_text()) == run.result
    assert run.result["run_dir"] == str(run.path)
    curve = (run.path / "curve.csv").read_text().splitlines()
    assert curve[0] == "step,seconds,elbo,acc,nll,delta"
    assert [line.split(",")[0] for line in curve[1:]] == [str(step) for step in range(1, 9)]
    assert float(curve[-1].split(",")[4]) == run.result["nll"]
    description = json.loads((run.path / "model.json").read_text())
    assert description["class_names"] == ["bad", "so, so", "very good"]
    assert description["versions"].keys() >= {"gpcnoise", "python", "tensorflow", "gpflow", "numpy"}
    assert "training from step 0 to 8" in (run.path / "log.txt").read_text()


def test_same_seed_same_result(trained: Trained, tables: Any) -> None:
    first = trained(tables.three, "--likelihood", "softmax")
    second = trained(tables.three, "--likelihood", "softmax", "--seed", "0")
    assert first.path != second.path
    assert [first.result[name] for name in METRICS] == [second.result[name] for name in METRICS]
    for name, value in parameters(first.path).items():
        np.testing.assert_array_equal(value, parameters(second.path)[name], strict=True)


def test_another_seed_another_result(trained: Trained, tables: Any) -> None:
    first = trained(tables.three, "--likelihood", "softmax")
    second = trained(tables.three, "--likelihood", "softmax", "--seed", "7")
    assert first.result["nll"] != second.result["nll"]


def test_json_is_all_that_is_on_stdout(cli: Cli, tables: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()  # a folder that is there but empty may be used
    outcome = cli("train", "--data", tables.two, "--target", "kind", "-m", 5, "--iterations", 1, "--json", "--out", out)
    assert outcome.code == 0
    assert outcome.stdout.count("\n") == 1
    assert json.loads(outcome.stdout)["steps"] == 1
    assert "training: steps 0 to 1" in outcome.stderr


def test_a_run_takes_the_next_free_folder(
    cli: Cli, tables: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs/file-softmax-rbf-split0-001").mkdir(parents=True)
    outcome = cli("train", "--data", tables.two, "--target", "kind", "-m", 5, "--iterations", 1)
    assert outcome.code == 0
    assert list(Path("runs/file-softmax-rbf-split0-001").iterdir()) == []
    assert sorted(path.name for path in Path("runs/file-softmax-rbf-split0-002").iterdir()) == FILES
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("GPCsm (softmax, tilted bound) on file")
    assert " ".join(lines[1].split()) == "acc % nll Brier ECE AUROC acc@90 % ELBO δ steps seconds"
    assert len(lines) == 3
    assert "saved in runs/file-softmax-rbf-split0-002" in outcome.stderr


@pytest.mark.parametrize("likelihood", [pytest.param("probit", marks=pytest.mark.slow), "softmax"])
def test_the_value_of_the_predictive_objective_is_not_called_a_bound(
    cli: Cli, trained: Trained, tables: Any, likelihood: str
) -> None:
    run = trained(tables.three, "--likelihood", likelihood, "--objective", "predictive")
    assert (run.result["objective"], run.result["bound"], run.result["elbo"]) == ("predictive", None, None)
    assert math.isfinite(run.result["objective_value"])
    assert "predictive objective -" in (run.path / "log.txt").read_text()
    again = cli("train", "--resume", run.path)
    assert f"({likelihood}, predictive objective) on file" in again.stdout
    assert (
        " ".join(again.stdout.splitlines()[1].split()) == "acc % nll Brier ECE AUROC acc@90 % objective δ steps seconds"
    )
    scored = cli("evaluate", run.path)
    assert f"({likelihood}, predictive objective) on" in scored.stdout
    assert trained(tables.three, "--likelihood", likelihood).result["objective"] == "elbo"


def test_a_run_folder_is_not_overwritten(cli: Cli, refused: Callable[..., None], trained: Trained, tables: Any) -> None:
    run = trained(tables.two, "--likelihood", "softmax")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.path.iterdir()}
    changed = run.path.stat().st_mtime_ns
    command = ["train", "--data", tables.two, "--target", "kind", "-m", 5, "--out", run.path]
    refused(2, [str(run.path), "is not empty", "--resume"], *command)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.path.iterdir()} == before
    assert run.path.stat().st_mtime_ns == changed


def test_what_cannot_be_trained_leaves_no_folder(refused: Callable[..., None], tables: Any, tmp_path: Path) -> None:
    command = ["train", "--data", tables.three, "--target", "kind", "-m", 5000, "--out", tmp_path / "run"]
    refused(2, ["5000 inducing points"], *command)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--learning-rate", "1e300"),
        ("--learning-rate", "1e6", "--likelihood", "probit", "--precision", "float64", "kernel.lengthscale=1"),
    ],
)
def test_diverging_training_says_at_which_step(cli: Cli, tables: Any, tmp_path: Path, options: tuple[str, ...]) -> None:
    out = tmp_path / "run"
    outcome = cli("train", "--data", tables.three, "--target", "kind", "-m", 12, "--iterations", 60, "--out", out,
                  "--json", "optimizer=adam", *options)  # fmt: skip
    assert (outcome.code, outcome.stdout) == (1, "")
    last = outcome.stderr.splitlines()[-1]
    assert last.startswith("gpcnoise: error: ")
    assert re.search(r"at step \d+", last)
    assert "--learning-rate" in last
    assert not {"metrics.json", "model.json", "model.npz"} & {path.name for path in out.iterdir()}


def test_a_model_that_learned_nothing_is_pointed_out(cli: Cli, tables: Any, tmp_path: Path) -> None:
    outcome = cli("train", "--data", tables.three, "--target", "kind", "-m", 5, "--iterations", 4, "--json",
                  "--learning-rate", "1e-12", "--out", tmp_path / "run", "optimizer.natural_step=1e-12")  # fmt: skip
    assert outcome.code == 0
    result = json.loads(outcome.stdout)
    assert result["acc"] <= result["majority_acc"]
    assert "no better than always naming the largest class" in outcome.stderr


@pytest.mark.slow
def test_a_rate_that_leads_nowhere_is_named(cli: Cli, tables: Any, tmp_path: Path) -> None:
    outcome = cli("train", "--data", tables.three, "--target", "kind", "-m", 5, "--iterations", 4,
                  "--learning-rate", "1e300", "--out", tmp_path / "run")  # fmt: skip
    assert outcome.code == 1
    assert "smaller --learning-rate" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_nearly_singular_kernel_matrix_is_met_by_more_jitter(cli: Cli, tables: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    outcome = cli("train", "--data", tables.three, "--target", "kind", "-m", 12, "--iterations", 4, "--out", out,
                  "--json", "--precision", "float64", "kernel.lengthscale=1e4", "runtime.jitter=1e-16")  # fmt: skip
    assert outcome.code == 0
    result = json.loads(outcome.stdout)
    assert math.isfinite(result["nll"])
    assert result["jitter"] > 1e-16
    assert "nearly singular" in outcome.stderr
    assert "jitter raised to" in (out / "log.txt").read_text()


def test_unasked_inducing_points_are_limited_to_the_training_rows(cli: Cli, tables: Any, tmp_path: Path) -> None:
    """The default of 300 is more than this table has rows; only a number that was asked for is refused."""
    command = [
        "train",
        "--data",
        tables.two,
        "--target",
        "kind",
        "--iterations",
        1,
        "--json",
        "--out",
        tmp_path / "run",
    ]
    outcome = cli(*command)
    result = json.loads(outcome.stdout)
    assert outcome.code == 0
    assert result["inducing"] == result["n_train"] < 300


def test_a_result_from_before_a_score_was_added_is_still_shown(
    cli: Cli, trained: Trained, tables: Any, tmp_path: Path
) -> None:
    run = trained(tables.three, "--likelihood", "softmax")
    later = ("ece_equal_mass", "auroc", "acc_at_80", "acc_at_90", "acc_at_95", "per_class", "class_names")
    old = tmp_path / "old"
    shutil.copytree(run.path, old)
    kept = {key: value for key, value in run.result.items() if key not in later}
    (old / "metrics.json").write_text(json.dumps(kept))
    outcome = cli("train", "--resume", old)
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout.splitlines()[2].split()[4:6] == ["–", "–"]
    assert cli("evaluate", old).code == 0
    assert cli("plot", old, run.path, "--out", tmp_path / "plots").code == 0


def test_a_table_as_it_is(cli: Cli, tmp_path: Path) -> None:
    """Sorted by class, with row numbers, gaps, prices, dates and something to keep: one command, nothing prepared."""
    rng = np.random.default_rng(0)
    n = 120
    x = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "rownames": range(1, n + 1),
            "x": np.where(rng.random(n) < 0.2, np.nan, x),
            "price": [f"${1000 + 500 * abs(value):,.2f}" for value in x],
            "when": np.where(rng.random(n) < 0.1, "", [f"{1 + i % 28:02}.{1 + i % 12:02}.2021" for i in range(n)]),
            "code": [f"c{i}" for i in range(n)],
            "kind": np.where(np.arange(n) < 60, "01", " 1"),
        }
    )
    table.to_csv(tmp_path / "t.txt", index=False, sep="|", encoding="latin-1")
    command = ["train", "--data", tmp_path / "t.txt", "--target", "kind", "-m", 8, "--iterations", 25, "--json"]
    outcome = cli(*command, "--keep", "code", "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.stderr
    assert "column 'rownames' is left out" in outcome.stderr
    assert "tells the class" not in outcome.stderr
    honest = json.loads(outcome.stdout)
    assert honest["class_names"] == [" 1", "01"]
    columns = json.loads((tmp_path / "run/columns.json").read_text())["columns"]
    kinds = {column["column"]: column["kind"] for column in columns}
    assert kinds == {"rownames": "identifier", "x": "number", "price": "number", "when": "date", "code": "kept"}
    predicted = cli("predict", tmp_path / "run", "--data", tmp_path / "t.txt").stdout.splitlines()
    assert predicted[0] == "code,class,p( 1),p(01)"
    assert {line.split(",")[1] for line in predicted[1:]} <= {"01", " 1"}

    outcome = cli(*command, "--treat", "rownames=number", "--out", tmp_path / "leak")
    assert "warning: column 'rownames' looks like a row number and tells the class" in outcome.stderr
    assert json.loads(outcome.stdout)["acc"] > max(honest["acc"], 90.0)
