"""Whole commands on a cluster, and what they leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

GPCNOISE = [sys.executable, "-c", "from gpcnoise_cli.cli.main import run; run()"]
PATIENCE = 300.0
# What differs between two computations of one cell.
OWN = ("train_seconds", "seconds_per_step", "seconds", "resumed", "commit", "curve", "host")
# Small models, but enough steps to be interrupted in the middle of them, and for Ray to notice that a node is gone (in
# about five seconds); checkpoints all the time.
LONG = (
    "--iterations", "9000", "inducing=10", "batch_size=128", "runtime.eval_every=3000",
    "runtime.checkpoint_seconds=0.05", "runtime.jitter=1e-5",
)  # fmt: skip
SHORT = ("--iterations", "20", "inducing=10", "batch_size=64", "runtime.jitter=1e-5")


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


@dataclass(frozen=True)
class Grid:
    """A grid of two cells filed in a folder, by `gpcnoise reproduce uci` in a process of its own."""

    results: Path
    LONG, SHORT, PATIENCE, wait_for = LONG, SHORT, PATIENCE, staticmethod(wait_for)

    def command(self, *more: str) -> list[str]:
        cells = ["--datasets", "twonorm", "--likelihoods", "step,probit", "--splits", "0"]
        return [*GPCNOISE, "reproduce", "uci", *cells, "--results", str(self.results), *more]

    def run(self, *more: str, code: int = 0, **environment: str) -> dict[str, Any]:
        """Run the command to its end and return what it says."""
        asked, environ = self.command("--json", *more), os.environ | environment
        done = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE, env=environ)
        assert done.returncode == code, done.stderr
        return {**json.loads(done.stdout or "{}"), "stderr": done.stderr}

    def cells(self) -> dict[str, dict[str, Any]]:
        """Every filed cell without what differs from run to run."""
        found = {}
        for path in sorted((self.results / "uci").rglob("split-??.json")):
            content = json.loads(path.read_text())
            found[path.parent.name] = {key: value for key, value in content.items() if key not in OWN}
        return found

    def work(self) -> list[str]:
        """What is in the workspace: unfinished cells, locks, notes."""
        return sorted(
            path.name for path in (self.results / "uci" / ".work").iterdir() if path.name not in (".gitignore", "disk")
        )

    def checkpoints(self) -> list[Path]:
        return sorted((self.results / "uci" / ".work").glob("*/checkpoint.npz"))


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    return Grid(tmp_path / "results")


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], dict[str, dict[str, Any]]]:
    """The cells as this machine computes them, with the threads that a cluster gives them: `here(SHORT)`."""
    known: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}

    def compute(settings: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        if settings not in known:
            local = Grid(tmp_path_factory.mktemp("here"))
            local.run("--workers", "2", "--cores", "1", *settings, GPCNOISE_DATA_DIR=str(local.results / "no data"))
            known[settings] = local.cells()
        return known[settings]

    return compute
