"""A plan: the cells that are asked for, by what the ledger holds of them already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpcnoise_cli.config.compare import differences, settings_of
from gpcnoise_cli.config.compose import from_dict
from gpcnoise_cli.data.folder import present_sets
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Entry, Ledger, State


@dataclass(frozen=True)
class Plan:
    """Cells in the order they are to be computed, each with its entry."""

    cells: list[Cell]
    entries: dict[Cell, Entry]

    @classmethod
    def of(cls, cells: Sequence[Cell], ledger: Ledger) -> Plan:
        return cls(list(cells), {cell: ledger.look_up(cell) for cell in cells})

    def in_state(self, *states: State) -> list[Cell]:
        return [cell for cell in self.cells if self.entries[cell].state in states]

    def to_do(self, retry_failed: bool) -> list[Cell]:
        return self.in_state(State.OPEN, *([State.FAILED] if retry_failed else []))

    def computable(self) -> tuple[Plan, list[str]]:
        """Without the cells still to be computed whose set is not here, and the names of those sets.

        What is filed needs no data.
        """
        here = present_sets({cell.config.dataset.name for cell in self.cells})[0]
        kept = [
            cell for cell in self.cells if cell.config.dataset.name in here or self.entries[cell].state is State.DONE
        ]
        return Plan(kept, self.entries), sorted({cell.config.dataset.name for cell in {*self.cells} - {*kept}})

    def refuse_other_settings(self, folder: Path) -> None:
        """A folder holds one set of settings: nothing is overwritten, nothing mixed."""
        others = self.in_state(State.OTHER)
        if not others:
            return
        first = others[0]
        raise UsageError(
            f"{folder} holds {len(others)} of these cells with other settings ({first.name}: "
            f"{_difference(first, self.entries[first])}); choose another --results, or remove them first."
        )


def _difference(cell: Cell, entry: Entry) -> str:
    try:
        stored = from_dict((entry.record or {})["config"], origin="the record")
    except (KeyError, TypeError, UsageError):
        return "its configuration cannot be read"
    there = settings_of(stored)
    found = [f"{key} {there.get(key)}, not {value}" for key, value in differences(cell.config, stored).items()]
    return ", ".join(found[:3]) + (" ..." if len(found) > 3 else "")
