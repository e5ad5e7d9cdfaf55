"""Cells on this machine: a process for each, so that a crash, a leak or the kernel's killer takes one cell and nothing
else; the cores are divided among the processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping

from gpcnoise_cli.grid import fork_server
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.fork_server import ForkServer
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.outcome import Outcome, Progress, outcome_of
from gpcnoise_cli.grid.worker import Task, read_progress
from gpcnoise_cli.grid.worker_process import FreshProcess, WorkerProcess
from gpcnoise_cli.runs.provenance import available_cores

# What one process needs at the paper's largest settings; with less per worker the kernel would start killing them.
BYTES_PER_WORKER = 1_500_000_000
# A server that was killed is replaced; one that is killed again and again had better not be.
MOST_SERVERS = 3
STOP_POLL_SECONDS = 0.02
LAST_PATIENCE = 5.0


class LocalRunner:
    """Processes on this machine, one for each cell: forked from a process with the imports done, else fresh ones."""

    def __init__(
        self,
        ledger: Ledger,
        workers: int,
        *,
        threads: int | None = None,
        keep_probabilities: bool = False,
        fork: bool = True,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.ledger, self.capacity, self.keep_probabilities = ledger, workers, keep_probabilities
        self.threads, self.detached = threads or threads_each(workers), False
        self.where = ""
        self._fork, self._say = fork and fork_server.possible(), say
        self._server: ForkServer | None = None
        self._servers_lost = 0
        self._stopping = False
        self._processes: dict[Cell, WorkerProcess] = {}

    def has(self, cell: Cell) -> bool:
        return False  # whatever an earlier command began has stopped with it

    def submit(self, cell: Cell) -> None:
        task = Task(cell, self.ledger.folder.resolve(), self.threads, self.keep_probabilities, os.getpid())
        self._processes[cell] = self._start(task)

    def finished(self) -> list[tuple[Cell, Outcome]]:
        taken = []
        for cell in [cell for cell, process in self._processes.items() if process.ended()]:
            outcome = self._processes.pop(cell).outcome()
            if outcome is not None:
                taken.append((cell, outcome))
            elif not self._stopping:  # its server died before it began
                try:
                    self.submit(cell)
                except OSError as error:
                    taken.append((cell, outcome_of(error)))
        return taken

    def running(self) -> Mapping[Cell, Progress]:
        return {cell: read_progress(self.ledger.workspace.progress(cell)) for cell in self._processes}

    def stop(self, patience: float) -> None:
        self._stopping = True
        if self._server is not None:
            self._server.listen()
            if not self._server.ready:
                self._server.close()  # nothing has begun
        self._end_all(signal.SIGTERM, patience)
        self._end_all(signal.SIGKILL, LAST_PATIENCE)
        if self._server is not None:
            self._server.close()

    def _end_all(self, number: int, patience: float) -> None:
        deadline = time.monotonic() + patience
        left, unaware = list(self._processes.values()), list(self._processes.values())
        while left and time.monotonic() < deadline:
            unaware = [process for process in unaware if not process.signal(number)]
            left = [process for process in left if not process.ended()]
            time.sleep(STOP_POLL_SECONDS if left else 0.0)

    def _start(self, task: Task) -> WorkerProcess:
        if self._server is not None:
            self._server.listen()
            if self._server.gone:
                self._mourn(self._server)
        if self._fork:
            self._server = self._server or ForkServer()
            with contextlib.suppress(ConnectionError):  # it has died this moment; the next cell will tell
                return self._server.start(task)
        return FreshProcess(task)

    def _mourn(self, server: ForkServer) -> None:
        """Say that the server is gone, and do without one where another would fare no better."""
        self._server, self._servers_lost = None, self._servers_lost + 1
        self._fork = server.ready and self._servers_lost < MOST_SERVERS
        what_next = "starting another" if self._fork else "every cell gets a process from nothing, which takes longer"
        self._say(f"the process that forks the workers is gone ({server.why()}): {what_next}.")


def threads_each(workers: int) -> int:
    """The share of the cores that each of so many workers gets."""
    return max(1, available_cores() // workers)


def default_workers(cells: int) -> int:
    """One worker per core, as far as there are cells and memory for them."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        memory = BYTES_PER_WORKER
    return max(1, min(available_cores(), cells, memory // BYTES_PER_WORKER))
