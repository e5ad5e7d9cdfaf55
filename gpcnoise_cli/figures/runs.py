"""The models an experiment needs, each trained once: a finished one is read back, an interrupted one is continued.

A run lives in a scratch folder named by the digest of its settings, under `.work` beside the pictures, which hides
itself from git. Experiments that ask for the same settings share it.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.config.quoting import Scalar, assign
from gpcnoise_cli.config.schema import SVGP
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_text
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.workspace import Busy, Workspace
from gpcnoise_cli.likelihoods.registry import likelihood_spec
from gpcnoise_cli.methods.registry import variant_of
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents

if TYPE_CHECKING:
    from gpcnoise_cli.data import Split
    from gpcnoise_cli.methods.trained_model import TrainedModel

_PROCESS = "process.json"


class Stopped(Exception):
    """A signal asked to stop; what was trained so far is kept."""


@dataclass(frozen=True)
class Run:
    """A finished run: its settings, its result, and its folder with the model in it."""

    cell: Cell
    record: dict[str, Any]
    path: Path

    @property
    def curve(self) -> list[CurvePoint]:
        return RunFolder(self.path).read_curve()

    @property
    def peak_memory_mb(self) -> float | None:
        """The largest memory of the process that finished the run, up to its end."""
        stored = self.path / _PROCESS
        return float(json.loads(stored.read_text(encoding="utf-8"))["peak_memory_mb"]) if stored.is_file() else None

    def load(self) -> tuple[TrainedModel, Split]:
        """The model, and the data it was trained on."""
        from gpcnoise_cli.runs.trained import load_trained, own_split

        trained = load_trained(self.path)
        return trained, own_split(trained)


Listener = Callable[[str], AbstractContextManager[TrainingEvents]]
"""From the label of a run to something that listens while it is trained."""


class Runs:
    """Trains what is asked for under one work folder."""

    def __init__(
        self,
        folder: Path,
        *,
        listen: Listener = lambda label: nullcontext(TrainingEvents()),
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        self.workspace = Workspace(folder)
        self.listen = listen
        self.stop_requested = stop_requested
        self.trained = 0

    def train(self, settings: Mapping[str, Scalar]) -> Run:
        """The run with these overrides; raises `Stopped` when asked to stop, and continues there the next time."""
        from gpcnoise_cli.config.compose import compose

        config = compose([assign(key, value) for key, value in settings.items()])
        what = variant_of(config)
        if config.method.name == SVGP:
            spec = likelihood_spec(config.likelihood.name)
            what += f", {config.delta.mode} δ" if spec.has_delta else f", {config.likelihood.bound} bound"
        label = f"{config.dataset.name}, {what}, {config.iterations} iterations"
        cell = Cell.of(label, config)
        path = self.workspace.scratch(cell)
        try:
            with self.workspace.claim(cell):
                return Run(cell, self._record(cell, path, label), path)
        except Busy as error:
            raise GpcnoiseError(
                f"another process is training {label} in {path}; wait for it, or choose another --out."
            ) from error

    def _record(self, cell: Cell, path: Path, label: str) -> dict[str, Any]:
        folder = RunFolder(path)
        done = folder.read_metrics()  # the last file of a run
        if done is not None:
            return done
        if self.stop_requested():
            raise Stopped(f"stopped before {label}")
        from gpcnoise_cli.runtime import load_tensorflow

        load_tensorflow()
        from gpcnoise_cli.grid.compute import compute_cell
        from gpcnoise_cli.training.trainer import Interrupted

        with self.listen(label) as events:
            try:
                computed = compute_cell(
                    cell, path, threads=0, keep_probabilities=False, events=events, stop_requested=self.stop_requested
                )
            except Interrupted as stop:
                raise Stopped(f"stopped at step {stop.step} of {label}") from stop
        write_text(path / _PROCESS, json.dumps({"peak_memory_mb": peak_memory_mb()}) + "\n")
        self.trained += 1
        return computed.record


def peak_memory_mb() -> float:
    """The largest resident memory this process has had so far, in MB."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    return largest * unit / 1e6
