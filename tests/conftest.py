"""What every test stands on: a quiet TensorFlow on the CPU, a data folder of its own, and the CLI in-process."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# Before any test module imports TensorFlow.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import hypothesis
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

# Two shared cores make single examples arbitrarily slow, and a red test must be red again on the next run.
hypothesis.settings.register_profile("gpcnoise", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("gpcnoise")


def pytest_collection_finish() -> None:
    # All that is imported by now stays: without this, every trace of a TensorFlow function searches it for garbage.
    gc.freeze()


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, so that no test depends on what the user has downloaded."""
    folder = tmp_path / "data-folder"
    monkeypatch.setenv("GPCNOISE_DATA_DIR", str(folder))
    monkeypatch.delenv("GPCNOISE_DEBUG", raising=False)
    return folder


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command line in this process: `cli("config", "--list")`."""
    from gpcnoise_cli.cli.main import main

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the real data files, where this machine has it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real data files are not here ({folder} does not exist)")
    return folder
