"""The process that computes one cell: `python -m gpcnoise_cli.grid.worker`, the task as JSON on stdin.

It holds the cell's lock as long as it lives and files the result itself, so that nothing is lost when whoever started
it dies. It stops, with a checkpoint, when it is asked to or finds itself orphaned. How it ended is one line of JSON on
stdout.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Ledger, State, read_record
from gpcnoise_cli.grid.outcome import Outcome, Progress, Status, outcome_of
from gpcnoise_cli.grid.workspace import Busy
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents

PROGRESS_SECONDS = 0.5


@dataclass(frozen=True)
class Task:
    """A cell, where to file it, and the share of the machine it may use."""

    cell: Cell
    ledger: Path
    threads: int
    keep_probabilities: bool
    parent: int

    def to_json(self) -> str:
        return json.dumps({**vars(self), "cell": self.cell.to_dict(), "ledger": str(self.ledger)})

    @classmethod
    def from_json(cls, text: str) -> Task:
        stored = json.loads(text)
        return cls(**{**stored, "cell": Cell.from_dict(stored["cell"]), "ledger": Path(stored["ledger"])})


class ProgressFile(TrainingEvents):
    """Leaves the state of the run in a small file; losing one costs nothing, so it is not flushed to disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state: dict[str, Any] = asdict(Progress(place=os.environ.get("SLURMD_NODENAME", "")))
        self.written = 0.0

    def started(self, step: int, iterations: int) -> None:
        self._update(step=step, iterations=iterations)

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        self._update(step=step, iterations=iterations)

    def measured(self, point: CurvePoint) -> None:
        self._update(acc=point.acc, nll=point.nll)

    def _update(self, **news: Any) -> None:
        self.state.update(news)
        if time.monotonic() - self.written < PROGRESS_SECONDS:
            return
        self.written = time.monotonic()
        temporary = self.path.with_suffix(".tmp")
        with contextlib.suppress(OSError):
            temporary.write_text(json.dumps(self.state), encoding="utf-8")
            temporary.replace(self.path)


def read_progress(path: Path) -> Progress:
    stored = read_record(path)
    return Progress(**stored) if stored is not None else Progress()


class StopRequest:
    """True once a signal has come or the parent is gone."""

    def __init__(self, parent: int) -> None:
        self.parent, self.asked = parent, False
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2):  # the last: SLURM says that time is running out
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: object) -> None:
        self.asked = True

    def __call__(self) -> bool:
        return self.asked or os.getppid() != self.parent


def work(task: Task, stop_requested: StopRequest, began: float) -> Outcome:
    ledger, cell = Ledger(task.ledger), task.cell
    try:
        with ledger.workspace.claim(cell):
            if ledger.look_up(cell).state is State.DONE:  # by another process, since the task was given
                return Outcome(Status.DONE)
            _compute(task, ledger, stop_requested, began)
    except Busy:
        return Outcome(Status.BUSY)
    except _Stopped:
        return Outcome(Status.STOPPED)
    except Exception as error:
        with contextlib.suppress(OSError):  # stderr is a file, and the disk may be what is full
            traceback.print_exc()
            sys.stderr.flush()
        return outcome_of(error)
    return Outcome(Status.DONE)


class _Stopped(Exception):
    """The run was asked to stop."""


def _compute(task: Task, ledger: Ledger, stop_requested: StopRequest, began: float) -> None:
    # Here, not above: a cell that is busy or done must not cost the import of TensorFlow.
    from gpcnoise_cli.grid.compute import compute_cell
    from gpcnoise_cli.runs.tracking.tracker import Place
    from gpcnoise_cli.training.progress import Interrupted

    if stop_requested():
        raise _Stopped
    try:
        computed = compute_cell(
            task.cell,
            ledger.workspace.scratch(task.cell),
            threads=task.threads,
            keep_probabilities=task.keep_probabilities,
            events=ProgressFile(ledger.workspace.progress(task.cell)),
            stop_requested=stop_requested,
            tracked_at=Place.of_cell(task.ledger, task.cell.name),
            began=began,
        )
    except Interrupted as interruption:
        raise _Stopped from interruption
    ledger.file_result(task.cell, computed.record, computed.probabilities)
    ledger.workspace.clear(task.cell)


def report(task: Task, began: float) -> int:
    """Compute the task's cell in this process, which began at `began`, and say how it ended."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    outcome = work(task, StopRequest(task.parent), began)
    print(json.dumps(outcome.to_dict()), flush=True)
    gc.freeze()  # or the interpreter would look for garbage in all of TensorFlow before it ends
    return 0


def main() -> int:
    began = time.perf_counter()
    return report(Task.from_json(sys.stdin.read()), began)


if __name__ == "__main__":
    sys.exit(main())
