"""The cells that claims rest on: the figures of each split, by preset, protocol, kernel, set and label.

Beside the metrics of the tables a cell says how far its nll ends above the lowest along its training (`RISE`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.uci import folder_name
from gpcnoise_cli.tables.measured import label_of
from gpcnoise_cli.tables.published import METRICS
from gpcnoise_cli.tables.uci import PRESETS, PROTOCOLS

ABLATIONS_FOLDER = "ablations"
RISE = "nll rise"
_DEPTH = 5  # protocol/kernel/set/likelihood/split


@dataclass(frozen=True)
class Source:
    """Whose cells: a preset and a protocol."""

    preset: str
    protocol: str


@dataclass(frozen=True)
class CellFigures:
    """What a cell says: its path below the results folder, its metrics, and a digest of settings and metrics."""

    path: str
    values: Mapping[str, float]
    digest: str


@dataclass
class Evidence:
    """`cells[source, kernel, set, label][split]`, of the plain ledgers of a results folder or those of an ablation."""

    base: Path
    cells: dict[tuple[Source, str, str, str], dict[int, CellFigures]] = field(default_factory=dict)
    _flipped: dict[str, Evidence] = field(default_factory=dict)

    @classmethod
    def read(cls, base: Path, ablation: str = "") -> Evidence:
        """Cells that depart from their preset are behind no claim; an ablation's do so on purpose."""
        found = cls(base)
        inside = f"{ABLATIONS_FOLDER}/{ablation}/" if ablation else ""
        for preset in PRESETS:
            folder = f"{inside}{folder_name(preset, {})}"
            for path, record in Ledger(base / folder).records():
                wanted = len(path.parts) == _DEPTH and path.parts[0] in PROTOCOLS
                if wanted and _is_sound(record) and (ablation or not record.get("departures")):
                    protocol, kernel = path.parts[:2]
                    key = Source(preset, protocol), kernel, str(record["dataset"]), label_of(record)
                    cell = CellFigures(f"{folder}/{path.as_posix()}", _values(record), digest_of_figures(record))
                    found.cells.setdefault(key, {})[int(record["split"])] = cell
        return found

    def flipped(self, ablation: str) -> Evidence:
        """The cells filed for an ablation, read once."""
        if ablation not in self._flipped:
            self._flipped[ablation] = Evidence.read(self.base, ablation)
        return self._flipped[ablation]

    def __bool__(self) -> bool:
        return bool(self.cells)

    def values(self, source: Source, kernel: str, name: str, label: str, metric: str) -> dict[int, float]:
        """The figure of each split."""
        found = self.cells.get((source, kernel, name, label), {})
        return {split: cell.values[metric] for split, cell in sorted(found.items()) if metric in cell.values}

    def averages(self, source: Source, kernel: str, names: Sequence[str], label: str, metric: str) -> dict[int, float]:
        """The mean over sets, for each split that all of them have."""
        lines = [self.values(source, kernel, name, label, metric) for name in names]
        complete = set.intersection(*(set(line) for line in lines)) if lines else set()
        return {split: sum(line[split] for line in lines) / len(lines) for split in sorted(complete)}

    def elsewhere(self, source: Source, kernel: str, name: str, label: str, metric: str) -> list[float]:
        """The same set and label under another preset, where that has the most splits: their spread is known."""
        others = [Source(preset, source.protocol) for preset in PRESETS if preset != source.preset]
        return max(([*self.values(one, kernel, name, label, metric).values()] for one in others), key=len, default=[])

    def paths(self, source: Source, kernel: str, name: str, label: str) -> tuple[str, ...]:
        return tuple(cell.path for _, cell in sorted(self.cells.get((source, kernel, name, label), {}).items()))

    def digests(self) -> dict[str, str]:
        """The digest of every cell by its path."""
        return {cell.path: cell.digest for cells in self.cells.values() for cell in cells.values()}


def _values(record: Mapping[str, Any]) -> dict[str, float]:
    values = {metric: float(record[metric]) for metric in METRICS}
    curve = record.get("curve")
    along = curve.get("nll") if isinstance(curve, Mapping) else None
    if isinstance(along, list) and along and all(map(_is_number, along)):
        values[RISE] = values["nll"] - min(along)
    return values


def digest_of_figures(record: Mapping[str, Any]) -> str:
    """What must not change behind a claim: settings, split and metrics."""
    kept = [record["digest"], record["split"], *(record[metric] for metric in METRICS)]
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:10]


def _is_sound(record: Mapping[str, Any]) -> bool:
    """Whether it is a result that a figure can rest on; a file may have been edited into anything."""
    numbers, split = [record.get(metric) for metric in METRICS], record.get("split")
    named = isinstance(record.get("dataset"), str) and isinstance(record.get("label") or record.get("method"), str)
    return named and all(map(_is_number, numbers)) and isinstance(split, int) and not isinstance(split, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
