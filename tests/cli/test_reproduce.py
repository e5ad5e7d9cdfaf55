"""`gpcnoise reproduce uci`: the request, the plan and the report. What it survives is in tests/grid."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.data.registry import UCI_NAMES
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Ledger

Cli = Callable[..., Any]
REPOSITORY = Path(__file__).parents[2]
# What the JSON of `train` holds, and what the ledger adds.
RESULT_FIELDS = (
    "preset dataset protocol likelihood method bound kernel ard inducing batch_size delta_mode delta iterations "
    "learning_rate optimizer precision device split seed n_train n_test d classes acc nll brier ece elbo train_seconds "
    "seconds_per_step run_dir versions config digest curve host commit seconds departures"
)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plan(cli: Cli, *arguments: object) -> dict[str, Any]:
    code, stdout, stderr = cli("reproduce", "uci", "--dry-run", "--json", *arguments)
    assert code == 0, stderr
    return dict(json.loads(stdout))


def test_dry_run_lists_the_cells_and_estimates_without_computing(cli: Cli, tmp_path: Path) -> None:
    found = plan(cli, "--datasets", "waveform,twonorm", "--splits", "0-1", "--workers", "2")
    assert (found["done"], found["to do"], found["failed"]) == (0, 14, 0)
    assert found["folder"] == "results/uci"
    assert found["estimate"]["seconds"] > 0
    assert found["estimate"]["basis"] == {"model": 14}
    assert found["cells"][0] == {"name": "paper/rbf/twonorm/step/split-00", "state": "to do"}
    assert not (tmp_path / "results").exists()


def test_sets_that_are_not_here_are_reported_and_left_out(cli: Cli) -> None:
    code, stdout, stderr = cli("reproduce", "uci", "--dry-run", "--splits", "0", "--preset", "fast")
    assert code == 0
    for name in UCI_NAMES:
        left_out = f"{name} is not here and is left out" in stderr
        assert left_out == (name not in ("ringnorm", "twonorm", "waveform", "waveform-noise")), name
    assert "results/uci-fast: 0 done, 14 to do, 0 failed; about" in stderr
    assert stdout.splitlines()[0].split() == ["set", "method", "split", "state", "time", "by"]


def test_what_is_filed_needs_no_data(cli: Cli, tmp_path: Path) -> None:
    filed = "uci-fast/paper/rbf/magic/step/split-00.json"
    (tmp_path / "results" / filed).parent.mkdir(parents=True)
    shutil.copy(REPOSITORY / "results" / filed, tmp_path / "results" / filed)
    asked = ("--preset", "fast", "--likelihoods", "step", "--splits", "0")
    code, stdout, stderr = cli("reproduce", "uci", "--datasets", "magic,adult", *asked)
    assert code == 0
    assert "adult is not here and is left out; get it with: gpcnoise data fetch adult" in stderr
    assert "magic is not here" not in stderr
    assert "1 of 1 cells are done already, 0 are to do." in stderr
    assert "magic" in stdout
    assert "adult" not in stdout
    code, _, stderr = cli("reproduce", "uci", "--datasets", "magic,adult", *asked[:-1], "1")
    assert code == 2
    assert "nothing is left to compute; name sets that are here" in stderr


def test_another_method_is_one_cell_per_set_that_it_can_do(cli: Cli, another_method: str) -> None:
    found = plan(
        cli, "--methods", "svgp,forest", "--likelihoods", "step", "--datasets", "waveform,twonorm", "--splits", "0"
    )
    assert sorted(cell["name"] for cell in found["cells"]) == [
        "paper/rbf/twonorm/step/split-00",
        "paper/rbf/waveform/forest/split-00",
        "paper/rbf/waveform/step/split-00",
    ]
    asked = ["--methods", "forest", "--datasets", "waveform", "--splits", "0", "method.settings.trees=7"]
    assert plan(cli, *asked)["folder"] == "results/uci-trees-7"


def test_methods_and_likelihoods_are_planned_together_and_what_does_not_fit_is_said(cli: Cli) -> None:
    asked = ["--preset", "fast", "--protocol", "clean", "--splits", "0", "--datasets", "ringnorm,waveform"]
    found = plan(cli, *asked, "--methods", "ep,selu", "--likelihoods", "augmented,dirichlet,probit_quadrature")
    names = {cell["name"].removeprefix("clean/rbf/").removesuffix("/split-00") for cell in found["cells"]}
    both = {
        f"{name}/{column}" for name in ("ringnorm", "waveform") for column in ("ep", "selu", "augmented", "dirichlet")
    }
    assert names == {*both, "ringnorm/probit_quadrature"}
    outcome = cli("reproduce", "uci", "--dry-run", *asked, "--likelihoods", "probit_quadrature,augmented")
    assert "probit_quadrature is not for the number of classes of waveform: left out there" in outcome.stderr
    assert "augmented is not" not in outcome.stderr
    assert {cell["name"].split("/")[3] for cell in plan(cli, *asked, "--methods", "ep")["cells"]} == {"ep"}


def test_done_failed_and_foreign_cells_are_told_apart(cli: Cli) -> None:
    def cell(likelihood: str, *more: str) -> Cell:
        overrides = ["preset=paper", "dataset=twonorm", f"likelihood={likelihood}", "protocol=paper", *more]
        return Cell.of(f"paper/rbf/twonorm/{likelihood}/split-00", compose(overrides))

    ledger, asked = Ledger(Path("results/uci")), ["--datasets", "twonorm", "--splits", "0"]
    done = cell("step")
    ledger.file_result(done, {"acc": 97.0, "nll": 0.1, "digest": done.digest})
    ledger.file_failure(cell("probit"), "the data are damaged", transient=False, attempts=1)
    assert {one["name"].split("/")[3]: one["state"] for one in plan(cli, *asked)["cells"]} == {
        "step": "done",
        "probit": "failed",
        "logit": "to do",
    }
    assert plan(cli, *asked, "--retry-failed")["estimate"]["cells"] == 2
    assert "the data are damaged" in cli("reproduce", "uci", "--dry-run", *asked).stdout

    short = cell("logit", "iterations=20")
    ledger.file_result(short, {"acc": 1.0, "digest": short.digest, "config": short.to_dict()["config"]})
    code, _, stderr = cli("reproduce", "uci", *asked)
    assert code == 2
    assert "with other settings (paper/rbf/twonorm/logit/split-00: iterations 20, not 10000)" in stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--datasets", "wavefrom"], "unknown dataset 'wavefrom'; did you mean 'waveform'"),
        (["--datasets", "banana"], "'banana' is not one of the paper's UCI sets"),
        (["--datasets", "magic"], "nothing is left to compute"),
        (["--likelihoods", "sofmax"], "did you mean 'softmax'"),
        (["--likelihoods", ""], "nothing is left to compare"),
        (["--methods", "svpg"], "unknown method 'svpg'; did you mean 'svgp'"),
        (["--methods", ""], "nothing is left to compare"),
        (["--splits", "0-99999"], "more than 10000"),
        (["method=svgp"], "give --methods instead"),
        (["--datasets", "twonorm", "--likelihoods", "softmax"], "has no cell"),
        (["--splits", "9-0"], "--splits '9-0' cannot be read"),
        (["--kernel", "rfb"], "unknown kernel 'rfb'; did you mean 'rbf'?"),
        (["--preset", "quick"], "unknown preset 'quick'"),
        (["--protocol", "dirty"], "protocol must be"),
        (["--iterations", "0"], "iterations must be at least 1"),
        (["--workers", "0"], "--workers must be at least 1"),
        (["--shard", "3/2"], "--shard '3/2' cannot be read"),
        (["split=3"], "give --splits instead"),
        (["likelihood=step"], "give --likelihoods instead"),
        (["optimizer.lr=1"], "did you mean optimizer.learning_rate?"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_two(cli: Cli, arguments: list[str], words: str) -> None:
    sets = [] if "--datasets" in arguments else ["--datasets", "waveform"]
    code, stdout, stderr = cli("reproduce", "uci", *sets, *arguments)
    assert (code, stdout) == (2, "")
    assert stderr.splitlines()[-1].startswith("gpcnoise: error: ")
    assert words in stderr


@pytest.mark.slow
def test_a_cell_is_computed_and_holds_everything(cli: Cli, tmp_path: Path) -> None:
    asked = ["--datasets", "waveform", "--likelihoods", "softmax", "--splits", "1", "--results", "mine"]
    tiny = ["--iterations", "20", "inducing=8", "batch_size=64", "--keep-probabilities"]
    code, stdout, stderr = cli("reproduce", "uci", *asked, *tiny)
    assert code == 0, stderr
    assert "[1/1] waveform softmax split 1: acc" in stderr
    assert "waveform" in stdout
    path = tmp_path / "mine/uci/paper/rbf/waveform/softmax/split-01.json"
    cell = json.loads(path.read_text())
    assert [key for key in RESULT_FIELDS.split() if key not in cell] == []
    assert (cell["split"], cell["iterations"], cell["label"], cell["d"]) == (1, 20, "GPCsm", 22)
    assert cell["departures"] == {"iterations": 20, "inducing": 8, "batch_size": 64}
    assert "NOT the preset's settings" in stdout
    assert cell["curve"]["step"][-1] == 20
    assert str(tmp_path) not in path.read_text()
    assert str(Path.home()) + "/" not in path.read_text()

    import numpy as np

    from gpcnoise_cli.evaluation.metrics import evaluate

    with np.load(path.with_suffix(".npz")) as stored:
        assert evaluate(stored["probabilities"], stored["y"]).nll == pytest.approx(cell["nll"], rel=1e-5)
    again = cli("reproduce", "uci", *asked, *tiny)
    assert again.code == 0
    assert "1 of 1 cells are done already, 0 are to do." in again.stderr


def test_help_imports_nothing_heavy() -> None:
    import subprocess

    program = "import sys; from gpcnoise_cli.cli.main import main; main(['reproduce', 'uci', '--help']); "
    program += "sys.exit(any(name in sys.modules for name in ('tensorflow', 'scipy', 'pandas', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0
