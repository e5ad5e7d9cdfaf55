"""A training run from its first step to its last: rounds of the compiled loop, and what happens between them.

Between rounds the trainer measures the test split, follows the bound, writes checkpoints, heeds a request to stop, and
meets numerical trouble. Round boundaries that matter (measurements, windows of the stopping rule) lie at fixed steps,
so that neither the machine's speed nor an interruption changes the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data import Split
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.models.predict import Predictor
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training.checkpoint import load_checkpoint, save_checkpoint
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents
from gpcnoise_cli.training.loop import TrainingLoop
from gpcnoise_cli.training.optimizers import build_optimizer
from gpcnoise_cli.training.schedule import Schedule
from gpcnoise_cli.training.stopping import WINDOW, StoppingRule

# How long one call of the compiled loop may take: the progress bar and Ctrl-C wait for it.
SECONDS_PER_CALL = 0.5
MEASUREMENTS_PER_RUN = 20
LARGEST_JITTER = 1e-2


class Interrupted(Exception):
    """The run was asked to stop at `step`; its checkpoint, if it has a place for one, is on disk."""

    def __init__(self, step: int, checkpoint: Path | None) -> None:
        super().__init__(f"stopped at step {step}")
        self.step = step
        self.run_dir = checkpoint.parent if checkpoint is not None else None


@dataclass
class History:
    """What a run remembers besides its variables."""

    seconds: float = 0.0
    curve: list[CurvePoint] = field(default_factory=list)
    windows: list[float] = field(default_factory=list)
    winding_down: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "curve": [point.to_dict() for point in self.curve]}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> History:
        return cls(**{**stored, "curve": [CurvePoint(**point) for point in stored["curve"]]})

    def smoothed_loss(self, partial_mean: float, partial_steps: int) -> float:
        """The mean loss of the latest window; of the one under way where that is long enough or the only one."""
        if self.windows and partial_steps < WINDOW // 2:
            return self.windows[-1]
        return partial_mean


class Trainer:
    """One run of one model on one split."""

    def __init__(
        self,
        config: TrainConfig,
        model: FusedSVGP,
        split: Split,
        *,
        events: TrainingEvents | None = None,
        checkpoint: Path | None = None,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        self.config, self.model, self.split = config, model, split
        self.events = events or TrainingEvents()
        self.checkpoint = checkpoint
        self.stop_requested = stop_requested
        self.schedule = Schedule(config.iterations, config.optimizer.decay)
        self.optimizer = build_optimizer(model, config.optimizer, self.schedule)
        self.loop = TrainingLoop(
            self.optimizer, split.X_train, split.y_train, batch_size=config.batch_size, seed=config.seed
        )
        self.predictor = Predictor(model, config.runtime.chunk_rows)
        self.rule = StoppingRule.of(model.likelihood.delta_mode) if config.optimizer.early_stop else None
        self.history = History()
        self.measure_every = config.runtime.eval_every or max(config.iterations // MEASUREMENTS_PER_RUN, 1)
        self.timed_steps, self.timed_seconds = 0, 0.0
        self._steps_per_call = 1

    @property
    def variables(self) -> list[tf.Variable]:
        """All that changes during a run, in a fixed order."""
        return [
            *self.model.variables,
            *self.optimizer.variables,
            *self.schedule.variables,
            *self.loop.variables,
        ]

    @property
    def step(self) -> int:
        return int(self.loop.step.numpy())

    @property
    def end(self) -> int:
        return int(self.schedule.end.numpy())

    @property
    def seconds_per_step(self) -> float:
        """Measured without the first call, which compiles."""
        return self.timed_seconds / self.timed_steps if self.timed_steps else self.history.seconds / max(self.step, 1)

    def resume(self) -> None:
        """Continue from the checkpoint."""
        assert self.checkpoint is not None
        self.history = History.from_dict(load_checkpoint(self.checkpoint, self.variables))

    def train(self) -> None:
        """Run to the end, or raise `Interrupted` with a checkpoint written."""
        self.events.started(self.step, self.end)
        saved_at = time.monotonic()
        while self.step < self.end:
            self._advance(self._next_stop())
            self._between_rounds()
            if self.stop_requested():
                self._save()
                raise Interrupted(self.step, self.checkpoint)
            if time.monotonic() - saved_at > self.config.runtime.checkpoint_seconds:
                self._save()
                saved_at = time.monotonic()
        self.optimizer.settle()

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities from the model as it is now."""
        self.optimizer.settle()
        return self._despite_jitter(lambda: self.predictor(X))

    def elbo(self) -> float:
        """The smoothed bound on all training rows."""
        return -self._smoothed_loss()

    def _next_stop(self) -> int:
        step = self.step
        marks = [(step // every + 1) * every for every in (WINDOW, self.measure_every)]
        return min(self.end, step + self._steps_per_call, *marks)

    def _advance(self, target: int) -> None:
        first, start, began = self.timed_steps == 0 and self._steps_per_call == 1, self.step, time.perf_counter()
        try:
            loss = self.loop.run_until(target)
        except tf.errors.InvalidArgumentError as error:
            if "Cholesky" not in str(error):
                raise
            loss = float("nan")
        took, steps = time.perf_counter() - began, self.step - start
        self.history.seconds += took
        if not first:
            self.timed_seconds, self.timed_steps = self.timed_seconds + took, self.timed_steps + steps
        if not np.isfinite(loss):
            self._recover()
            return
        # The first call compiles, so it says nothing about speed.
        self._steps_per_call = 2 if first else int(np.clip(SECONDS_PER_CALL * steps / took, 1, 2 * steps + 2))
        self.events.progressed(self.step, self.end, loss)

    def _between_rounds(self) -> None:
        step = self.step
        at_point = step > 0 and (step % self.measure_every == 0 or step == self.end)
        if at_point and (not self.history.curve or self.history.curve[-1].step < step):
            self._measure(step)
        if step % WINDOW == 0 and step // WINDOW > len(self.history.windows):
            self.history.windows.append(self.loop.take_mean_loss(WINDOW))
            self._maybe_wind_down(step)

    def _maybe_wind_down(self, step: int) -> None:
        if self.rule is None or self.history.winding_down or not self.rule.satisfied(self.history.windows):
            return
        self.history.winding_down = True
        before = self.end
        self.schedule.wind_down(step, self.rule.wind_down_steps(step))
        if self.end < before:
            self.events.message(f"the bound no longer rises at step {step}: ending at step {self.end}.")

    def _measure(self, step: int) -> None:
        metrics = evaluate(self.probabilities(self.split.X_test), self.split.y_test)
        delta = self.model.delta_value()
        point = CurvePoint.at(step, self.history.seconds, -self._smoothed_loss(), metrics, delta)
        self.history.curve.append(point)
        self.events.measured(point)

    def _smoothed_loss(self) -> float:
        steps = self.step - WINDOW * len(self.history.windows)
        return self.history.smoothed_loss(float(self.loop.loss_sum) / max(steps, 1), steps)

    def _save(self) -> None:
        if self.checkpoint is not None:
            save_checkpoint(self.checkpoint, self.variables, self.history.to_dict())

    def _recover(self) -> None:
        """A step failed and moved nothing: raise the jitter, soften the optimizer, or give up with a sentence."""
        where = f"at step {self.step}"
        if not all(np.all(np.isfinite(variable.numpy())) for variable in self.model.trainable_variables):
            raise GpcnoiseError(f"a parameter is not a finite number {where}; try a smaller --learning-rate.")
        if not self._kernel_matrix_factorises():
            self._raise_jitter()
        elif self.optimizer.soften():
            self.events.message(f"the natural-gradient step failed {where}: halving it.")
        else:
            raise GpcnoiseError(
                f"the loss is not a finite number {where}; try a smaller --learning-rate or --precision float64."
            )

    def _kernel_matrix_factorises(self) -> bool:
        try:
            return bool(np.all(np.isfinite(self.model.kernel_cholesky().numpy())))
        except tf.errors.InvalidArgumentError:
            return False

    def _raise_jitter(self) -> None:
        jitter = 10 * float(self.model.jitter)
        if jitter > LARGEST_JITTER:
            raise GpcnoiseError(
                f"the kernel matrix cannot be factorised at step {self.step} even with jitter {LARGEST_JITTER:g}; "
                "try fewer inducing points or a smaller --learning-rate."
            )
        self.model.jitter.assign(jitter)
        self.events.message(f"the kernel matrix is nearly singular at step {self.step}: jitter raised to {jitter:.0e}.")

    def _despite_jitter(self, predict: Callable[[], np.ndarray]) -> np.ndarray:
        while True:
            try:
                result = predict()
            except tf.errors.InvalidArgumentError as error:
                if "Cholesky" not in str(error):
                    raise
                result = None
            if result is not None and np.all(np.isfinite(result)):
                return result
            self._raise_jitter()
