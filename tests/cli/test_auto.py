"""`gpcnoise train --auto`: what is tried, where it is scored, what is kept of it, and how it goes on after a stop."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcnoise_cli.cli.main import main
from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.runs import auto
from gpcnoise_cli.runs.auto import Search, Trial
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.training.progress import Interrupted

Cli = Callable[..., Any]


def command(table: Path, out: Path, *more: object) -> list[object]:
    tiny = ("-m", 12, "--iterations", 6, "--batch-size", 32)
    return ["train", "--data", table, "--target", "kind", "--out", out, *tiny, *more]


@pytest.fixture(scope="module")
def searched(tables: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """A finished search of two trials: its folder, its result, what it said."""
    out = tmp_path_factory.mktemp("auto") / "run"
    printed, said = io.StringIO(), io.StringIO()
    words = command(tables.three, out, "--kernel", "matern52", "--auto", "--trials", 2, "--json")
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        assert main([str(word) for word in words]) == 0, said.getvalue()
    return out, json.loads(printed.getvalue()), said.getvalue()


def test_every_trial_is_said_and_kept_and_the_best_is_trained(searched: tuple[Path, dict[str, Any], str]) -> None:
    folder, result, said = searched
    search = Search.from_dict(json.loads((folder / "trials.json").read_text()))
    assert "at most 2 trials of at most 6 steps, each scored on 20% of the 144 training rows" in said
    assert "trial 1, as asked: nll" in said
    assert "trial 2, --no-ard: nll" in said
    assert len(search.trials) == 2
    best = min(search.trials, key=lambda one: one.nll)
    table = said[said.index("place") :].splitlines()
    assert table[0].split() == ["place", "settings", "nll", "acc", "%", "steps", "seconds"]
    assert table[1].split()[0] == "1"
    assert f"{best.nll:.4f}" in table[1]
    chosen = next(one for one in search.trials if one.changes == search.chosen)
    assert chosen.nll <= best.nll + auto.LEAST_GAIN
    config = RunFolder(folder).read_config()
    assert auto.changed(config, search.chosen or {}) == config
    assert result["scored_on"] == "test rows"
    assert (result["n_train"], result["n_test"], result["steps"]) == (144, 16, 6)


def test_what_the_user_has_set_is_not_tried(searched: tuple[Path, dict[str, Any], str]) -> None:
    folder, _, _ = searched
    search = Search.from_dict(json.loads((folder / "trials.json").read_text()))
    tried = {key for trial in search.trials for key in trial.changes}
    assert tried == {"kernel.ard"}  # the first key that was not given
    assert {"kernel.name", "inducing"} < set(search.fixed)


def test_a_finished_search_is_not_begun_again(cli: Cli, searched: tuple[Path, dict[str, Any], str]) -> None:
    folder, result, _ = searched
    outcome = cli("train", "--resume", folder, "--json")
    assert json.loads(outcome.stdout) == result
    assert "trial" not in outcome.stderr


class Fake:
    """A method whose fits score as the settings say, and which counts them."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.fits: list[Any] = []
        self.rows: list[Any] = []
        self.stop_at = stop_at

    def start(self, config: Any, split: Any) -> Any:
        self.config = config
        self.rows.append((split.n_train, split.n_test))
        return self

    def run(self, progress: Any) -> Any:
        if len(self.fits) == self.stop_at:
            raise Interrupted(3, None)
        self.fits.append(self.config)
        return self

    def predict(self, X: Any) -> Any:
        kernel = self.config.kernel
        right = 0.5 + 0.1 * (kernel.name == "matern52") + 0.2 * (not kernel.ard) + 0.1 * (self.config.inducing == 24)
        return np.column_stack([np.full(len(X), right), np.full(len(X), 1 - right)])

    def facts(self) -> dict[str, Any]:
        return {"steps": 1}


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch, split: Any, tmp_path: Path) -> Callable[..., Any]:
    """A whole search with the fake method; every held-out row is of the first class."""
    data = split(2, rows=120)
    data = replace(data, y_train=np.zeros_like(data.y_train))
    monkeypatch.setattr(auto, "prepare", lambda runtime: "cpu")

    def choose(method: Fake, search: Search, **how: Any) -> Any:
        monkeypatch.setattr(auto, "method_of", lambda config: method)
        config = compose(["inducing=12", f"out='{tmp_path / 'run'}'"])
        return auto.choose_settings(config, data, search, lambda number, trial: None, **how)

    return choose


def test_changes_that_help_add_up_and_others_do_not_stay(scored: Callable[..., Any]) -> None:
    method = Fake()
    winner, search, folder = scored(method, Search())
    assert search.chosen == {"kernel.name": "matern52", "kernel.ard": False, "inducing": 24}
    assert (winner.kernel.name, winner.kernel.ard, winner.inducing, winner.objective) == ("matern52", False, 24, "elbo")
    assert set(method.rows) == {(86, 22)}  # of 108 training rows; the 12 test rows are not among them
    assert folder.read_config().inducing == 24
    assert len(search.trials) <= auto.MOST_TRIALS


def test_a_stopped_search_goes_on_without_repeating_a_trial(scored: Callable[..., Any], tmp_path: Path) -> None:
    first, second = Fake(stop_at=3), Fake()
    with pytest.raises(Interrupted) as stop:
        scored(first, Search())
    folder = RunFolder(stop.value.run_dir or Path())
    assert folder.path == tmp_path / "run"
    stored = Search.from_dict(folder.read_trials() or {})
    assert (len(stored.trials), stored.chosen) == (3, None)
    _, search, _ = scored(second, stored, folder=folder)
    assert len(first.fits) + len(second.fits) == len(search.trials)
    assert search.trials[:3] == stored.trials
    assert search.chosen == {"kernel.name": "matern52", "kernel.ard": False, "inducing": 24}


def test_names_of_options_stand_for_their_keys() -> None:
    search = Search.beside(["kernel='rbf'", "inducing=5", "dataset='file'"])
    assert search.fixed == ("kernel.name", "inducing", "dataset")
    trial = Trial({"kernel.ard": False}, 90.0, 0.3, 5, 1.0)
    again = Search(search.fixed, 4, (trial,), {})
    assert Search.from_dict(json.loads(json.dumps(again.to_dict()))) == again


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--trials", "3"], "--trials belongs to --auto"),
        (["--auto", "--trials", "0"], "--trials 0 is out of range"),
        (["--auto", "--method", "selu"], "omit it for method selu"),
        (["--auto", "-m", "150"], "150 inducing points are more than the 144 training rows"),
    ],
)
def test_wrong_usage_is_one_sentence(
    refused: Callable[..., None], tables: Any, tmp_path: Path, options: list[str], words: str
) -> None:
    refused(2, [words], "train", "--data", tables.three, "--target", "kind", "--out", tmp_path / "run", *options)
    assert not (tmp_path / "run").exists()


def test_resume_and_auto_exclude_each_other(refused: Callable[..., None], tmp_path: Path) -> None:
    refused(2, ["omit --auto"], "train", "--resume", tmp_path, "--auto")
