"""What is followed and where it goes: a listener of the run that turns its events into named numbers for a sink."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.tracking import NONE, check_tracking
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents
from gpcnoise_cli.training.progress import Progress

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
    """Writes what the events say to the sink, until the sink fails, which `progress` is told.

    A resumed run repeats the steps between its checkpoint and its interruption and finds the same values there, so
    steps that are recorded already are passed over.
    """

    def __init__(self, progress: Progress, sink: Sink) -> None:
        self.progress, self.sink = progress, sink
        self.trouble = ""  # why nothing is written any more
        self.recorded = -1
        self.began, self.first, self.noted = 0.0, -1, 0.0

    def started(self, step: int, iterations: int) -> None:
        with self.guarded():
            self.recorded = self.sink.last_step

    def progressed(self, step: int, iterations: int, loss: float) -> None:
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
        known = {"train/elbo": point.elbo, "test/acc": point.acc, "test/nll": point.nll, "model/delta": point.delta}
        values = {name: value for name, value in known.items() if value is not None}
        with self.guarded():
            values |= {f"model/{name}": value for name, value in self.progress.state().items()}
        self._write(point.step, values)
        self.began, self.first = time.monotonic(), point.step  # without the time of the measurement

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
            self.progress.message(
                f"tracking failed and is left off from here on; the training goes on ({self.trouble})."
            )

    def _write(self, step: int, values: Mapping[str, float]) -> None:
        if self.trouble or step <= self.recorded:
            return
        with self.guarded():
            self.sink.write(step, {name: float(value) for name, value in values.items() if np.isfinite(value)})


@contextmanager
def tracked(
    config: TrainConfig, folder: RunFolder, progress: Progress, place: Place | None = None
) -> Iterator[Tracker | None]:
    """The listener that follows a run, added to those of `progress`; None with tracking off."""
    if config.tracking == NONE:
        yield None
        return
    check_tracking(config.tracking)
    tracker = Tracker(progress, _Absent())
    progress.listeners.append(tracker)
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
