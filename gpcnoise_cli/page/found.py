"""What a folder of results holds, read without trusting it: cells, runs, failures, and files that say nothing.

A cell of the UCI grid lies at `<ledger>/<protocol>/<kernel>/<set>/<likelihood or method>/split-<k>.json`; other cells
(of a sweep) and the runs of `gpcnoise train` may lie anywhere below the folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.grid.compute import curve_summary
from gpcnoise_cli.grid.ledger import FAILURE_ENDING, RESULT_ENDING, read_record
from gpcnoise_cli.runs.run_folder import RunFolder

# These have readers of their own.
OTHER_PARTS = ("ablations", "bench", "figures")
PROTOCOLS = ("paper", "clean")
_GRID_DEPTH = 5
# What every table needs, and what not every method has.
_TEXTS = ("dataset", "method", "preset", "protocol")
_OPTIONAL_TEXTS = ("label", "likelihood", "kernel")
_TREES = ("config", "curve", "departures", "host", "versions")
_NUMBERS = ("acc", "nll")
_OPTIONAL_NUMBERS = ("train_seconds", "iterations", "inducing", "batch_size")


@dataclass(frozen=True)
class Place:
    """Where a UCI cell is filed: the ledger's folder below the base, and the first two steps in it."""

    ledger: str
    protocol: str
    kernel: str


@dataclass(frozen=True)
class FoundCell:
    path: str
    record: Mapping[str, Any]
    place: Place | None  # None: not of the UCI grid


@dataclass(frozen=True)
class Failure:
    path: str
    record: Mapping[str, Any]
    place: Place | None


@dataclass
class Found:
    cells: list[FoundCell] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)  # path, why

    def __bool__(self) -> bool:
        return bool(self.cells or self.failures or self.unreadable)


def find(base: Path) -> Found:
    """Everything below `base`, in the order of the paths."""
    found = Found()
    for path in _files(base):
        inside = path.relative_to(base)
        place, name = _place(inside), inside.as_posix()
        if path.name == "config.yaml":
            _take_run(found, path.parent, inside.parent.as_posix())
            continue
        record = read_record(path)
        if record is None:
            found.unreadable.append((name, "it is torn or no JSON"))
        elif path.name.endswith(FAILURE_ENDING):
            found.failures.append(Failure(name, record, place))
        elif "digest" in record:
            wrong = _missing(record)
            if wrong:
                found.unreadable.append((name, f"it holds no usable {wrong}"))
            else:
                found.cells.append(FoundCell(name, _without_nonsense(record), place))
        elif place is not None:
            found.unreadable.append((name, "it is no result cell (it has no digest)"))
    return found


def _files(base: Path) -> Iterator[Path]:
    for path in sorted(base.rglob("*")):
        parts = path.relative_to(base).parts
        if any(part.startswith(".") for part in parts) or parts[0] in OTHER_PARTS or not path.is_file():
            continue
        # The JSON files inside a run folder belong to the run.
        if path.name == "config.yaml" or (
            path.name.endswith(RESULT_ENDING) and not (path.parent / "config.yaml").is_file()
        ):
            yield path


def _place(inside: Path) -> Place | None:
    parts = inside.parts
    if len(parts) < _GRID_DEPTH or parts[-_GRID_DEPTH] not in PROTOCOLS:
        return None
    if re.fullmatch(r"split-\d+(\.failed)?\.json", parts[-1]) is None:
        return None
    return Place("/".join(parts[:-_GRID_DEPTH]), *parts[-_GRID_DEPTH : -_GRID_DEPTH + 2])


def _take_run(found: Found, folder: Path, name: str) -> None:
    run = RunFolder(folder)
    try:
        record = run.read_metrics()
        if record is None:
            found.unreadable.append((name, "the run is not finished"))
            return
        record = {**record, "curve": curve_summary(run), "config": _config(run)}
    except (GpcnoiseError, OSError, ValueError, TypeError) as error:
        found.unreadable.append((name, str(error).rstrip(".")))
        return
    wrong = _missing(record)
    if wrong:
        found.unreadable.append((name, f"its metrics.json holds no usable {wrong}"))
    else:
        found.cells.append(FoundCell(name, _without_nonsense(record), None))


def _config(run: RunFolder) -> dict[str, Any] | None:
    from gpcnoise_cli.grid.cell import stored_config

    return stored_config(run.read_config())


def _missing(record: Mapping[str, Any]) -> str | None:
    """The first thing every table needs and the record lacks."""
    for key in _TEXTS:
        if not isinstance(record.get(key), str):
            return key
    return next((key for key in _NUMBERS if not is_number(record.get(key))), None)


def _without_nonsense(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record without fields that are not what their name says, so that no table stumbles over them."""
    config = record.get("config")
    sound = {key: value for key, value in record.items() if key not in _TREES or isinstance(value, Mapping)}
    if isinstance(config, Mapping) and not isinstance(config.get("optimizer", {}), Mapping):
        del sound["config"]
    odd = {key for key in _OPTIONAL_TEXTS if not isinstance(sound.get(key), str)}
    odd |= {key for key in _OPTIONAL_NUMBERS if not is_number(sound.get(key))}
    return {key: value for key, value in sound.items() if key not in odd}


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def tell(folder: Path) -> str:
    """The folder as a command may name it: as it was given, but no place of this machine."""
    return folder.name if folder.is_absolute() else folder.as_posix()
