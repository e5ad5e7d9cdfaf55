"""A benchmark on disk: all its numbers as JSON, growth also as CSV; growth and time to quality also as plots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpcnoise_cli.bench.drawings import growth_figure, quality_figure
from gpcnoise_cli.bench.kept import read_kept
from gpcnoise_cli.bench.quality import FILE, Request
from gpcnoise_cli.bench.tables import growth_rows, machine_line
from gpcnoise_cli.figures.files import make_folder, save_figure, write_csv
from gpcnoise_cli.figures.style import drawing
from gpcnoise_cli.files import write_json


def write_bench(machine: Mapping[str, Any], found: Mapping[str, Any], folder: Path) -> list[Path]:
    """One JSON file per part, each with the machine, so that parts measured apart stand side by side."""
    make_folder(folder)
    written = []
    for part, content in found.items():
        written.append(folder / f"{part}.json")
        write_json(written[-1], {"machine": machine, part: content})
    if "growth" in found:
        points = found["growth"]["points"]
        written.append(folder / "growth.csv")
        write_csv(written[-1], growth_rows(points))
        note = f"Measured on a busy machine: {machine_line(machine)}" if machine["busy"] else ""
        with drawing():
            written += save_figure(growth_figure(points, note), folder, "growth")
    return written


def draw_kept_quality(request: Request, folder: Path) -> list[Path]:
    """The picture of all that is kept of this kind: a call for one more set must not take the others out of it."""
    kept = read_kept(folder / FILE)
    with drawing():
        chosen = [one for name, one in kept.items() if name.startswith(request.name(""))]
        return save_figure(quality_figure(chosen), folder, "quality")
