"""What accompanies a fit, in one object: who listens, whether to stop, and where its state is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpcnoise_cli.training.events import CurvePoint, TrainingEvents


class Interrupted(Exception):
    """The run was asked to stop at `step`; its checkpoint, if it has a place for one, is on disk."""

    def __init__(self, step: int, checkpoint: Path | None) -> None:
        super().__init__(f"stopped at step {step}")
        self.step = step
        self.run_dir = checkpoint.parent if checkpoint is not None else None


@dataclass
class Progress(TrainingEvents):
    """Told of every event, it tells all listeners, in their order."""

    listeners: list[TrainingEvents] = field(default_factory=list)
    stop_requested: Callable[[], bool] = lambda: False
    checkpoint: Path | None = None  # where the state is kept, for a fit that is to survive a crash
    resume: bool = False  # go on from the checkpoint, if there is one
    state: Callable[[], Mapping[str, float]] = dict  # what the model is like now, by name; set by the fit

    def started(self, step: int, iterations: int) -> None:
        for listener in self.listeners:
            listener.started(step, iterations)

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        for listener in self.listeners:
            listener.progressed(step, iterations, loss)

    def measured(self, point: CurvePoint) -> None:
        for listener in self.listeners:
            listener.measured(point)

    def message(self, text: str) -> None:
        for listener in self.listeners:
            listener.message(text)

    @property
    def resumes(self) -> bool:
        return self.resume and self.checkpoint is not None and self.checkpoint.exists()
