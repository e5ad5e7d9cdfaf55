"""A campaign: bring every cell of a list into the ledger, with any runner, whatever happens on the way.

Finished cells are left alone. A cell that fails is recorded and the rest goes on; trouble of the machine is met with a
bounded number of attempts; cells that another campaign on the same folder computes are waited for, not computed again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Ledger, State
from gpcnoise_cli.grid.outcome import Outcome, Progress, Status, outcome_of
from gpcnoise_cli.grid.runners.base import Runner
from gpcnoise_cli.grid.workspace import Busy

ATTEMPTS = 3
POLL_SECONDS = 0.2
STOP_PATIENCE = 60.0


class CampaignEvents:
    """A listener that ignores everything; override what is wanted."""

    def finished(self, cell: Cell, record: Mapping[str, Any], left: int) -> None:
        """A cell was computed here (or, without having been submitted here, elsewhere); `left` are not done yet."""

    def failed(self, cell: Cell, reason: str, again: bool) -> None:
        """A cell failed; `again` when it will be tried once more."""

    def message(self, text: str) -> None:
        """Something worth knowing happened."""

    def tick(self, running: Mapping[Cell, Progress], left: int) -> None:
        """Some tenths of a second have passed."""


@dataclass
class Report:
    """What became of the cells of a campaign."""

    computed: list[Cell] = field(default_factory=list)
    elsewhere: list[Cell] = field(default_factory=list)
    failed: dict[Cell, str] = field(default_factory=dict)
    left: list[Cell] = field(default_factory=list)  # go on by themselves, after the campaign
    interrupted: bool = False


class Campaign:
    """The cells still to do, and what is to be done about each outcome."""

    def __init__(
        self,
        cells: Sequence[Cell],
        ledger: Ledger,
        runner: Runner,
        events: CampaignEvents | None = None,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        self.ledger, self.runner, self.stop_requested = ledger, runner, stop_requested
        self.events = events or CampaignEvents()
        self.queue = deque(cells)
        self.attempts: dict[Cell, int] = {}
        self.failed_before = {cell for cell in cells if ledger.look_up(cell).state is State.FAILED}
        self.report = Report()
        self._said_waiting = False

    def run(self) -> Report:
        """Until nothing is left or a stop is asked for. Raises `GpcnoiseError` where results cannot be written."""
        try:
            while self.queue or self.runner.running():
                if self.stop_requested():
                    self.report.interrupted = True
                    break
                self._submit()
                time.sleep(POLL_SECONDS)
                for cell, outcome in self.runner.finished():
                    self._take(cell, outcome)
                running = self.runner.running()
                self.events.tick(running, len(self.queue) + len(running))
                if self.runner.detached:
                    self.report.left = [*self.queue, *running]
                    break
        finally:
            self.runner.stop(STOP_PATIENCE)
        self._take_last()
        return self.report

    def _submit(self) -> None:
        free = self.runner.capacity - len(self.runner.running())
        for _ in range(len(self.queue)):
            if not free:
                return
            cell = self.queue.popleft()
            entry = self.ledger.look_up(cell)
            if entry.state is State.DONE:
                self.report.elsewhere.append(cell)
                self._announce(cell, entry.record)
            elif entry.state is State.FAILED and cell not in self.failed_before:
                self.report.failed[cell] = (entry.record or {}).get("reason", "")
                self.events.failed(cell, f"in another process: {self.report.failed[cell]}", again=False)
            elif not self.runner.has(cell) and self.ledger.workspace.is_busy(cell):
                self.queue.append(cell)
            else:
                free -= self._start(cell)
        if self.queue and not self.runner.running() and not self._said_waiting:
            self._said_waiting = True
            self.events.message(f"waiting for another process, which computes {len(self.queue)} of these cells.")

    def _start(self, cell: Cell) -> int:
        try:
            self.runner.submit(cell)
            return 1
        except Busy:  # this moment
            self.queue.append(cell)
            return 0
        except OSError as error:  # no process could be had
            self._take(cell, outcome_of(error))
            return 0

    def _take(self, cell: Cell, outcome: Outcome) -> None:
        if outcome.status is Status.DONE:
            if outcome.record is not None:
                self.ledger.file_result(cell, outcome.record, outcome.probabilities)
                self.ledger.workspace.clear(cell)
            self.report.computed.append(cell)
            self._announce(cell, self.ledger.look_up(cell).record)
        elif outcome.status in (Status.BUSY, Status.STOPPED):
            self.queue.append(cell)
        elif outcome.status is Status.FULL:
            raise GpcnoiseError(
                f"no space is left for results ({outcome.reason.rstrip('.')}); free some and run the same command "
                "again: finished cells are kept."
            )
        else:
            self._take_failure(cell, outcome)

    def _take_failure(self, cell: Cell, outcome: Outcome) -> None:
        attempts = self.attempts[cell] = self.attempts.get(cell, 0) + 1
        transient = outcome.status is Status.TRANSIENT
        again = transient and attempts < ATTEMPTS
        self.events.failed(cell, outcome.reason, again)
        if again:
            self.queue.append(cell)
            return
        self.report.failed[cell] = outcome.reason
        self.ledger.file_failure(cell, outcome.reason, transient=transient, attempts=attempts)

    def _take_last(self) -> None:
        """Cells that ended while the runner was being stopped."""
        for cell, outcome in self.runner.finished():
            if outcome.status is Status.DONE:
                self._take(cell, outcome)

    def _announce(self, cell: Cell, record: Mapping[str, Any] | None) -> None:
        self.events.finished(cell, record or {}, len(self.queue) + len(self.runner.running()))
