"""What is followed and where it goes: a listener of the run that turns its events into named numbers for a sink."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.tracking import NONE, check_tracking
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents

# How often the loss is noted; small models take hundreds of steps in that time.
SECONDS_BETWEEN = 0.5


@dataclass(frozen=True)
class Place:
    """Where the record of a run is kept: a folder for all runs, one for this run, and its name."""

    common: Path
    own: Path
    name: str

    @classmethod
    def of_run(cls, folder: RunFolder) -> Place:
        """`gpcnoise train`: inside the run folder, and beside it."""
        path = folder.path.resolve()
        return cls(path.parent, path / "tensorboard", path.name)

    @classmethod
    def of_cell(cls, ledger: Path, name: str) -> Place:
        """`gpcnoise sweep`: beside the results, because the run folder of a cell goes once it is filed."""
        path = ledger.resolve()
        return cls(path, path / "tensorboard" / name, name)


class Sink(Protocol):
    """A store of numbers by name and step."""

    @property
    def last_step(self) -> int:
        """The last step that an earlier part of the same run has recorded; -1 where there is none."""

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Keep the values, so that they survive the end of the process."""

    def finish(self, result: Mapping[str, Any], folder: RunFolder) -> None:
        """Keep the result of a finished run."""

    def close(self, ended: str) -> None:
        """The run is finished, interrupted or failed."""


class Tracker(TrainingEvents):
    """Passes every event on, and writes what it says to the sink, until the sink fails.

    A resumed run repeats the steps between its checkpoint and its interruption and finds the same values there, so
    steps that are recorded already are passed over.
    """

    def __init__(self, shown: TrainingEvents, sink: Sink, state: Callable[[], Mapping[str, float]]) -> None:
        self.shown, self.sink, self.state = shown, sink, state
        self.trouble = ""  # why nothing is written any more
        self.recorded = -1
        self.began, self.first, self.noted = 0.0, -1, 0.0

    def started(self, step: int, iterations: int) -> None:
        self.shown.started(step, iterations)
        with self.guarded():
            self.recorded = self.sink.last_step

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        self.shown.progressed(step, iterations, loss)
        now = time.monotonic()
        if self.first >= 0 and now - self.noted < SECONDS_BETWEEN:
            return
        values = {"train/loss": loss}
        if self.first >= 0 and now > self.began:  # the first call compiles, so it says nothing about speed
            values["train/steps_per_second"] = (step - self.first) / (now - self.began)
        self._write(step, values)
        self.began = self.noted = time.monotonic()
        self.first = step

    def measured(self, point: CurvePoint) -> None:
        self.shown.measured(point)
        values = {"train/elbo": point.elbo, "test/acc": point.acc, "test/nll": point.nll}
        if point.delta is not None:
            values["model/delta"] = point.delta
        with self.guarded():
            values |= self.state()
        self._write(point.step, values)
        self.began, self.first = time.monotonic(), point.step  # without the time of the measurement

    def message(self, text: str) -> None:
        self.shown.message(text)

    def finished(self, result: Mapping[str, Any], folder: RunFolder) -> None:
        with self.guarded():
            self.sink.finish(result, folder)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Tracking must not cost anybody a training run: the first failure is told, and then it is over."""
        try:
            yield
        except Exception as error:
            if self.trouble:
                return
            self.trouble = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            self.shown.message(f"tracking failed and is left off from here on; the training goes on ({self.trouble}).")

    def _write(self, step: int, values: Mapping[str, float]) -> None:
        if self.trouble or step <= self.recorded:
            return
        with self.guarded():
            self.sink.write(step, {name: float(value) for name, value in values.items() if np.isfinite(value)})


@contextmanager
def tracked(
    config: TrainConfig, folder: RunFolder, model: Any, events: TrainingEvents, place: Place | None = None
) -> Iterator[Tracker | None]:
    """The listener that follows a run and passes its events on; None with tracking off."""
    if config.tracking == NONE:
        yield None
        return
    check_tracking(config.tracking)
    tracker = Tracker(events, _Absent(), lambda: kernel_state(model))
    with tracker.guarded():
        tracker.sink = _open(config, folder, place or Place.of_run(folder))
    ended = "failed"
    try:
        yield tracker
        ended = "finished"
    except BaseException as error:
        ended = "interrupted" if type(error).__name__ in ("Interrupted", "KeyboardInterrupt") else "failed"
        raise
    finally:
        with tracker.guarded():
            tracker.sink.close(ended)


def _open(config: TrainConfig, folder: RunFolder, place: Place) -> Sink:
    if config.tracking == "mlflow":
        from gpcnoise_cli.runs.tracking.mlflow_sink import MlflowSink

        return MlflowSink(config, folder, place)
    from gpcnoise_cli.runs.tracking.tensorboard_sink import TensorBoardSink

    return TensorBoardSink(place.own)


class _Absent:
    """What is written to when a sink could not be opened."""

    last_step = -1

    def write(self, step: int, values: Mapping[str, float]) -> None: ...

    def finish(self, result: Mapping[str, Any], folder: RunFolder) -> None: ...

    def close(self, ended: str) -> None: ...


def kernel_state(model: Any) -> dict[str, float]:
    """Lengthscales (with ARD their mean) and variances of the kernel's parts; of one kernel per class, the means."""
    found: dict[str, list[float]] = {}
    for kernel in _with_lengthscales(model.kernel):
        name = type(kernel).__name__.lower()
        found.setdefault(f"model/lengthscale_{name}", []).append(float(np.mean(kernel.lengthscales.numpy())))
        found.setdefault(f"model/variance_{name}", []).append(float(kernel.variance.numpy()))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _with_lengthscales(kernel: Any) -> Iterator[Any]:
    if hasattr(kernel, "kernels"):
        for part in kernel.kernels:
            yield from _with_lengthscales(part)
    elif hasattr(kernel, "lengthscales"):
        yield kernel
