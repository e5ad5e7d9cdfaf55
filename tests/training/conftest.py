"""Small problems, and trainers for them that are compiled once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import RuntimeConfig, TrainConfig
from gpcnoise_cli.data.generators import sample_ringnorm, sample_three_class
from gpcnoise_cli.data.split import Split, Table, make_split
from gpcnoise_cli.devices import scope
from gpcnoise_cli.models.build import build_model, precision_context
from gpcnoise_cli.runtime import prepare
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents
from gpcnoise_cli.training.progress import Progress
from gpcnoise_cli.training.trainer import Trainer

# While tests are collected TensorFlow has not started yet, and one processor can still be made to look like two.
with contextlib.suppress(RuntimeError):
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )


@pytest.fixture(scope="session", autouse=True)
def _deterministic() -> None:
    prepare(RuntimeConfig())


class Heard(TrainingEvents):
    """Remembers all that a run said."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int]] = []
        self.steps: list[int] = []
        self.points: list[CurvePoint] = []
        self.messages: list[str] = []

    def started(self, step: int, iterations: int) -> None:
        self.begun.append((step, iterations))

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        self.steps.append(step)

    def measured(self, point: CurvePoint) -> None:
        self.points.append(point)

    def message(self, text: str) -> None:
        self.messages.append(text)


def small_split(classes: int, rows: int = 100, d: int = 3) -> Split:
    X, y = sample_three_class(rows) if classes == 3 else sample_ringnorm(rows, d=d)
    table = Table(X, y, tuple(range(classes)), tuple(f"f{j}" for j in range(X.shape[1])), "generated")
    return make_split("small", table, protocol="clean", split=0)


@pytest.fixture(scope="session")
def split() -> Callable[..., Split]:
    return small_split


@pytest.fixture(scope="session")
def config() -> Callable[..., TrainConfig]:
    """A configuration for small runs; any override may follow."""
    common = (
        "inducing=8",
        "batch_size=16",
        "iterations=50",
        "runtime.eval_every=25",
        "runtime.precision=float64",
        "kernel.shared=true",
        "kernel.ard=false",
    )
    return lambda *overrides: compose([*common, *overrides])


@pytest.fixture(scope="session")
def trainer() -> Callable[..., Trainer]:
    """A trainer on a small set, with one listener that remembers."""

    def build(config: TrainConfig, data: Split, checkpoint: Path | None = None, **options: Any) -> Trainer:
        with precision_context(config.runtime.precision), scope(config.runtime):
            model = build_model(config, data.X_train, data.num_classes)
            return Trainer(config, model, data, Progress([Heard()], checkpoint=checkpoint, **options))

    return build


def state(trainer: Trainer) -> list[np.ndarray]:
    return [variable.numpy() for variable in trainer.variables]


@pytest.fixture(scope="session")
def state_of() -> Callable[[Trainer], list[np.ndarray]]:
    """Every variable of a run, as arrays."""
    return state
