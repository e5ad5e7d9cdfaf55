"""Runners: hand in a cell, learn how it ended. One interface, so that a grid need not know where it is computed.

A runner decides where cells are computed and with how many threads each. A result, the test-set probabilities and the
seconds that it took come back as values in its outcome, or are in the ledger already; retries, failures and what is
told about them belong to the campaign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.outcome import Outcome, Progress


class Runner(Protocol):
    """Computes up to `capacity` cells at a time; no call blocks for long but `stop`."""

    @property
    def capacity(self) -> int:
        """How many cells can be under way; on a cluster this changes with its nodes."""

    @property
    def threads(self) -> int:
        """The threads that each cell gets; its result names them, because the last bits depend on them."""

    @property
    def detached(self) -> bool:
        """Whether what was submitted goes on by itself and nobody wants to wait for it."""

    @property
    def where(self) -> str:
        """Where cells are computed, for people; empty: here."""

    def has(self, cell: Cell) -> bool:
        """Whether an earlier command has submitted the cell and it is still under way; `submit` then attaches to it."""

    def submit(self, cell: Cell) -> None:
        """Start computing a cell. Raises `OSError` where that cannot be done now, `Busy` where another process is."""

    def finished(self) -> Iterable[tuple[Cell, Outcome]]:
        """The cells that ended since the last call; what a cell holds is let go once its outcome has been taken."""

    def running(self) -> Mapping[Cell, Progress]:
        """The cells under way, in the order they were submitted."""

    def stop(self, patience: float) -> None:
        """Ask every running cell to keep a checkpoint and end; break off those that take longer than `patience`."""
