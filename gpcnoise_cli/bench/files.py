"""A benchmark on disk: all its numbers as JSON, growth also as CSV; growth and time to quality also as plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpcnoise_cli.bench.drawings import growth_figure, quality_figure
from gpcnoise_cli.bench.tables import growth_rows, machine_line
from gpcnoise_cli.figures.files import make_folder, save_figure, write_csv, write_json
from gpcnoise_cli.figures.style import drawing


def write_bench(result: Mapping[str, Any], folder: Path) -> list[Path]:
    """One JSON file per part, each with the machine, so that parts measured apart stand side by side."""
    make_folder(folder)
    written = []
    for part in ("steps", "growth"):
        if part in result:
            path = folder / f"{part}.json"
            write_json(path, {"machine": result["machine"], part: result[part]})
            written.append(path)
    if "growth" in result:
        machine, points = result["machine"], result["growth"]["points"]
        path = folder / "growth.csv"
        write_csv(path, growth_rows(points))
        note = f"Measured on a busy machine: {machine_line(machine)}" if machine["busy"] else ""
        with drawing():
            written += [path, *save_figure(growth_figure(points, note), folder, "growth")]
    return written


def draw_quality(records: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """The picture beside the numbers, which the measurement keeps itself."""
    with drawing():
        return save_figure(quality_figure(records), folder, "quality")
