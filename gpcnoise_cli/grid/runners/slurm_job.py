"""What SLURM gets: cells bundled into jobs that are long enough to queue for, and what such a job does.

A job computes its cells one after another with the local runner, into the ledger that it shares with whoever submitted
it. Before its time is up SLURM warns it, and submitit puts it back into the queue: it goes on from its checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.grid.campaign import Campaign
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.cost import Estimator
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.runners.local import LocalRunner

# A queue takes minutes to start a job and its users mind thousands of them.
JOB_SECONDS = 1800.0
# An estimate from another machine may be a few times too low; a job that is cut short all the same is put back.
WALL_TIME_FACTOR = 3.0
LEAST_MINUTES = 10


@dataclass(frozen=True)
class Bundle:
    """The cells of one job, and how long they should take."""

    cells: tuple[Cell, ...]
    seconds: float

    @property
    def minutes(self) -> int:
        """The wall time to ask for."""
        return max(LEAST_MINUTES, math.ceil(WALL_TIME_FACTOR * self.seconds / 60))


def bundled(cells: Sequence[Cell], estimator: Estimator, at_least: int = 1, at_most: int | None = None) -> list[Bundle]:
    """Divide the cells into jobs of about half an hour, or of one cell that takes longer; the long ones first.

    Each cell goes to the job that has least to do so far, so that jobs are about equally long.
    """
    seconds = {cell: estimator.estimate(cell).seconds for cell in cells}
    jobs = max(at_least, math.ceil(sum(min(one, JOB_SECONDS) for one in seconds.values()) / JOB_SECONDS))
    jobs = min(jobs, len(cells), at_most or len(cells))
    filled: list[list[Cell]] = [[] for _ in range(jobs)]
    loads = [0.0] * jobs
    for cell in sorted(cells, key=lambda cell: -seconds[cell]):
        least = loads.index(min(loads))
        filled[least].append(cell)
        loads[least] += seconds[cell]
    return [Bundle(tuple(one), load) for one, load in zip(filled, loads, strict=True)]


def arrays_of(bundles: Sequence[Bundle]) -> dict[int, list[Bundle]]:
    """The bundles of each array, by its wall time, which is one for all: those within a factor of two go together."""
    arrays: dict[int, list[Bundle]] = {}
    for bundle in bundles:
        wall_time = LEAST_MINUTES * 2 ** math.ceil(math.log2(bundle.minutes / LEAST_MINUTES))
        arrays.setdefault(wall_time, []).append(bundle)
    return arrays


@dataclass(frozen=True)
class Job:
    """What is called on a node of the cluster; it returns what went wrong with the job as a whole, if anything."""

    cells: tuple[dict[str, Any], ...]
    ledger: str
    threads: int
    keep_probabilities: bool

    def __call__(self) -> str | None:
        ledger = Ledger(Path(self.ledger))
        runner = LocalRunner(ledger, 1, threads=self.threads, keep_probabilities=self.keep_probabilities)
        try:
            Campaign([Cell.from_dict(cell) for cell in self.cells], ledger, runner).run()
        except GpcnoiseError as error:
            return str(error)
        return None

    def checkpoint(self) -> Any:
        """Time is running out, or somebody else gets the node: submitit asks what to put back into the queue."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)
