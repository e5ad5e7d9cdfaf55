"""Training runs of a second, to be followed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.training.events import TrainingEvents

SMALL = ("dataset=three-class", "likelihood=step", "inducing=6", "iterations=60", "runtime.eval_every=20")
Train = Callable[..., dict[str, Any]]


class Messages(TrainingEvents):
    def __init__(self) -> None:
        self.said: list[str] = []

    def message(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def messages() -> Messages:
    return Messages()


@pytest.fixture
def train(tmp_path: Path) -> Train:
    """`train(folder, "tracking=...", stop_after=30)`; the second call with the same folder resumes."""
    from gpcnoise_cli.runs.train import run_training
    from gpcnoise_cli.training.progress import Interrupted

    def run(name: str, *overrides: str, stop_after: int | None = None, **more: Any) -> dict[str, Any]:
        config = compose([*SMALL, f"out='{tmp_path / name}'", *overrides])
        path = tmp_path / name
        folder = RunFolder(path) if path.exists() else RunFolder.create(config)
        events = more.pop("events", TrainingEvents())
        steps = [0]
        progressed = events.progressed
        events.progressed = lambda step, end, loss: (steps.__setitem__(0, step), progressed(step, end, loss))

        def stop() -> bool:
            return stop_after is not None and steps[0] >= stop_after

        try:
            return run_training(config, folder=folder, resume=True, events=events, stop_requested=stop, **more)
        except Interrupted:
            return {}

    return run
