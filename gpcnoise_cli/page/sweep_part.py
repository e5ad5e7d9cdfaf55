"""Sweeps and single runs as a part of the page: what was swept, and how good each combination is.

A sweep files each cell as `key=value,key=value-<digest>.json`: the names say what was swept, and the values are read
from the stored configurations. Runs of `gpcnoise train`, whose names say nothing, are told apart by all the settings in
which they differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from gpcnoise_cli.config.compare import NEUTRAL_KEYS
from gpcnoise_cli.config.groups import GROUPS, name_key
from gpcnoise_cli.page.found import FoundCell, is_number
from gpcnoise_cli.page.table_view import TableView, view_table
from gpcnoise_cli.tables.measured import label_of
from gpcnoise_cli.tables.table import NOT_COMPUTED, Value, figure, table_of, text

_SCORES = {"acc": ("acc %", 2), "nll": ("nll", 4), "brier": ("Brier", 4), "ece": ("ECE", 4)}
# Settings that follow from others, such as the bound from the likelihood, would fill a table.
MOST_KEYS = 8


@dataclass(frozen=True)
class SweepPart:
    folder: str
    keys: tuple[str, ...]
    table: TableView


def sweeps_of(cells: Sequence[FoundCell]) -> list[SweepPart]:
    """One part for each folder of cells that are not of the UCI grid."""
    folders: dict[str, list[FoundCell]] = {}
    for cell in cells:
        if cell.place is None and isinstance(cell.record.get("config"), Mapping):
            folders.setdefault(str(PurePosixPath(cell.path).parent), []).append(cell)
    parts = []
    for number, (folder, members) in enumerate(folders.items()):
        keys = _swept(members)
        if keys:
            parts.append(SweepPart(folder, tuple(keys), _table(members, keys, f"sweep-{number}")))
    return parts


def _swept(cells: Sequence[FoundCell]) -> list[str]:
    """The keys in the names of the cells, in their order; else those that differ."""
    named = [re.findall(r"(?:^|,)([a-z_][a-z0-9_.]*)=", PurePosixPath(cell.path).name) for cell in cells]
    keys = list(dict.fromkeys(key for names in named for key in names))
    known = {key for cell in cells for key in (*_flat(cell.record["config"]), *GROUPS)}
    keys = [key for key in keys if key in known]
    if keys or len(cells) < 2:
        return keys
    settings = [_flat(cell.record["config"]) for cell in cells]
    everything = dict.fromkeys(key for one in settings for key in one if key not in NEUTRAL_KEYS)
    return [key for key in everything if len({str(one.get(key)) for one in settings}) > 1][:MOST_KEYS]


def _table(cells: Sequence[FoundCell], keys: Sequence[str], name: str) -> TableView:
    best = min((cell.record["nll"] for cell in cells if is_number(cell.record.get("nll"))), default=None)
    rows = []
    for cell in cells:
        record, settings = cell.record, _flat(cell.record["config"])
        shown: dict[str, object] = {key: _told(settings.get(name_key(key) if key in GROUPS else key)) for key in keys}
        for key, value in (("set", record["dataset"]), ("method", label_of(record))):
            if not {"dataset", "dataset.name"} & {*keys} or key == "method":
                shown.setdefault(key, text(value))
        for key, (column, digits) in _SCORES.items():
            shown[column] = _score(record.get(key), digits, best=key == "nll" and record.get(key) == best)
        shown["steps"] = text(record.get("steps", NOT_COMPUTED))
        shown["seconds"] = _score(record.get("train_seconds"), 1)
        rows.append(shown)
    return view_table(table_of(name, "Every combination, the lowest nll in bold", rows))


def _score(value: Any, digits: int, *, best: bool = False) -> Value:
    return figure(value, digits, best=best) if is_number(value) else text(NOT_COMPUTED)


def _told(value: Any) -> Value:
    return text("true" if value is True else "false" if value is False else "–" if value is None else value)


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
