"""What runs on a node of a Ray cluster: one cell from order to outcome, and the board where it says how far it is.

A cell needs nothing of the disk of whoever ordered it: its data come with the order or are on the node, and its result
goes back as a value. Where the disk is common all the same, checkpoints are kept beside the ledger, so that a cell
goes on elsewhere when its node is lost.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpcnoise_cli.data.split import Split
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.outcome import Outcome, Progress, Status, outcome_of
from gpcnoise_cli.grid.runners.demands import objection, probe
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents

EXCHANGE_SECONDS = 0.5


@dataclass(frozen=True)
class Order:
    """A cell and what it may use; `disk` is the identity of the ledger's workspace, to see whether it is common."""

    cell: dict[str, Any]
    ledger: str
    disk: str | None
    threads: int
    keep_probabilities: bool
    demands: Mapping[str, Any]
    """What the node must have, as `probe` describes it."""


class Board:
    """An actor beside the driver: cells write how far they are and read whether to stop."""

    def __init__(self) -> None:
        self.states: dict[str, Progress] = {}
        self.stopping = False

    def exchange(self, digest: str, progress: Progress) -> bool:
        self.states[digest] = progress
        return self.stopping

    def read(self) -> dict[str, Progress]:
        return self.states

    def forget(self, digest: str) -> None:
        self.states.pop(digest, None)

    def stop(self) -> None:
        self.stopping = True


class Reporter(TrainingEvents):
    """Tells the board of the cell's progress now and then, from a thread of its own, and hears whether to stop."""

    def __init__(self, board: Any, digest: str, node: str) -> None:
        self.board, self.digest, self.progress = board, digest, Progress(place=node)
        self.stopping, self._ended = False, threading.Event()
        self._thread = threading.Thread(target=self._exchange, daemon=True)

    def started(self, step: int, iterations: int) -> None:
        self.progress = replace(self.progress, step=step, iterations=iterations)

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        self.progress = replace(self.progress, step=step, iterations=iterations)

    def measured(self, point: CurvePoint) -> None:
        self.progress = replace(self.progress, acc=point.acc, nll=point.nll)

    def stop_requested(self) -> bool:
        return self.stopping

    def __enter__(self) -> Reporter:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _exchange(self) -> None:
        import ray

        while True:
            with contextlib.suppress(ray.exceptions.RayError):  # a board that is lost is replaced
                self.stopping = ray.get(self.board.exchange.remote(self.digest, self.progress), timeout=30)
            if self._ended.wait(EXCHANGE_SECONDS):
                return


def compute_on_node(order: Order, data: Split | None, board: Any) -> Outcome:
    """Compute the ordered cell in this process. What goes wrong is in the outcome; only a lost process raises."""
    import ray

    began = time.perf_counter()
    node = ray.get_runtime_context().get_node_id()
    refusal = objection(order.demands, probe(order.demands))  # a node may have joined since the others were asked
    if refusal is not None:
        return Outcome(Status.TRANSIENT, f"a node {refusal}")
    from gpcnoise_cli.grid.compute import compute_cell
    from gpcnoise_cli.runs.tracking.tracker import Place
    from gpcnoise_cli.training.progress import Interrupted

    cell = Cell.from_dict(order.cell)
    with _ledger(order) as ledger, Reporter(board, cell.digest, node) as reporter:
        try:
            computed = compute_cell(
                cell,
                ledger.workspace.scratch(cell),
                threads=order.threads,
                keep_probabilities=order.keep_probabilities,
                events=reporter,
                stop_requested=reporter.stop_requested,
                tracked_at=Place.of_cell(ledger.folder, cell.name),
                data=data,
                began=began,
            )
        except Interrupted:
            return Outcome(Status.STOPPED)
        except Exception as error:
            outcome = outcome_of(error)
            if outcome.status is Status.FULL and str(ledger.folder) != order.ledger:  # the node's own disk
                return Outcome(Status.TRANSIENT, outcome.reason)
            return outcome
    return Outcome(Status.DONE, record=computed.record, probabilities=computed.probabilities)


@contextlib.contextmanager
def _ledger(order: Order) -> Iterator[Ledger]:
    """Whose workspace the cell is computed in: the driver's where its disk is common, else one of its own."""
    common = Ledger(Path(order.ledger))
    if order.disk is not None and common.workspace.folder.is_dir() and common.workspace.identity() == order.disk:
        with common.workspace.hold_scratch(Cell.from_dict(order.cell)):
            yield common
        return
    with tempfile.TemporaryDirectory(prefix="gpcnoise-cell-") as folder:
        yield Ledger(Path(folder))
