"""Computing one cell in this process: from its scratch folder, resuming what is there, to a record for the ledger."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.config.compose import to_yaml
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_text
from gpcnoise_cli.grid.cell import Cell, stored_config
from gpcnoise_cli.runs.provenance import commit, host
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.tracking.tracker import Place
from gpcnoise_cli.training.events import TrainingEvents

CURVE_DIGITS = 6


@dataclasses.dataclass(frozen=True)
class Computed:
    """A finished cell: its record, and the test-set probabilities where they were asked for."""

    record: dict[str, Any]
    probabilities: dict[str, np.ndarray] | None


def compute_cell(
    cell: Cell,
    scratch: Path,
    *,
    threads: int,
    keep_probabilities: bool,
    events: TrainingEvents,
    stop_requested: Callable[[], bool],
    tracked_at: Place | None = None,
    data: Split | None = None,
    began: float | None = None,
) -> Computed:
    """Train the cell in `scratch`, from its checkpoint where one is left; raises `Interrupted` when asked to stop.

    `data` spares it the reading of files. With `began`, the `time.perf_counter()` at which the work on the cell began,
    the record says how long it took, start included; of a resumed run the training before is in train_seconds only.
    """
    config = _with_threads(cell.config, threads)
    made_by = {"host": host(), "commit": commit()}  # now: the checkout may move on while this runs
    scratch.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(scratch)
    result, resumed = _finished(folder, keep_probabilities), folder.checkpoint.exists()
    if result is None:
        from gpcnoise_cli.runs.train import run_training

        def train(resume: bool) -> dict[str, Any]:
            write_text(scratch / "config.yaml", to_yaml(config))
            return run_training(
                config,
                data=data,
                folder=folder,
                resume=resume,
                events=events,
                stop_requested=stop_requested,
                keep_probabilities=keep_probabilities,
                tracked_at=tracked_at,
            )

        try:
            result = train(resume=resumed)
        except GpcnoiseError:
            if not resumed:
                raise
            # A damaged checkpoint must not stand in the way, nor a run that went astray before it.
            folder.checkpoint.unlink(missing_ok=True)
            resumed, result = False, train(resume=False)
    record = {
        **{key: value for key, value in result.items() if key != "run_dir"},
        "run_dir": None,  # the scratch folder goes once the cell is filed
        "curve": curve_summary(folder),
        "resumed": resumed,
        "threads": config.runtime.threads,
        **made_by,
        "departures": dict(cell.departures),
        "config": stored_config(cell.config),
        "digest": cell.digest,
        **({"seconds": time.perf_counter() - began} if began is not None else {}),
    }
    return Computed(record, _load_probabilities(folder) if keep_probabilities else None)


def curve_summary(folder: RunFolder) -> dict[str, Any]:
    """The measurements along training by column, and the best of them."""
    points = folder.read_curve()
    columns = [field.name for field in dataclasses.fields(points[0])] if points else []
    curve: dict[str, Any] = {column: [_rounded(getattr(point, column)) for point in points] for column in columns}
    if points:
        best = min(points, key=lambda point: point.nll)
        curve["best"] = {"step": best.step, "nll": _rounded(best.nll), "acc": _rounded(best.acc)}
    return curve


def _rounded(value: float | None) -> float | None:
    return float(f"{value:.{CURVE_DIGITS}g}") if isinstance(value, float) else value


def _with_threads(config: TrainConfig, threads: int) -> TrainConfig:
    """The share of this machine's cores, unless the configuration says how many."""
    chosen = config.runtime.threads or threads
    return dataclasses.replace(config, runtime=dataclasses.replace(config.runtime, threads=chosen))


def _finished(folder: RunFolder, keep_probabilities: bool) -> dict[str, Any] | None:
    """The result of a run that ended, but whose process died before the cell was filed."""
    if keep_probabilities and not folder.probabilities.exists():
        return None
    try:
        return folder.read_metrics()
    except GpcnoiseError:
        return None


def _load_probabilities(folder: RunFolder) -> dict[str, np.ndarray]:
    with np.load(folder.probabilities) as stored:
        arrays: Mapping[str, np.ndarray] = dict(stored)
    return dict(arrays)
