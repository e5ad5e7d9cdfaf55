"""The cells that claims rest on: the figures of each split, by preset, protocol, kernel, set and label."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.uci import folder_name
from gpcnoise_cli.tables.measured import label_of
from gpcnoise_cli.tables.published import METRICS
from gpcnoise_cli.tables.uci import PRESETS, PROTOCOLS

ABLATIONS_FOLDER = "ablations"
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
    """`cells[source, kernel, set, label][split]`, of the plain ledgers of a results folder."""

    base: Path
    cells: dict[tuple[Source, str, str, str], dict[int, CellFigures]] = field(default_factory=dict)

    @classmethod
    def read(cls, base: Path, *, departing: bool = False) -> Evidence:
        """Cells that depart from their preset are behind no claim; an ablation's do so on purpose."""
        found = cls(base)
        for preset in PRESETS:
            folder = folder_name(preset, {})
            for path, record in Ledger(base / folder).records():
                wanted = len(path.parts) == _DEPTH and path.parts[0] in PROTOCOLS
                if wanted and _is_sound(record) and (departing or not record.get("departures")):
                    protocol, kernel = path.parts[:2]
                    key = Source(preset, protocol), kernel, str(record["dataset"]), label_of(record)
                    values = {metric: float(record[metric]) for metric in METRICS}
                    cell = CellFigures(f"{folder}/{path.as_posix()}", values, digest_of_figures(record))
                    found.cells.setdefault(key, {})[int(record["split"])] = cell
        return found

    def __bool__(self) -> bool:
        return bool(self.cells)

    def values(self, source: Source, kernel: str, name: str, label: str, metric: str) -> dict[int, float]:
        """The figure of each split."""
        found = self.cells.get((source, kernel, name, label), {})
        return {split: cell.values[metric] for split, cell in sorted(found.items())}

    def averages(self, source: Source, kernel: str, names: Sequence[str], label: str, metric: str) -> dict[int, float]:
        """The mean over sets, for each split that all of them have."""
        lines = [self.values(source, kernel, name, label, metric) for name in names]
        complete = set.intersection(*(set(line) for line in lines)) if lines else set()
        return {split: sum(line[split] for line in lines) / len(lines) for split in sorted(complete)}

    def elsewhere(self, source: Source, kernel: str, name: str, label: str, metric: str) -> list[float]:
        """The same set and label under another preset, where that has the most splits: their spread is known."""
        others = [Source(preset, source.protocol) for preset in PRESETS if preset != source.preset]
        return max(([*self.values(one, kernel, name, label, metric).values()] for one in others), key=len, default=[])

    def paths(self, source: Source, kernel: str, names: Iterable[str], labels: Iterable[str]) -> tuple[str, ...]:
        labels = tuple(labels)
        keys = [(source, kernel, name, label) for name in names for label in labels]
        return tuple(cell.path for key in keys for _, cell in sorted(self.cells.get(key, {}).items()))

    def digests(self) -> dict[str, str]:
        """The digest of every cell by its path."""
        return {cell.path: cell.digest for cells in self.cells.values() for cell in cells.values()}


def digest_of_figures(record: Mapping[str, Any]) -> str:
    """What must not change behind a claim: settings, split and metrics."""
    kept = [record["digest"], record["split"], *(record[metric] for metric in METRICS)]
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:10]


def _is_sound(record: Mapping[str, Any]) -> bool:
    """Whether it is a result that a figure can rest on; a file may have been edited into anything."""
    numbers, split = [record.get(metric) for metric in METRICS], record.get("split")
    named = isinstance(record.get("dataset"), str) and isinstance(record.get("label") or record.get("method"), str)
    right = all(isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) for one in numbers)
    return named and right and isinstance(split, int) and not isinstance(split, bool)
