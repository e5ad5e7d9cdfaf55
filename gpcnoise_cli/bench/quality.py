"""Time to a quality: seconds of training until the test nll is as good as where the paper's settings end.

The paper's preset is trained to its end (10,000 Adam steps from 0.1√d); its last test nll plus a tolerance is the mark.
What counts is the step of the first measurement at or below the mark. Stock GPflow follows the same mathematics as the
paper's preset, so it needs as many steps. Steps become seconds by the time per step of each system, all timed side by
side at the same sizes after the training: a busy machine spoils neither the steps nor the ratios. Compiling and
evaluation are not counted for anyone; what the training itself took is kept beside.

Each data set is filed as soon as it is measured, and a later call measures only what is missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.bench.case import Case, synthetic
from gpcnoise_cli.bench.interleave import Effort, interleave, ratio, spread
from gpcnoise_cli.bench.kept import read_kept, write_kept
from gpcnoise_cli.bench.systems import engine, stock
from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.grid.cell import Cell, digest_of
from gpcnoise_cli.grid.compute import compute_cell
from gpcnoise_cli.likelihoods.registry import num_latent_functions
from gpcnoise_cli.runs.provenance import available_cores
from gpcnoise_cli.training.events import TrainingEvents

DATASETS = ("waveform-noise", "statlog-landsat", "ringnorm", "adult", "letter")
TOLERANCE = 0.005
# The presets compared, and the steps between their measurements.
MEASURE_EVERY = {"paper": 100, "fast": 20}
# Whose step times stand for a preset.
ENGINE_OF = {"paper": "mixed", "fast": "natgrad"}
FILE = "quality.json"


@dataclass(frozen=True)
class Request:
    """What to measure; `overrides` change both presets alike."""

    datasets: Sequence[str] = DATASETS
    protocol: str = "clean"
    likelihood: str = "softmax"
    overrides: Sequence[str] = ()

    def config(self, dataset: str, preset: str) -> TrainConfig:
        return compose(
            [
                f"preset={preset}",
                f"dataset={dataset}",
                f"protocol={self.protocol}",
                f"likelihood={self.likelihood}",
                f"runtime.eval_every={MEASURE_EVERY[preset]}",
                *self.overrides,
            ]
        )

    def name(self, dataset: str) -> str:
        return f"{self.protocol}/{self.likelihood}/{dataset}"


def measure_quality(
    request: Request,
    folder: Path,
    effort: Effort,
    machine: Mapping[str, Any],
    *,
    fresh: bool = False,
    events: TrainingEvents | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
) -> dict[str, dict[str, Any]]:
    """The records of all the data sets asked for, by name; what `folder` has with the same settings is not repeated."""
    events = events or TrainingEvents()
    folder.mkdir(parents=True, exist_ok=True)
    kept = read_kept(folder / FILE)
    wanted = {}
    for dataset in request.datasets:
        name = request.name(dataset)
        configs = {preset: request.config(dataset, preset) for preset in MEASURE_EVERY}
        digest = {preset: digest_of(config) for preset, config in configs.items()}
        if fresh or kept.get(name, {}).get("digest") != digest:
            runs = {}
            for preset, config in configs.items():
                events.message(f"{dataset}: training with preset {preset}")
                scratch = _scratch(folder, dataset, preset, digest[preset])
                if fresh:
                    shutil.rmtree(scratch, ignore_errors=True)
                runs[preset] = compute_cell(
                    Cell.of(name, config),
                    scratch,
                    threads=available_cores(),
                    keep_probabilities=False,
                    events=events,
                    stop_requested=stop_requested,
                ).record
            events.message(f"{dataset}: timing the steps of stock GPflow")
            record = {**compare(runs, _step_times(runs, effort)), "digest": digest, "machine": dict(machine)}
            kept = {**read_kept(folder / FILE), name: record}  # another process may have added to it meanwhile
            write_kept(folder / FILE, kept)
            for preset in configs:
                shutil.rmtree(_scratch(folder, dataset, preset, digest[preset]), ignore_errors=True)
        wanted[name] = kept[name]
    return wanted


def _scratch(folder: Path, dataset: str, preset: str, digest: str) -> Path:
    """Where a run lives until its data set is filed; hidden from git."""
    unfinished = folder / "unfinished"
    unfinished.mkdir(exist_ok=True)
    (unfinished / ".gitignore").write_text("*\n", encoding="utf-8")
    return unfinished / f"{dataset}-{preset}-{digest}"


def compare(runs: Mapping[str, dict[str, Any]], times: Mapping[str, Any]) -> dict[str, Any]:
    """Time to the mark of stock GPflow and of each preset."""
    paper = runs["paper"]
    mark = paper["curve"]["nll"][-1] + TOLERANCE
    presets = {preset: _reached(run, mark, times[ENGINE_OF[preset]]["median"]) for preset, run in runs.items()}
    steps = presets["paper"]["steps"]
    per_step = times["stock"]["median"]
    stock_seconds = steps * per_step
    speedup = {name: stock_seconds / one["seconds"] if one["seconds"] else None for name, one in presets.items()}
    return {
        **{key: paper[key] for key in ("dataset", "source", "protocol", "likelihood", "split", "seed", "n_train", "d")},
        "classes": paper["classes"],
        "mark_nll": mark,
        "stock": {"seconds": stock_seconds, "steps": steps, "seconds_per_step": per_step},
        **presets,
        "speedup_over_stock": speedup,
        "nll_fast_minus_paper": runs["fast"]["nll"] - paper["nll"],
        "step_times": dict(times),
    }


def _reached(run: Mapping[str, Any], mark: float, per_step: float) -> dict[str, Any]:
    """When a run first measured the mark (None: never), and how it ended."""
    curve = run["curve"]
    points = zip(curve["step"], curve["seconds"], curve["nll"], strict=True)
    steps, taken = next(((step, taken) for step, taken, nll in points if nll <= mark), (None, None))
    return {
        "seconds": None if steps is None else steps * per_step,
        "steps": steps,
        "seconds_per_step": per_step,
        "training": {"seconds": taken, "all_steps": run["steps"], "all_seconds": run["train_seconds"]},
        "nll": run["nll"],
        "acc": run["acc"],
        "bound": run["bound"],
        "optimizer": run["optimizer"],
        "curve": {key: curve[key] for key in ("step", "seconds", "nll")},
    }


def _step_times(runs: Mapping[str, Mapping[str, Any]], effort: Effort) -> dict[str, Any]:
    """Stock GPflow and this engine, interleaved, at the sizes and with the kernels of the runs."""
    paper, fast = (synthetic(_case(runs[preset])) for preset in ("paper", "fast"))
    systems = {"mixed": engine(paper), "natgrad": engine(fast, "natgrad"), "stock": stock(paper)}
    times = interleave(systems, effort)
    return {**{name: spread(taken) for name, taken in times.items()}, "ratio": ratio(times["stock"], times["mixed"])}


def _case(run: Mapping[str, Any]) -> Case:
    return Case(
        C=num_latent_functions(run["likelihood"], run["classes"]),
        d=run["d"],
        inducing=run["inducing"],
        batch_size=run["batch_size"],
        rows=run["n_train"],
        likelihood=run["likelihood"],
        ard=run["ard"],
        shared=run["shared_kernel"],
    )
