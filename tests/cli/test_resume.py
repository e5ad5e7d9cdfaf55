"""Stopping a run, by request and by force, and continuing it: the end is the one of a run that was never stopped.

The runs to be stopped are real processes. Each waits after a certain step until it has been sent its signal; what it
computes is not touched.
"""

from __future__ import annotations

import csv
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

Cli = Callable[..., Any]

WAITING = """
import sys, time
from pathlib import Path
from gpcnoise_cli.cli.main import run
from gpcnoise_cli.cli.progress import PlainProgress

measured, signal_sent = PlainProgress.measured, Path(sys.argv.pop(1))

def waiting(self, point):
    measured(self, point)
    while point.step == 24 and not signal_sent.exists():
        time.sleep(0.05)

PlainProgress.measured = waiting
run()
"""
STEP = 24
# Natural gradients, δ at its running optimum and a falling rate: all that a checkpoint must remember.
# fmt: off
SETTINGS = [
    "--likelihood", "probit", "--delta", "optimal", "-m", "12", "--batch-size", "32", "--iterations", "90",
    "optimizer=natgrad", "optimizer.cycle=20", "runtime.eval_every=3",
]
# fmt: on
TIMES = {"train_seconds", "seconds_per_step", "run_dir"}


class Stopped(NamedTuple):
    path: Path
    code: int
    stderr: str


def command(table: Path, out: Path) -> list[str]:
    return ["train", "--data", str(table), "--target", "kind", "--out", str(out), *SETTINGS]


@pytest.fixture(scope="module")
def stopped(tables: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Stopped]:
    """`stopped("SIGINT")`: a run that was stopped in that way, once per test session."""
    folder = tmp_path_factory.mktemp("stopped")
    environment = {**os.environ, "GPCNOISE_DATA_DIR": str(folder / "data")}

    @functools.cache
    def stop(name: str) -> Stopped:
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", WAITING, str(folder / f"{name} sent")),
                *command(tables.three, folder / name),
                *(["runtime.checkpoint_seconds=0"] if name == "SIGKILL" else []),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        return _stop(folder / name, process, name)

    return stop


def _stop(path: Path, process: subprocess.Popen[str], name: str) -> Stopped:
    with process:
        seen = "".join(_until(f"step {STEP}/", process))
        process.send_signal(signal.Signals[name])
        path.with_name(f"{name} sent").touch()
        printed, rest = process.communicate(timeout=60)
    assert printed == ""
    return Stopped(path, process.returncode, seen + rest)


def _until(mark: str, process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stderr is not None
    for line in process.stderr:
        yield line
        if line.startswith(mark):
            return


@pytest.fixture(scope="module")
def uninterrupted(tables: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from gpcnoise_cli.cli.main import main

    out = tmp_path_factory.mktemp("uninterrupted") / "run"
    assert main(command(tables.three, out)) == 0
    return out


# Each is a process of its own that starts TensorFlow.
@pytest.mark.parametrize("name", ["SIGINT", *(pytest.param(n, marks=pytest.mark.slow) for n in ("SIGTERM", "SIGHUP"))])
def test_a_request_to_stop_leaves_a_checkpoint(stopped: Callable[[str], Stopped], name: str) -> None:
    run = stopped(name)
    assert run.code == 130
    last = run.stderr.splitlines()[-1]
    assert last.startswith("stopped at step ")
    assert last.endswith(f"continue with: gpcnoise train --resume {run.path}")
    files = {"checkpoint.npz", "columns.json", "config.yaml", "curve.csv", "log.txt"}
    assert {path.name for path in run.path.iterdir()} == files


def test_an_unfinished_run_has_no_model_yet(
    stopped: Callable[[str], Stopped], refused: Callable[..., None], tables: Any
) -> None:
    run = stopped("SIGINT").path
    words = [str(run), "not finished", f"gpcnoise train --resume {run}"]
    refused(1, words, "predict", run, "--data", tables.three)
    refused(1, words, "evaluate", run)


@pytest.mark.parametrize("name", ["SIGINT", *(pytest.param(n, marks=pytest.mark.slow) for n in ("SIGTERM", "SIGKILL"))])
def test_a_resumed_run_ends_as_if_never_stopped(
    cli: Cli, stopped: Callable[[str], Stopped], uninterrupted: Path, name: str
) -> None:
    run = stopped(name)
    assert (run.path / "checkpoint.npz").exists()
    outcome = cli("train", "--resume", run.path, "--json")
    assert outcome.code == 0, outcome.stderr
    start = int(outcome.stderr.splitlines()[0].split()[2])  # training: steps 24 to 90
    assert STEP - 3 <= start < 90
    ours, theirs = (json.loads((path / "metrics.json").read_text()) for path in (run.path, uninterrupted))
    assert json.loads(outcome.stdout) == ours
    assert {key: ours[key] for key in ours.keys() - TIMES} == {key: theirs[key] for key in theirs.keys() - TIMES}
    with np.load(run.path / "model.npz") as model, np.load(uninterrupted / "model.npz") as expected:
        assert model.files == expected.files
        for array in model.files:
            np.testing.assert_array_equal(model[array], expected[array], strict=True)
    assert curve(run.path) == curve(uninterrupted)
    assert not (run.path / "checkpoint.npz").exists()


def curve(run_dir: Path) -> list[dict[str, str]]:
    with (run_dir / "curve.csv").open(newline="") as text:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(text)]


def test_resuming_a_finished_run_prints_its_result(cli: Cli, uninterrupted: Path) -> None:
    before = {path: path.read_bytes() for path in uninterrupted.iterdir()}
    outcome = cli("train", "--resume", uninterrupted, "--json")
    assert outcome.code == 0
    assert json.loads(outcome.stdout) == json.loads((uninterrupted / "metrics.json").read_text())
    assert "finished already" in outcome.stderr
    assert {path: path.read_bytes() for path in uninterrupted.iterdir()} == before


def test_resuming_takes_no_other_settings(refused: Callable[..., None], uninterrupted: Path) -> None:
    refused(2, ["--resume", "omit: likelihood"], "train", "--resume", uninterrupted, "--likelihood", "step")


def test_resuming_what_is_no_run(refused: Callable[..., None], tmp_path: Path) -> None:
    refused(2, [str(tmp_path), "no run folder"], "train", "--resume", tmp_path)


def test_a_damaged_checkpoint_is_named(cli: Cli, uninterrupted: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes((uninterrupted / "config.yaml").read_bytes())
    (tmp_path / "checkpoint.npz").write_bytes(b"PK\x03\x04 cut short")
    outcome = cli("train", "--resume", tmp_path)
    assert (outcome.code, outcome.stdout) == (1, "")
    last = outcome.stderr.splitlines()[-1]
    assert last.startswith(f"gpcnoise: error: the checkpoint {tmp_path / 'checkpoint.npz'} is damaged")
