"""From the shell command to the saved model: `gpcnoise train` beside a plain script with each of four other libraries.

Every measurement is a fresh process, timed from its start to its exit, imports included, on split 0 of protocol clean.
The scripts (`plain/`) are handed the scaled split as one file, which spares them the reading and scaling that
`gpcnoise train` does itself. All predictions are scored by the same function. The sparse Gaussian processes of the
other libraries do not know when they are done, so they get a number of steps, which is part of what is reported.

Each measurement is filed as soon as it is taken, and a later call measures only what is missing.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.bench.gpytorch_client import THREADING, Installation
from gpcnoise_cli.bench.kept import read_kept, write_kept
from gpcnoise_cli.bench.timed import PROGRAM, Finished, run_timed
from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.data import Split, load_split
from gpcnoise_cli.errors import GpcnoiseError, UsageError, unknown_choice
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.grid.cell import digest_of

DATASETS = ("waveform-noise", "ringnorm", "adult", "letter")
OURS, GPFLOW, GPYTORCH, BOOSTING, LOGISTIC = "gpcnoise", "gpflow", "gpytorch", "boosting", "logistic"
SYSTEMS = (OURS, GPFLOW, GPYTORCH, BOOSTING, LOGISTIC)
FILE = "command.json"
# The paper trains for 10,000 steps, which takes stock GPflow more than an hour on letter.
STEPS = 500
PROTOCOL, SPLIT = "clean", 0
_PLAIN = Path(__file__).parent / "plain"
_WITH_STEPS = {GPFLOW: "with_gpflow.py", GPYTORCH: "with_gpytorch.py"}
Records = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Request:
    """What to measure, and how often.

    `steps` are those of the sparse Gaussian processes of GPflow and GPyTorch; `overrides` change only `gpcnoise train`.
    """

    datasets: Sequence[str] = DATASETS
    systems: Sequence[str] = SYSTEMS
    repeats: int = 1
    steps: int = STEPS
    overrides: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in self.systems:
            if name not in SYSTEMS:
                raise unknown_choice("system", name, SYSTEMS)
        if not self.datasets or not self.systems:
            raise UsageError("nothing is left to measure; name at least one data set and one system.")
        if self.repeats < 1:
            raise UsageError(f"--repeats must be at least 1, not {self.repeats}.")
        if self.steps < 1:
            raise UsageError(f"--stock-steps must be at least 1, not {self.steps}.")


def measure_command(
    request: Request,
    folder: Path,
    machine: Mapping[str, Any],
    gpytorch: Installation | None,
    told: Callable[[str], None],
    *,
    fresh: bool = False,
) -> dict[str, Records]:
    """The records by data set and system; what `folder` has with the same settings is not measured again.

    A system that is not installed has a record without runs, unless an earlier one is kept.
    """
    splits = {name: load_split(name, protocol=PROTOCOL, split=SPLIT) for name in request.datasets}
    folder.mkdir(parents=True, exist_ok=True)
    kept = read_kept(folder / FILE)
    wanted: dict[str, Records] = {name: {} for name in request.datasets}
    for dataset in request.datasets:
        for system in request.systems:
            record = kept.get(dataset, {}).get(system)
            if system == GPYTORCH and gpytorch is None:
                wanted[dataset][system] = record or {"settings": {}, "runs": []}
                continue
            settings = _settings(system, dataset, request, gpytorch)
            if fresh or record is None or record["settings"] != settings:
                record = {"settings": settings, "machine": dict(machine), "runs": []}
            elif record["runs"]:
                told(f"{dataset}, {system}: kept from commit {record['machine'].get('commit')}")
            wanted[dataset][system] = record
    # Spinning threads, the usual way, are best on an idle machine and far slower than sleeping ones on a busy one.
    environment = THREADING["sleeping" if machine["busy"] else "spinning"]
    # Round by round, so that a slow spell of the machine does not hit one system alone.
    for number in range(request.repeats):
        for dataset, records in wanted.items():
            for system, record in records.items():
                if len(record["runs"]) > number or (system == GPYTORCH and gpytorch is None):
                    continue
                told(f"{dataset}, {system}: run {number + 1} of {request.repeats}")
                record["runs"].append(_measure(system, splits[dataset], request, gpytorch, environment))
                kept = read_kept(folder / FILE)  # anew each time: another process may have added to it meanwhile
                kept.setdefault(dataset, {})[system] = record
                write_kept(folder / FILE, kept)
    return wanted


def kept_command(request: Request, folder: Path) -> dict[str, Records]:
    """What was measured before, whatever its settings: they are part of what is shown."""
    kept = read_kept(folder / FILE)
    found = {
        dataset: {system: kept[dataset][system] for system in request.systems if system in kept[dataset]}
        for dataset in request.datasets
        if dataset in kept
    }
    return {dataset: records for dataset, records in found.items() if records}


def _settings(system: str, dataset: str, request: Request, gpytorch: Installation | None) -> dict[str, Any]:
    """What a measurement is of; ours follows `conf/`."""
    if system == OURS:
        return {"digest": digest_of(compose([*_chosen(dataset), *request.overrides]))}
    if system == GPFLOW:
        return {"package": f"GPflow {version('gpflow')}", "steps": request.steps}
    if system == GPYTORCH:
        assert gpytorch is not None
        return {"package": f"GPyTorch {gpytorch.versions['gpytorch']}", "steps": request.steps}
    return {"package": f"scikit-learn {version('scikit-learn')}"}


def _chosen(dataset: str) -> list[str]:
    return [f"dataset={dataset}", f"protocol={PROTOCOL}", f"split={SPLIT}"]


def _measure(
    system: str, split: Split, request: Request, gpytorch: Installation | None, environment: Mapping[str, str]
) -> dict[str, Any]:
    """One run: what it cost, and how good its predictions are."""
    with tempfile.TemporaryDirectory(prefix="gpcnoise-bench-") as folder:
        scratch = Path(folder)
        if system == OURS:
            overrides = [*_chosen(split.dataset), *request.overrides]
            command = [*PROGRAM, "train", "--out", str(scratch / "run"), "--json", *overrides]
            finished = _finish(command, system, split, environment)
            result = json.loads(finished.stdout)
            quality = {key: result[key] for key in ("acc", "nll", "steps", "train_seconds")}
        else:
            arrays, predictions = scratch / "split.npz", scratch / "predictions.npz"
            parts = {"X_train": split.X_train, "y_train": split.y_train, "X_test": split.X_test}
            np.savez(arrays, **parts, classes=split.num_classes)
            command = _script(system, request.steps, gpytorch, arrays, predictions)
            finished = _finish(command, system, split, environment)
            with np.load(predictions) as stored:
                metrics = evaluate(stored["probabilities"], split.y_test)
            quality = {"acc": metrics.acc, "nll": metrics.nll}
            if system in _WITH_STEPS:
                quality["steps"] = request.steps
    return {"seconds": finished.seconds, "processor_seconds": finished.processor_seconds, **quality}


def _script(system: str, steps: int, gpytorch: Installation | None, arrays: Path, predictions: Path) -> list[str]:
    name, choice = _WITH_STEPS.get(system, "with_sklearn.py"), str(steps) if system in _WITH_STEPS else system
    python = gpytorch.python if system == GPYTORCH and gpytorch else sys.executable
    return [python, str(_PLAIN / name), str(arrays), str(predictions), choice]


def _finish(command: Sequence[str], system: str, split: Split, environment: Mapping[str, str]) -> Finished:
    finished = run_timed(command, environment=environment)
    if finished.code:
        reason = (finished.stderr.strip().splitlines() or [f"exit code {finished.code}"])[-1]
        raise GpcnoiseError(
            f"the run of {system} on {split.dataset} failed: {reason.rstrip('.')}; what was measured before is kept."
        )
    return finished
