"""The paper's UCI benchmark (Tables II to V): which sets there are, where its results are filed, what is left to do.

Full settings of a preset are filed under `uci` (paper) or `uci-<preset>`. A grid that departs from its preset, say by
fewer steps, is filed under a name that says so, unless the user names a folder of their own for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.data.folder import is_present
from gpcnoise_cli.data.registry import DATASETS, UCI_NAMES, get_spec
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.experiments.cell import Cell, read_config, settings_of
from gpcnoise_cli.experiments.grid import Grid
from gpcnoise_cli.experiments.ledger import Entry, Ledger, State

RESULTS = Path("results")


def folder_name(preset: str, departures: Mapping[str, Any]) -> str:
    """`uci`, `uci-fast`, `uci-iterations-200`, ..."""
    parts = ["uci", *([] if preset == "paper" else [preset])]
    parts += [f"{key.rpartition('.')[2]}-{value}" for key, value in sorted(departures.items())]
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", "-".join(parts))


def ledger_for(grid: Grid, results: Path | None) -> Ledger:
    """Where the grid is filed. In a folder of one's own the plain name is used: its owner knows what it holds."""
    own = results is not None and results.resolve() != RESULTS.resolve()
    return Ledger((results or RESULTS) / folder_name(grid.preset, {} if own else grid.departures()))


def check_sets(names: Sequence[str]) -> None:
    for name in names:
        if name in DATASETS and name not in UCI_NAMES:
            raise UsageError(f"{name!r} is not one of the paper's UCI sets; choose from: {', '.join(UCI_NAMES)}.")
        if name not in UCI_NAMES:
            raise unknown_choice("dataset", name, UCI_NAMES)


def present_sets(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sets that can be loaded here, and those that cannot."""
    here = [name for name in names if get_spec(name).generated or is_present(get_spec(name))]
    return here, [name for name in names if name not in here]


@dataclass(frozen=True)
class Plan:
    """The cells of a grid by what the ledger holds of them."""

    cells: list[Cell]
    entries: dict[Cell, Entry]

    @classmethod
    def of(cls, cells: Sequence[Cell], ledger: Ledger) -> Plan:
        return cls(list(cells), {cell: ledger.look_up(cell) for cell in cells})

    def in_state(self, *states: State) -> list[Cell]:
        return [cell for cell in self.cells if self.entries[cell].state in states]

    def to_do(self, retry_failed: bool) -> list[Cell]:
        return self.in_state(State.OPEN, *([State.FAILED] if retry_failed else []))

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
        there = settings_of(read_config((entry.record or {})["config"], origin="the record"))
    except (KeyError, TypeError, UsageError):
        return "its configuration cannot be read"
    asked = settings_of(cell.config)
    found = [f"{key} {there[key]}, not {asked[key]}" for key in asked if there[key] != asked[key]]
    return ", ".join(found[:3]) + (" ..." if len(found) > 3 else "")
