"""Cells an hour: the real `gpcnoise reproduce uci`, into a results folder that is new, and thrown away unless kept."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.bench.kept import read_kept, write_kept
from gpcnoise_cli.bench.timed import PROGRAM, run_timed
from gpcnoise_cli.errors import GpcnoiseError, UsageError

FILE = "grid.json"
_KEPT_OF_A_CELL = ("dataset", "likelihood", "split", "steps", "train_seconds", "acc", "nll")


@dataclass(frozen=True)
class Request:
    """The grid, in the options of `reproduce uci`; None leaves one to its default."""

    preset: str = "fast"
    protocol: str = "paper"
    splits: str = "0"
    datasets: str | None = None
    likelihoods: str | None = None
    iterations: str | None = None
    workers: int | None = None
    overrides: Sequence[str] = ()

    @property
    def arguments(self) -> list[str]:
        asked = {
            "--preset": self.preset,
            "--protocol": self.protocol,
            "--splits": self.splits,
            "--datasets": self.datasets,
            "--likelihoods": self.likelihoods,
            "--iterations": self.iterations,
            "--workers": self.workers,
        }
        options = [text for name, value in asked.items() if value is not None for text in (name, str(value))]
        return ["reproduce", "uci", *options, *self.overrides]

    @property
    def name(self) -> str:
        """The command as one would type it; what a measurement is filed under."""
        return shlex.join(["gpcnoise", *self.arguments])


def measure_grid(
    request: Request, folder: Path, machine: Mapping[str, Any], keep: Path | None = None
) -> dict[str, Any]:
    """Compute the grid, file what it cost, and return the record; its cells stay in `keep`, a new folder."""
    if keep is not None and keep.exists():
        raise UsageError(f"--keep {keep}: cells that are there already would not be timed; name a folder to be made.")
    with tempfile.TemporaryDirectory(prefix="gpcnoise-bench-") as scratch:
        arguments = [*request.arguments, "--results", str(keep or scratch), "--json"]
        finished = run_timed([*PROGRAM, *arguments], show_errors=True)
    if finished.code == 130:
        raise KeyboardInterrupt
    if not finished.stdout.strip():
        error = GpcnoiseError(f"`{request.name}` ended with exit code {finished.code}; its own message stands above.")
        error.exit_code = finished.code
        raise error
    report = json.loads(finished.stdout)
    cells, failed = report["cells"], report["failed"]
    if not cells:
        raise GpcnoiseError(f"all {len(failed)} cells of `{request.name}` failed; their reasons stand above.")
    record = {
        "command": request.name,
        "machine": dict(machine),
        "seconds": finished.seconds,
        "processor_seconds": finished.processor_seconds,
        "cells_per_hour": 3600 * len(cells) / finished.seconds,
        "processor_seconds_per_cell": finished.processor_seconds / len(cells),
        "train_seconds": sum(cell["train_seconds"] for cell in cells),
        "failed": failed,
        "absent": report["absent"],
        "cells": [{key: cell[key] for key in _KEPT_OF_A_CELL} for cell in cells],
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_kept(folder / FILE, {**read_kept(folder / FILE), request.name: record})
    return record
