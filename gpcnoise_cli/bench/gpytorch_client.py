"""GPyTorch as one of the timed systems, through the worker process that has it.

How PyTorch's threads wait for each other decides its speed when anything else runs: spinning, the usual way, is best
on an idle machine and ten times slower than sleeping on a busy one. So each way is tried and the quickest is timed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.bench.case import Problem
from gpcnoise_cli.errors import GpcnoiseError

PYTHON_VARIABLE = "GPCNOISE_BENCH_PYTHON"
HOW_TO_GET_IT = f"pip install 'gpcnoise[bench]', or name an interpreter that has GPyTorch in {PYTHON_VARIABLE}"
# Environment variables of the worker, by what they mean for its threads.
THREADING: dict[str, dict[str, str]] = {
    "spinning": {},
    "sleeping": {"OMP_WAIT_POLICY": "PASSIVE"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
TRIAL_STEPS = 3
# Its variational strategy became up to three times as fast here; older ones are no fair comparison.
OLDEST_FAST = (1, 15)
_WORKER = Path(__file__).with_name("gpytorch_worker.py")


@dataclass(frozen=True)
class Installation:
    """An interpreter that has GPyTorch, and the versions there."""

    python: str
    versions: dict[str, Any]

    def is_older_than(self, version: tuple[int, ...]) -> bool:
        numbers = re.findall(r"\d+", str(self.versions["gpytorch"]))
        return tuple(int(number) for number in numbers[: len(version)]) < version


def find_gpytorch() -> Installation | None:
    """The interpreter the environment names, else this one; None where GPyTorch is not installed."""
    python = os.environ.get(PYTHON_VARIABLE)
    if not python:
        if importlib.util.find_spec("gpytorch") is None:
            return None
        python = sys.executable
    with Worker(python) as worker:
        return Installation(python, worker.versions)


class Worker:
    """One worker process and the conversation with it."""

    def __init__(self, python: str, threading: str = "spinning") -> None:
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (lives as long as the worker)
        self.python = python
        try:
            self.process = subprocess.Popen(
                [python, str(_WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                env={**os.environ, **THREADING[threading]},
            )
        except OSError as error:
            self.errors.close()
            raise GpcnoiseError(
                f"{PYTHON_VARIABLE} names {python}, which cannot be run: {error.strerror}; {HOW_TO_GET_IT}."
            ) from error
        self.versions = self._read()

    def ask(self, question: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it died; reading says why
        return self._read()

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.wait()
        self.errors.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            reason = (self.errors.read().strip().splitlines() or ["no message"])[-1]
            self.close()
            raise GpcnoiseError(f"GPyTorch did not work in {self.python}: {reason}; {HOW_TO_GET_IT}.")
        return dict(json.loads(line))


class GPyTorch:
    """GPyTorch's SVGP in float32 on the rows of a problem; `threading` is the way of waiting that was quickest."""

    def __init__(self, problem: Problem, installation: Installation) -> None:
        with tempfile.TemporaryDirectory(prefix="gpcnoise-bench-") as folder:
            question = _as_question(problem, Path(folder) / "problem.npz")
            trials = {threading: _trial(installation.python, threading, question) for threading in THREADING}
            self.threading = min(trials, key=lambda threading: trials[threading])
            self.worker = Worker(installation.python, self.threading)
            self.first_loss: float | None = float(self.worker.ask(question)["first_loss"])

    def run(self, steps: int) -> float:
        return float(self.worker.ask(steps)["seconds"])

    def close(self) -> None:
        self.worker.close()


def _as_question(problem: Problem, arrays: Path) -> dict[str, Any]:
    case, config = problem.case, problem.case.config()
    np.savez(arrays, X=problem.X, y=problem.y, Z=problem.Z)
    return {
        "arrays": str(arrays),
        "C": case.C,
        "ard": case.ard,
        "shared": case.shared,
        "batch_size": case.batch_size,
        "lengthscale": case.lengthscale,
        "variance": config.kernel.variance,
        "learning_rate": config.optimizer.learning_rate,
    }


def _trial(python: str, threading: str, question: dict[str, Any]) -> float:
    """Seconds that a few steps take."""
    with Worker(python, threading) as worker:
        worker.ask(question)
        return float(worker.ask(TRIAL_STEPS)["seconds"])
