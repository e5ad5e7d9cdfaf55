"""What every test stands on: a quiet TensorFlow on the CPU, a data folder of its own, and the CLI in-process."""

from __future__ import annotations

import dataclasses
import gc
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

# Before any test module imports TensorFlow.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import hypothesis
import numpy as np
import pytest

from gpcnoise_cli.data.split import Split, Table, make_split

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
    monkeypatch.delenv("GPCNOISE_STORE_DIR", raising=False)
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


@pytest.fixture
def another_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A method with settings of its own, for more than two classes only: one yaml and one registry line."""
    from gpcnoise_cli.config import groups
    from gpcnoise_cli.methods.registry import METHODS

    name = "forest"
    shutil.copytree(groups.conf_dir(), tmp_path / "package" / "conf")
    text = "name: forest\nsettings:\n  trees: 50\n  rate: 1e-2\n  widths: [8, 4]\n  deep: false\n"
    (tmp_path / "package" / "conf" / "method" / f"{name}.yaml").write_text(text)
    monkeypatch.setattr(groups, "_PACKAGE", tmp_path / "package")
    monkeypatch.setitem(METHODS, name, dataclasses.replace(METHODS["svgp"], name=name, label="Forest", binary=False))
    return name


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the real data files, where this machine has it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real data files are not here ({folder} does not exist)")
    return folder


@pytest.fixture(scope="session")
def split() -> Callable[..., Split]:
    """A small set with class names and a scaling of its own: `split(classes=3)`."""

    def build(classes: int = 3, rows: int = 40, d: int = 2) -> Split:
        rng = np.random.default_rng(classes)
        X = rng.normal(size=(rows, d)) * [10.0**j for j in range(d)] + 3.0
        y = np.arange(rows) % classes
        names = ("red", "green", "blue", "grey")[:classes]
        table = Table(X, y, names, tuple(f"f{j}" for j in range(d)), "file")
        return make_split("colours", table, protocol="clean", split=0)

    return build


@pytest.fixture
def uci_cells(tmp_path: Path) -> Callable[..., list[Path]]:
    """Made cells of the UCI benchmark, one split for each (acc, nll): `uci_cells("adult", "GPC-I", [(85.5, 0.4)])`."""
    from gpcnoise_cli.claims.claim import column_of
    from gpcnoise_cli.files import write_json

    def make(
        dataset: str,
        label: str,
        figures: Sequence[tuple[float, float]],
        *,
        results: Path = tmp_path / "results",
        ledger: str = "uci-fast",
        protocol: str = "paper",
        kernel: str = "rbf",
        **more: object,
    ) -> list[Path]:
        column = column_of(label)
        assert column is not None
        folder, paths = results / ledger / protocol / kernel / dataset / column[1], []
        folder.mkdir(parents=True, exist_ok=True)
        for split, (acc, nll) in enumerate(figures):
            record = {
                "preset": "paper" if ledger == "uci" else "fast", "dataset": dataset, "protocol": protocol,
                "likelihood": column[1], "method": label, "kernel": kernel, "split": split, "acc": acc, "nll": nll,
                "iterations": 800, "departures": {}, "digest": "made", "source": "archive",
            }  # fmt: skip
            paths.append(folder / f"split-{split:02d}.json")
            write_json(paths[-1], record | more)
        return paths

    return make
