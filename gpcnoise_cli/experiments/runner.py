"""Runners: hand in a cell, learn how it ended. One interface, so that a grid need not know where it is computed.

The local runner gives each cell a fresh process, so that a crash, a leak or the kernel's killer takes one cell and
nothing else; the cores are divided among the processes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from gpcnoise_cli.experiments.cell import Cell
from gpcnoise_cli.experiments.ledger import Ledger, read_record
from gpcnoise_cli.experiments.outcome import Outcome, Progress, Status
from gpcnoise_cli.experiments.provenance import available_cores
from gpcnoise_cli.experiments.worker import Task

# What one process needs at the paper's largest settings; with less per worker the kernel would start killing them.
BYTES_PER_WORKER = 1_500_000_000
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Runner(Protocol):
    """Computes up to `capacity` cells at a time; no call blocks but `stop`."""

    capacity: int

    def submit(self, cell: Cell) -> None:
        """Start computing a cell."""

    def finished(self) -> list[tuple[Cell, Outcome]]:
        """The cells that ended since the last call."""

    def running(self) -> Mapping[Cell, Progress]:
        """The cells under way, in the order they were submitted."""

    def stop(self, patience: float) -> None:
        """Ask every running cell to keep a checkpoint and end; break off those that take longer than `patience`."""


@dataclass(frozen=True)
class _Process:
    popen: subprocess.Popen[str]
    errors: IO[str]


class LocalRunner:
    """Fresh processes on this machine."""

    def __init__(self, ledger: Ledger, workers: int, *, keep_probabilities: bool = False) -> None:
        self.ledger, self.capacity, self.keep_probabilities = ledger, workers, keep_probabilities
        self.threads = max(1, available_cores() // workers)
        self._processes: dict[Cell, _Process] = {}

    def submit(self, cell: Cell) -> None:
        task = Task(cell, self.ledger.folder.resolve(), self.threads, self.keep_probabilities, os.getpid())
        errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115, closed when it ends
        popen = subprocess.Popen(
            [sys.executable, "-m", "gpcnoise_cli.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **{name: str(self.threads) for name in _THREAD_VARIABLES}},
            # Ctrl-C reaches the whole foreground group; the workers are asked to stop by their parent alone, once.
            start_new_session=True,
        )
        self._processes[cell] = _Process(popen, errors)
        assert popen.stdin is not None
        try:
            popen.stdin.write(task.to_json())
            popen.stdin.close()
        except BrokenPipeError:
            pass  # it died at once; how is told by `finished`

    def finished(self) -> list[tuple[Cell, Outcome]]:
        ended = [cell for cell, process in self._processes.items() if process.popen.poll() is not None]
        return [(cell, _outcome(self._processes.pop(cell))) for cell in ended]

    def running(self) -> Mapping[Cell, Progress]:
        return {cell: read_progress(self.ledger.workspace.progress(cell)) for cell in self._processes}

    def stop(self, patience: float) -> None:
        for process in self._processes.values():
            process.popen.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + patience
        for process in self._processes.values():
            try:
                process.popen.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()


def default_workers(cells: int) -> int:
    """One worker per core, as far as there are cells and memory for them."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        memory = BYTES_PER_WORKER
    return max(1, min(available_cores(), cells, memory // BYTES_PER_WORKER))


def read_progress(path: Path) -> Progress:
    stored = read_record(path)
    return Progress(**stored) if stored is not None else Progress()


def _outcome(process: _Process) -> Outcome:
    popen = process.popen
    assert popen.stdout is not None
    said = popen.stdout.read().strip().splitlines()
    popen.stdout.close()
    with process.errors as errors:
        errors.seek(0)
        last_words = (errors.read().strip().splitlines() or [""])[-1]
    if popen.returncode < 0:
        name = signal.strsignal(-popen.returncode) or "unknown"
        hint = ", perhaps for want of memory" if popen.returncode == -signal.SIGKILL else ""
        return Outcome(Status.TRANSIENT, f"the process was ended by signal {-popen.returncode} ({name}){hint}")
    try:
        return Outcome.from_dict(json.loads(said[-1]))
    except (IndexError, ValueError, KeyError, TypeError):
        return Outcome(Status.TRANSIENT, f"the process ended with code {popen.returncode}: {last_words[:300]}")
