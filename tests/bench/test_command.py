"""`bench command`: fresh processes on one split, scored alike, kept, and told apart by their settings."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcnoise_cli.bench import command
from gpcnoise_cli.bench.command import STEPS, Request, measure_command
from gpcnoise_cli.bench.gpytorch_client import PYTHON_VARIABLE, Installation
from gpcnoise_cli.bench.plain import with_gpflow, with_sklearn
from gpcnoise_cli.bench.tables import command_table
from gpcnoise_cli.bench.timed import Finished
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.tables.table import Table

Cli = Callable[..., Any]
IDLE = {"busy": False, "commit": "abc", "versions": {"gpcnoise": "0"}}
GPYTORCH_HERE = os.environ.get(PYTHON_VARIABLE)  # before any test takes it away


class Spy:
    """Stands in for the processes: writes down what was run, and predicts every class alike."""

    def __init__(self, code: int = 0) -> None:
        self.commands: list[Sequence[str]] = []
        self.environments: list[Any] = []
        self.code = code

    def __call__(self, run: Sequence[str], *, environment: Any = None) -> Finished:
        self.commands.append(run)
        self.environments.append(environment)
        if "train" in run:
            result = {"acc": 90.0, "nll": 0.3, "steps": 60, "train_seconds": 1.0}
            return Finished(self.code, json.dumps(result), "", 4.0, 6.0)
        with np.load(run[2]) as split:
            rows, classes = len(split["X_test"]), int(split["classes"])
        np.savez(run[3], probabilities=np.full((rows, classes), 1 / classes))
        return Finished(self.code, "", "a notice\nno such luck.\n", 2.0, 3.0)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    made = Spy()
    monkeypatch.setattr(command, "run_timed", made)
    return made


def measured(request: Request, folder: Path, **more: Any) -> dict[str, dict[str, Any]]:
    return measure_command(request, folder, more.pop("machine", IDLE), more.pop("gpytorch", None), print, **more)


def test_every_system_is_a_process_of_its_own_on_the_same_split(spy: Spy, tmp_path: Path) -> None:
    gpytorch = Installation("another-python", {"gpytorch": "1.15.2"})
    found = measured(Request(["three-class"], steps=7), tmp_path, gpytorch=gpytorch)["three-class"]
    assert list(found) == list(command.SYSTEMS)
    ours, gpflow, torch, boosting, logistic = spy.commands
    assert ours[-3:] == ["dataset=three-class", "protocol=clean", "split=0"]
    assert [Path(run[1]).name for run in (gpflow, torch)] == ["with_gpflow.py", "with_gpytorch.py"]
    assert [run[-1] for run in (gpflow, torch, boosting, logistic)] == ["7", "7", "boosting", "logistic"]
    assert [run[0] == "another-python" for run in spy.commands] == [False, False, True, False, False]
    assert found["gpflow"]["runs"] == [
        {"seconds": 2.0, "processor_seconds": 3.0, "acc": 45.0, "nll": pytest.approx(np.log(3)), "steps": 7}
    ]
    assert found["gpcnoise"]["runs"][0]["nll"] == 0.3
    assert json.loads((tmp_path / command.FILE).read_text())["three-class"] == found


def test_only_what_is_missing_or_differs_is_measured(spy: Spy, tmp_path: Path) -> None:
    def ran(request: Request, **more: Any) -> list[str]:
        spy.commands.clear()
        measured(request, tmp_path, **more)
        return ["ours" if "train" in run else run[-1] for run in spy.commands]

    systems = ("gpcnoise", "gpflow", "logistic")
    assert ran(Request(["three-class"], systems, 1, 5)) == ["ours", "5", "logistic"]
    assert ran(Request(["three-class"], systems, 1, 5)) == []
    assert ran(Request(["three-class"], systems, 3, 5)) == ["ours", "5", "logistic"] * 2, "round by round"
    assert ran(Request(["three-class"], systems, 1, 6)) == ["6"]
    assert ran(Request(["three-class"], systems, 1, 6, ("inducing=20",))) == ["ours"]
    assert ran(Request(["three-class"], ("logistic",)), fresh=True) == ["logistic"]


def test_threads_sleep_where_the_machine_is_busy(spy: Spy, tmp_path: Path) -> None:
    measured(Request(["three-class"], ("logistic",)), tmp_path / "idle")
    measured(Request(["three-class"], ("logistic",)), tmp_path / "busy", machine={**IDLE, "busy": True})
    assert spy.environments == [{}, {"OMP_WAIT_POLICY": "PASSIVE"}]


def texts(table: Table) -> list[list[str]]:
    return [[value.text for value in row.values] for row in table.rows]


def test_without_gpytorch_its_row_says_so(spy: Spy, tmp_path: Path) -> None:
    records = measured(Request(["three-class"], ("gpcnoise", "gpytorch")), tmp_path)
    assert len(spy.commands) == 1
    assert "gpytorch" not in json.loads((tmp_path / command.FILE).read_text())["three-class"]
    _, row = texts(command_table(records))
    assert row == ["three-class", "script, GPyTorch SVGP", "not installed", *["–"] * 7]


def test_the_table_has_medians_and_ratios() -> None:
    def record(seconds: list[float]) -> dict[str, Any]:
        runs = [{"seconds": s, "processor_seconds": 2 * s, "acc": 90.0, "nll": 0.25, "steps": 40} for s in seconds]
        return {"settings": {"package": "GPflow 2"}, "machine": IDLE, "runs": runs}

    ours, other = texts(
        command_table({"letter": {"gpcnoise": record([1.0, 9.0, 2.0]), "gpflow": record([30.0])}}),
    )
    assert ours[3:] == ["2.0", "1.0", "4.0", "90.00", "0.2500", "40", "3"]
    assert other[2:5] == ["GPflow 2", "30.0", "15.0"]


@pytest.mark.parametrize(
    "binary", [pytest.param(False, id="three classes", marks=pytest.mark.slow), pytest.param(True, id="two classes")]
)
@pytest.mark.parametrize("library", [pytest.param("gpflow", marks=pytest.mark.slow), "logistic", "boosting"])
def test_the_scripts_learn_and_save(library: str, binary: bool, tmp_path: Path) -> None:
    classes = 2 if binary else 3
    random = np.random.default_rng(0)
    y, y_test = random.integers(0, classes, 120), random.integers(0, classes, 60)
    X, X_test = (random.normal(size=(len(labels), 3)) + 2 * np.eye(3)[labels] for labels in (y, y_test))
    arrays, predictions = tmp_path / "split.npz", tmp_path / "predictions.npz"
    np.savez(arrays, X_train=X, y_train=y, X_test=X_test, classes=classes)
    if library == "gpflow":
        with_gpflow.main(arrays, predictions, 30)
    else:
        with_sklearn.main(arrays, predictions, library)
    with np.load(predictions) as stored:
        p = stored["probabilities"]
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
    assert evaluate(p, y_test).nll < 0.95 * np.log(classes)
    assert [path for path in tmp_path.iterdir() if path.name.startswith("predictions.model")]


@pytest.mark.skipif(GPYTORCH_HERE is None, reason=f"{PYTHON_VARIABLE} names no interpreter with GPyTorch")
@pytest.mark.parametrize("dataset", ["three-class", "ringnorm"])
def test_the_script_with_gpytorch_learns(dataset: str, tmp_path: Path) -> None:
    gpytorch = Installation(str(GPYTORCH_HERE), {"gpytorch": "?"})
    request = Request([dataset], ("gpytorch",), steps=30)
    busy = {**IDLE, "busy": True}  # tests run side by side
    (run,) = measured(request, tmp_path, gpytorch=gpytorch, machine=busy)[dataset]["gpytorch"]["runs"]
    assert run["nll"] < 0.95 * np.log({"three-class": 3, "ringnorm": 2}[dataset])


@pytest.mark.slow
def test_whole_commands_from_the_shell(cli: Cli, tmp_path: Path) -> None:
    arguments = ("bench", "command", "--datasets", "three-class", "--systems", "gpcnoise,logistic", "--out", tmp_path)
    tiny = ("inducing=8", "iterations=4", "likelihood.prediction_draws=8")
    outcome = cli(*arguments, *tiny)
    assert outcome.code == 0, outcome.stderr
    title, _, _, ours, logistic = outcome.stdout.splitlines()
    assert title.startswith("From the shell command to the saved model")
    assert ours.split()[:3] == ["three-class", "gpcnoise", "train"]
    assert ours.split()[-2:] == ["4", "1"]
    assert "LogisticRegression" in logistic
    kept = cli(*arguments, "--kept", "--json")
    assert json.loads(kept.stdout)["command"] == json.loads((tmp_path / "command.json").read_text())


def test_a_run_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch, cli: Cli, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "run_timed", Spy(code=1))
    outcome = cli("bench", "command", "--datasets", "three-class", "--systems", "logistic", "--out", tmp_path)
    assert outcome.code == 1
    assert "the run of logistic on three-class failed: no such luck;" in outcome.stderr.splitlines()[-1]


def test_an_old_gpytorch_is_told(monkeypatch: pytest.MonkeyPatch, spy: Spy, cli: Cli, tmp_path: Path) -> None:
    for number, older in [("1.14.3", True), ("1.15", False), ("2.0.1+cpu", False)]:
        installation = Installation(sys.executable, {"gpytorch": number})
        monkeypatch.setattr("gpcnoise_cli.bench.gpytorch_client.find_gpytorch", lambda found=installation: found)
        outcome = cli("bench", "command", "--datasets", "three-class", "--systems", "gpytorch", "--out", tmp_path)
        assert outcome.code == 0
        assert (f"GPyTorch {number} is older than 1.15" in outcome.stderr) is older
        assert f"GPyTorch {number}" in outcome.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--systems", "gpflow2"), "did you mean 'gpflow'"),
        (("--systems", ","), "nothing is left to measure"),
        (("--datasets", "letters", "--systems", "logistic"), "did you mean 'letter'"),
        (("--repeats", "0"), "--repeats must be at least 1, not 0"),
        (("--stock-steps", "0"), "--stock-steps must be at least 1, not 0"),
        (("--kept",), "nothing is kept in"),
        (("--kept", "--fresh"), "choose one of them"),
    ],
)
def test_wrong_usage_is_one_sentence(options: tuple[str, ...], words: str, cli: Cli, tmp_path: Path) -> None:
    code, stdout, stderr = cli("bench", "command", *options, "--out", tmp_path / "out")
    assert (code, stdout) == (2, "")
    assert words in stderr
    assert not (tmp_path / "out").exists()


def test_help_names_the_default_number_of_steps(cli: Cli) -> None:
    assert f"Default: {STEPS}" in " ".join(cli("bench", "command", "--help").stdout.replace("│", " ").split())
