"""Training from disk by the command: a folder of files in, the same result whatever happened on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpcnoise_cli.data import storage
from gpcnoise_cli.data.store import stores_dir

Cli = Callable[..., Any]
SMALL = ("-m", "5", "--batch-size", "16", "--iterations", "20")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(300, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.where(frame["a"] + 0.3 * random.normal(size=300) > 0, "up", "down")
    (tmp_path / "table").mkdir()
    for number in range(3):
        frame.iloc[100 * number : 100 * (number + 1)].to_csv(tmp_path / "table" / f"{number}.csv", index=False)
    return tmp_path / "table"


def test_a_folder_is_trained_on_predicted_and_evaluated(
    cli: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "memory_size", lambda: 1000)  # so that auto means disk
    run = tmp_path / "run"
    trained = cli("train", "--data", folder, "--target", "kind", *SMALL, "--out", run, "--json")
    assert trained.code == 0, trained.stderr
    assert "training rows on disk" in trained.stderr
    result = json.loads(trained.stdout)
    assert (result["n_train"], result["n_test"]) == (270, 30)
    assert "storage: disk" in (run / "config.yaml").read_text()
    monkeypatch.undo()
    own = json.loads(cli("evaluate", run, "--json").stdout)
    assert own["acc"] == pytest.approx(result["acc"])
    pattern = folder / "[01].csv"
    assert json.loads(cli("evaluate", run, "--data", pattern, "--json").stdout)["n"] == 200
    out = tmp_path / "p.csv"
    assert cli("predict", run, "--data", folder, "--out", out).code == 0
    assert len(pd.read_csv(out)) == 300
    assert "no file matches" in cli("predict", run, "--data", folder / "*.parquet", "--out", tmp_path / "q.csv").stderr


NEEDING_MEMORY = {
    "--method ep": ("--method", "ep"),
    "--method selu": ("--method", "selu"),
    "--weights": ("--weights", "b"),
    "--class-weight": ("--class-weight", "balanced"),
    "--calibration-rows": ("--calibration-rows", "0.2"),
    "--folds": ("--folds", "3"),
}


@pytest.mark.parametrize("option", NEEDING_MEMORY)
def test_what_needs_all_rows_in_memory_is_refused_before_the_table_is_read(
    cli: Cli, folder: Path, tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "2.csv").write_text("no table\n")
    how = ("train", "--data", folder, "--target", "kind", *NEEDING_MEMORY[option], "--out", tmp_path / "run")
    outcome = cli(*how, "dataset.storage=disk")
    assert outcome.code == 2
    assert f"{option} needs all training rows in memory, but dataset.storage=disk" in outcome.stderr
    assert f"omit {option}, or take dataset.storage=memory." in outcome.stderr
    monkeypatch.setattr(storage, "memory_size", lambda: 1000)
    outcome = cli(*how)
    assert outcome.code == 2
    assert f"{option} needs all training rows in memory, where this table would take about" in outcome.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--class-weight", "--folds"])
def test_auto_takes_memory_for_what_needs_it_where_the_table_fits(
    cli: Cli, folder: Path, tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "memory_size", lambda: 100_000)  # the table takes about 70,000
    how = ("train", "--data", folder, "--target", "kind", *SMALL)
    assert "training rows on disk" in cli(*how, "--out", tmp_path / "plain").stderr
    outcome = cli(*how, *NEEDING_MEMORY[option], "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.stderr
    assert "training rows on disk" not in outcome.stderr
    assert "storage: auto" in (tmp_path / "run" / "config.yaml").read_text()


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(("--method", "orth"), marks=pytest.mark.slow),
        ("dataset.holdout=0.2",),
        pytest.param(("--auto", "--trials", "2"), marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_what_trains_from_disk_besides(cli: Cli, folder: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    how = ("train", "--data", folder, "--target", "kind", *SMALL, "dataset.storage=disk", "--json")
    outcome = cli(*how, *more, "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["n_train"] == (216 if "dataset.holdout=0.2" in more else 270)


def test_all_rows_train_from_disk_without_a_test(cli: Cli, folder: Path, tmp_path: Path) -> None:
    how = ("train", "--data", folder, "--target", "kind", *SMALL, "dataset.storage=disk", "dataset.test_fraction=0")
    outcome = cli(*how, "--out", tmp_path / "run", "--json")
    assert outcome.code == 0, outcome.stderr
    result = json.loads(outcome.stdout)
    assert (result["n_train"], result["n_test"], result["acc"]) == (300, 0, None)


def test_a_run_folder_that_is_taken_is_told_before_the_table_is_read(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (folder / "2.csv").write_text("no table\n")
    outcome = cli("train", "--data", folder, "--target", "kind", "dataset.storage=disk", "--out", folder)
    assert outcome.code == 2
    assert "is not empty" in outcome.stderr
    assert not stores_dir().exists()


def test_another_storage(cli: Cli) -> None:
    outcome = cli("train", "dataset.storage=disc")
    assert outcome.code == 2
    assert "dataset.storage must be auto, memory or disk, not 'disc'" in outcome.stderr


@pytest.mark.slow
def test_killed_in_the_pass_and_in_training_it_ends_the_same(folder: Path, tmp_path: Path) -> None:
    """Two real kills (-9); the arrays of the model are those of a run that nothing happened to."""
    # Blocks of 50 rows; a pass that stops for a while before it settles its rows, where it is to be killed.
    program = (
        "import os, sys, time\n"
        "from gpcnoise_cli.data import store, store_pass\n"
        "store.BLOCK_BYTES = 4 * 3 * 50\n"
        "if os.environ.get('WAIT'):\n"
        "    scatter = store_pass._scatter\n"
        "    store_pass._scatter = lambda *all: (scatter(*all), time.sleep(60))\n"
        "from gpcnoise_cli.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    environment = {**os.environ, "GPCNOISE_STORE_DIR": str(tmp_path / "stores")}

    def begin(*arguments: object, **more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", program, *map(str, arguments)]
        return subprocess.Popen(command, env={**environment, **more}, stderr=subprocess.DEVNULL)

    def kill_when(process: subprocess.Popen[bytes], there: Callable[[], bool]) -> None:
        while not there():
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()

    how = ("train", "--data", folder, "--target", "kind", "-m", 5, "--batch-size", 16, "--iterations", 4000)
    how = (*how, "dataset.storage=disk", "runtime.checkpoint_seconds=0", "optimizer.early_stop=false")
    stores = tmp_path / "stores"
    kill_when(begin(*how, "--out", tmp_path / "a", WAIT="1"), lambda: any(stores.glob(".*.partial/buckets")))
    assert not (tmp_path / "a").exists()
    assert [path for path in stores.iterdir() if not path.name.startswith(".")] == []
    kill_when(begin(*how, "--out", tmp_path / "a"), (tmp_path / "a" / "checkpoint.npz").exists)
    assert not any(stores.glob(".*.partial"))
    assert begin("train", "--resume", tmp_path / "a").wait() == 0
    assert begin(*how, "--out", tmp_path / "b").wait() == 0
    with np.load(tmp_path / "a" / "model.npz") as ours, np.load(tmp_path / "b" / "model.npz") as theirs:
        assert ours.files == theirs.files
        for name in ours.files:
            np.testing.assert_array_equal(ours[name], theirs[name])
