"""The benchmark files of a results folder as tables of the page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from gpcnoise_cli.bench.tables import bench_tables, machines_of
from gpcnoise_cli.page.table_view import TableView, view_table

_TITLES = {
    "steps": "Time of a training step",
    "growth": "Growth of a step with its sizes",
    "classifiers": "Beside scikit-learn's classifiers",
    "tables": "Real tables without preparation",
    "quality": "Time to the quality of the paper's settings",
    "command": "From the shell command to the saved model",
    "grid": "Cells an hour",
}


@dataclass(frozen=True)
class BenchPart:
    title: str
    command: str
    machines: tuple[str, ...]
    tables: tuple[TableView, ...]


def read_bench(folder: Path) -> tuple[list[BenchPart], list[str]]:
    """The parts that were measured, and the files that could not be read."""
    parts, unreadable = [], []
    for name, title in _TITLES.items():
        path = folder / f"{name}.json"
        if not path.is_file():
            continue
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            tables = bench_tables(name, content[name] if "machine" in content else content)
            machines = tuple(dict.fromkeys(machines_of(content)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            unreadable.append(f"bench/{path.name}")
            continue
        views = tuple(view_table(table, name=f"bench-{name}-{number}") for number, table in enumerate(tables))
        parts.append(BenchPart(title, f"gpcnoise bench {name}", machines, views))
    return parts, unreadable
