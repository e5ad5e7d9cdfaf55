"""The benchmark files of a results folder as tables of the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.bench.tables import (
    BenchTable,
    aims_table,
    classifiers_table,
    command_table,
    grid_table,
    growth_table,
    machine_line,
    quality_table,
    slowest_cells_table,
    steps_table,
)
from gpcnoise_cli.page.table_view import TableView, view_bench


@dataclass(frozen=True)
class BenchPart:
    title: str
    command: str
    machines: tuple[str, ...]
    tables: tuple[TableView, ...]


def read_bench(folder: Path) -> tuple[list[BenchPart], list[str]]:
    """The parts that were measured, and the files that could not be read."""
    parts, unreadable = [], []
    for name, (title, read) in _PARTS.items():
        path = folder / f"{name}.json"
        if not path.is_file():
            continue
        try:
            tables, machines = read(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            unreadable.append(f"bench/{path.name}")
            continue
        views = tuple(view_bench(table, f"bench-{name}-{number}") for number, table in enumerate(tables))
        parts.append(BenchPart(title, f"gpcnoise bench {name}", tuple(dict.fromkeys(machines)), views))
    return parts, unreadable


def _steps(content: Mapping[str, Any]) -> tuple[list[BenchTable], list[str]]:
    aims = aims_table(content["steps"])
    tables = [*(steps_table(record) for record in content["steps"]), *([aims] if aims.rows else [])]
    return tables, [machine_line(content["machine"])]


def _growth(content: Mapping[str, Any]) -> tuple[list[BenchTable], list[str]]:
    return [growth_table(content["growth"]["points"])], [machine_line(content["machine"])]


def _quality(content: Mapping[str, Any]) -> tuple[list[BenchTable], list[str]]:
    return [quality_table(content.values())], [machine_line(one["machine"]) for one in content.values()]


def _classifiers(content: Mapping[str, Any]) -> tuple[list[BenchTable], list[str]]:
    machines = [machine_line(one["machine"]) for by_name in content.values() for one in by_name.values()]
    return [classifiers_table(content)], machines


def _command(content: Mapping[str, Any]) -> tuple[list[BenchTable], list[str]]:
    machines = [machine_line(one["machine"]) for by_system in content.values() for one in by_system.values()]
    return [command_table(content)], machines


def _grid(content: Mapping[str, Any]) -> tuple[list[BenchTable], list[str]]:
    tables = [grid_table(content.values()), *(slowest_cells_table(one) for one in content.values())]
    return tables, [machine_line(one["machine"]) for one in content.values()]


_PARTS: dict[str, tuple[str, Callable[[Mapping[str, Any]], tuple[list[BenchTable], list[str]]]]] = {
    "steps": ("Time of a training step", _steps),
    "growth": ("Growth of a step with its sizes", _growth),
    "classifiers": ("Beside scikit-learn's classifiers", _classifiers),
    "quality": ("Time to the quality of the paper's settings", _quality),
    "command": ("From the shell command to the saved model", _command),
    "grid": ("Cells an hour", _grid),
}
