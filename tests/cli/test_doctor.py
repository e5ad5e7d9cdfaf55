"""`gpcnoise doctor`: it finds a sound machine sound, and says what is wrong with one that is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli import doctor

Cli = Callable[..., Any]
NAMES = [
    "python",
    "packages",
    "devices",
    "threads",
    "backends",
    "data folder",
    "writing here",
    "writing runs",
    "writing data",
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(doctor.CHECKS, "training")


def states(outcome: Any) -> dict[str, str]:
    return {one["check"]: one["state"] for one in json.loads(outcome.stdout)["checks"]}


def details(outcome: Any) -> dict[str, str]:
    return {one["check"]: one["detail"] for one in json.loads(outcome.stdout)["checks"]}


def test_a_sound_machine(cli: Cli, own_data_folder: Path, own_folder: Path) -> None:
    own_data_folder.mkdir()
    outcome = cli("doctor", "--json")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.count("\n") == 1
    assert json.loads(outcome.stdout)["ok"] is True
    assert list(states(outcome)) == [*NAMES, "training"]
    assert set(states(outcome).values()) == {"ok"}
    told = details(outcome)
    assert "tensorflow 2." in told["packages"]
    assert "by GPCNOISE_DATA_DIR" in told["data folder"]
    assert "5 generated" in told["data folder"]
    assert "one step on cpu, saved and loaded" in told["training"]
    assert list(own_folder.iterdir()) == []


def test_hosts_are_named(cli: Cli, no_training: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    assert details(cli("doctor", "--json"))["devices"].endswith("one device for a model; TF_CONFIG: host 2 of 2")
    monkeypatch.setenv("TF_CONFIG", "{")
    outcome = cli("doctor", "--json")
    assert "TF_CONFIG cannot be read" in details(outcome)["devices"]
    assert outcome.code == 1


def test_the_table_for_people(cli: Cli, no_training: None) -> None:
    outcome = cli("doctor")
    lines = outcome.stdout.splitlines()
    assert lines[0].split() == ["check", "state", "detail"]
    assert len(lines) == 1 + len(NAMES)
    assert outcome.stderr == "ready to train (1 warning).\n"  # the data folder does not exist


def test_a_check_that_breaks_is_a_failure_and_hides_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> tuple[str, str]:
        raise ImportError("no module\nnamed gpflow")

    monkeypatch.setitem(doctor.CHECKS, "devices", broken)
    monkeypatch.delitem(doctor.CHECKS, "training")
    outcome = cli("doctor", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.stdout)["ok"] is False
    assert details(outcome)["devices"] == "ImportError: no module named gpflow"
    assert states(outcome)["writing data"] == "ok"
    assert cli("doctor").stderr == "failed: devices (1 warning).\n"


def test_an_absent_package_is_named(cli: Cli, no_training: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcnoise_cli.runtime.REPORTED_PACKAGES", ("tensorflow", "no-such-package"))
    outcome = cli("doctor", "--json")
    assert outcome.code == 1
    assert "install no-such-package" in details(outcome)["packages"]


def test_a_place_that_cannot_be_written_to(
    cli: Cli, no_training: None, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_folder / "runs").write_text("a file where the folder should be")
    monkeypatch.setenv("GPCNOISE_DATA_DIR", str(own_folder / "runs"))
    outcome = cli("doctor", "--json")
    assert outcome.code == 1
    assert states(outcome)["writing runs"] == "fail"
    assert str(own_folder / "runs") in details(outcome)["writing runs"]
    assert "is not a folder" in details(outcome)["data folder"]
    assert (states(outcome)["data folder"], states(outcome)["writing data"]) == ("warn", "warn")


def test_training_that_fails_is_reported(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_training(*_: Any, **__: Any) -> dict[str, Any]:
        raise RuntimeError("no such operation")

    monkeypatch.setattr("gpcnoise_cli.runs.train.run_training", no_training)
    outcome = cli("doctor", "--json")
    assert outcome.code == 1
    assert details(outcome)["training"] == "RuntimeError: no such operation"
