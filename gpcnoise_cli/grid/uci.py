"""The paper's UCI benchmark (Tables II to V): which sets there are, and where its results are filed.

Full settings of a preset are filed under `uci` (paper) or `uci-<preset>`. A grid that departs from its preset, say by
fewer steps, is filed under a name that says so, unless the user names a folder of their own for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpcnoise_cli.data.folder import is_present
from gpcnoise_cli.data.registry import DATASETS, UCI_NAMES, get_spec
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.grid.grid import Grid
from gpcnoise_cli.grid.ledger import Ledger

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
