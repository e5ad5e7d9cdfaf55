"""`tracking=` on the command line: what is refused, what is kept, and where."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.config.compare import settings_of
from gpcnoise_cli.config.compose import compose, from_dict
from gpcnoise_cli.grid.cell import digest_of, stored_config

Cli = Callable[..., Any]
SMALL = ("dataset=three-class", "likelihood=step", "inducing=5", "iterations=10")


def test_tracking_is_no_part_of_what_was_asked() -> None:
    assert compose().tracking == "none"
    assert "tracking" not in settings_of(compose())
    assert digest_of(compose(["tracking=tensorboard"])) == digest_of(compose())
    older = stored_config(compose())
    del older["tracking"]
    assert from_dict(older).tracking == "none"


@pytest.mark.parametrize("command", [["train"], ["sweep", "seed=0,1"]])
def test_a_package_that_is_absent_is_named_before_anything_is_done(
    refused: Callable[..., None], command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "mlflow" else find(name, *more)
    )
    words = ["tracking=mlflow needs the package mlflow", "pip install 'gpcnoise[mlflow]'"]
    refused(2, words, *command, "tracking=mlflow")
    assert list(tmp_path.iterdir()) == []


def test_wrong_choices_are_one_sentence(refused: Callable[..., None]) -> None:
    refused(2, ["tracking must be none, tensorboard or mlflow, not 'tensorbord'"], "train", "tracking=tensorbord")
    refused(2, ["'tracking=tensorboard'", "reproduce"], "reproduce", "uci", "tracking=tensorboard")


@pytest.mark.slow
def test_a_sweep_keeps_the_event_files_beside_its_results(cli: Cli, tmp_path: Path) -> None:
    overrides = [*SMALL, "tracking=tensorboard"]  # one cell: each is a process of its own
    code, _, stderr = cli("sweep", *overrides, "--results", tmp_path / "sweep", "--workers", "1", "--json")
    assert code == 0, stderr
    names = {path.stem for path in (tmp_path / "sweep").glob("*.json")}
    kept = {path.parent.name for path in (tmp_path / "sweep" / "tensorboard").glob("*/events.out.tfevents.*")}
    assert kept == names
    assert len(names) == 1
    # Followed or not, it is the same cell.
    code, _, stderr = cli("sweep", *SMALL, "--results", tmp_path / "sweep", "--dry-run")
    assert (code, "1 of 1 cells are done already" in stderr) == (0, True)


@pytest.mark.slow
def test_a_tracker_that_fails_in_a_sweep_is_told_at_its_end(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "tensorboard").write_text("a file where a folder should be")
    code, _, stderr = cli("sweep", *SMALL, "tracking=tensorboard", "--results", tmp_path / "sweep", "--workers", "1")
    assert code == 0, stderr
    assert "tracking failed in 1 cell; the results are sound all the same" in stderr
