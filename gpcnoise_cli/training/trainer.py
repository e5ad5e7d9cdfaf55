"""A training run from its first step to its last: rounds of the compiled loop, and what happens between them.

Between rounds the trainer measures the test split, follows the bound, writes checkpoints, heeds a request to stop, and
meets numerical trouble (`trouble`). Round boundaries that matter (measurements, windows of losses, ends of cycles) lie
at fixed steps, so that neither the machine's speed nor an interruption changes the result.

The state at the end of a cycle is assessed in float64. The best one is kept, and no run ends in a worse one.
"""

from __future__ import annotations

import time

import numpy as np
import tensorflow as tf

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data import Split
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.models.kernels import kernel_state
from gpcnoise_cli.models.predict import Predictor
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training import hosts, trouble
from gpcnoise_cli.training.assessment import Assessment, Assessor
from gpcnoise_cli.training.checkpoint import load_checkpoint, save_checkpoint
from gpcnoise_cli.training.disk_loop import DiskLoop
from gpcnoise_cli.training.events import CurvePoint
from gpcnoise_cli.training.history import History
from gpcnoise_cli.training.loop import Loop, TrainingLoop
from gpcnoise_cli.training.optimizers import Optimizer, build_optimizer
from gpcnoise_cli.training.progress import Interrupted, Progress
from gpcnoise_cli.training.schedule import Schedule
from gpcnoise_cli.training.stopping import LEAST_TO_START_AGAIN, WINDOW, WORSE, gained_enough, is_lost
from gpcnoise_cli.training.windows import Windows

# How long one call of the compiled loop may take: the progress bar and Ctrl-C wait for it.
SECONDS_PER_CALL = 0.5
# Without cycles a run is measured, and its state assessed, this many times, but not more often than that.
MEASUREMENTS_PER_RUN, LEAST_BETWEEN = 20, 5 * WINDOW


class Trainer:
    """One run of one model on one split."""

    def __init__(self, config: TrainConfig, model: FusedSVGP, split: Split, progress: Progress | None = None) -> None:
        self.config, self.model, self.split = config, model, split
        self.progress = progress or Progress()
        self.progress.state = lambda: kernel_state(self.model.kernel)
        self.schedule = Schedule(config.iterations, config.optimizer)
        self.optimizer = self._new_optimizer()
        self.loop = self._new_loop()
        self.predictor = Predictor(model, config.runtime.chunk_rows)
        self.assessor = Assessor(model, *split.first_rows(), config.seed, split.weights)
        self.history = History(precision=config.runtime.precision)
        self.best: list[np.ndarray] = []  # the state of the highest assessed bound
        kernel = config.kernel
        from_data = kernel.lengthscale_start == "data" and not kernel.lengthscale
        self.may_start_again = self.schedule.cycles and from_data and split.n_train >= LEAST_TO_START_AGAIN
        self.start = [variable.numpy() for variable in self.state] if self.may_start_again else []
        self.assess_every = max(config.iterations // MEASUREMENTS_PER_RUN, LEAST_BETWEEN)
        self.timed_steps, self.timed_seconds = 0, 0.0
        self.steps_per_call = 1

    def _new_optimizer(self) -> Optimizer:
        return build_optimizer(self.model, self.config.optimizer, self.schedule, 1 - float(np.max(self.shares())))

    def shares(self) -> np.ndarray:
        """Of the classes in the training rows."""
        return self.split.class_totals() / self.split.total_weight

    def _new_loop(self) -> Loop:
        split, config = self.split, self.config
        if split.store is not None:
            windows = Windows(split.store, split.n_train, batch_size=config.batch_size, seed=config.seed)
            return DiskLoop(self.optimizer, windows)
        return TrainingLoop(
            self.optimizer,
            split.X_train,
            split.y_train,
            split.weights,
            batch_size=config.batch_size,
            seed=config.seed,
        )

    @property
    def variables(self) -> list[tf.Variable]:
        """All that changes during a run, in a fixed order."""
        return [*self.state, *self.schedule.variables, *self.loop.variables]

    @property
    def state(self) -> list[tf.Variable]:
        """The variables of the model and of its optimizer: what is kept of the best moment."""
        return [*self.model.variables, *self.optimizer.variables]

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
        """Continue from the checkpoint; of several hosts the chief alone has the file."""
        stored = load_checkpoint(*hosts.file_of_chief(self.progress.checkpoint))
        history = History.from_dict(stored.history)
        if history.precision == "float64" and self.model.work != tf.float64:
            self.use_float64()
        stored.restore(self.variables)
        self.history, self.best = history, stored.best

    def train(self) -> None:
        """Run to the end, from the checkpoint if asked to, or raise `Interrupted` with a checkpoint written."""
        try:
            self._train()
        except tf.errors.OpError as error:
            if not hosts.several():
                raise
            raise self._broken_off() from error

    def _train(self) -> None:
        if hosts.of_chief(self.progress.resumes)[0]:
            self.resume()
        self.progress.started(self.step, self.end)
        saved_at = time.monotonic()
        if self.history.assessed_at < 0:
            self._assess()
        while self.step < self.end:
            self._advance(self._next_stop())
            self._between_rounds()
            if hosts.any_host(self.progress.stop_requested()):
                self._save()
                raise Interrupted(self.step, self.progress.checkpoint)
            if time.monotonic() - saved_at > self.config.runtime.checkpoint_seconds:
                self._save()
                saved_at = time.monotonic()
        self.optimizer.settle()

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities from the model as it is now; what they need of jitter is no affair of the training's."""
        self.optimizer.settle()
        usual = float(self.model.jitter.numpy())
        try:
            return self.predictor.steadily(X, self.incident)
        finally:
            self.model.jitter.assign(usual)

    def elbo(self) -> float:
        """The bound on all training rows: smoothed over the latest steps, or of the state that was returned to."""
        return self.history.best_bound if self.history.ended_at_best else -self._smoothed_loss()

    def _next_stop(self) -> int:
        step = self.step
        every = [WINDOW, self.config.runtime.eval_every or self.end]
        every += [] if self.schedule.cycles else [self.assess_every]
        marks = [(step // each + 1) * each for each in every]
        cycle_end = int(self.schedule.cycle_end.numpy())
        return min(self.end, step + self.steps_per_call, *marks, cycle_end if cycle_end > step else self.end)

    def _advance(self, target: int) -> None:
        first, start, began = self.timed_steps == 0 and self.steps_per_call == 1, self.step, time.perf_counter()
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
            trouble.recover(self)
            return
        # The first call compiles, so it says nothing about speed.
        quick = 2 if first else int(np.clip(SECONDS_PER_CALL * steps / took, 1, 2 * steps + 2))
        self.steps_per_call = int(hosts.of_chief(quick)[0])
        self.progress.progressed(self.step, self.end, loss)

    def _between_rounds(self) -> None:
        step = self.step
        if step % WINDOW == 0 and step // WINDOW > len(self.history.windows):
            self.history.windows.append(self.loop.take_mean_loss(WINDOW))
            if is_lost(self.history.windows, self.split.total_weight):
                trouble.return_to_best(self)
        to_assess = (
            step == int(self.schedule.cycle_end.numpy()) if self.schedule.cycles else step % self.assess_every == 0
        )
        if step > self.history.assessed_at and (to_assess or step == self.end):
            self._assess()
        eval_every = self.config.runtime.eval_every
        to_measure = step % eval_every == 0 if eval_every else to_assess
        measured = bool(self.history.curve) and self.history.curve[-1].step == step
        if step > 0 and hosts.is_chief() and self.split.n_test and not measured and (to_measure or step == self.end):
            self._measure(step)

    def _assess(self) -> None:
        """What the state is worth now, and what follows: another precision, the next cycle, or the end."""
        step, history = self.step, self.history
        history.assessed_at, said = step, len(history.incidents)
        bound = trouble.trusted(self).bound
        if bound >= history.best_bound:
            history.best_bound, self.best = bound, [variable.numpy() for variable in self.state]
        if step > 0 and self.schedule.cycles:
            before = history.bounds[-1] if history.bounds else -np.inf
            may_start_again = self.may_start_again and not history.bounds and step < self.end
            history.bounds.append(bound)
            if may_start_again and trouble.has_learned_nothing(self, bound):
                trouble.start_again(self)
            enough = gained_enough(before, bound, self.split.total_weight, self.config.optimizer.tolerance)
            enough |= len(history.incidents) > said  # rounding may have hidden what there was to gain
            if self.config.optimizer.early_stop and step < self.end and not enough:
                self.schedule.stop(step)
                self.progress.message(f"the bound no longer rises: ending at step {step}.")
            elif step < self.end:
                self.schedule.next_cycle()
        if step == self.end and bound < history.best_bound - WORSE * abs(history.best_bound):
            history.ended_at_best = True
            self.restore()
            self.incident(
                f"the run ended at step {step} with a lower bound ({bound:.5g}) than it had had "
                f"({history.best_bound:.5g}): its best state is kept."
            )

    def assessment(self) -> Assessment:
        found = self.assessor(self.optimizer)
        return Assessment(*hosts.of_chief(found.bound, found.rounding, found.allowed))

    def restore(self, state: list[np.ndarray] | None = None) -> None:
        for variable, value in zip(self.state, state or self.best, strict=True):
            variable.assign(value.astype(variable.dtype.as_numpy_dtype))

    def use_float64(self) -> None:
        """Go on in float64: the same state, compiled anew."""
        before, loop = self.optimizer.variables, self.loop.variables
        self.loop.close()
        self.model.work = tf.float64
        self.optimizer = self._new_optimizer()
        self.loop = self._new_loop()
        self.predictor = Predictor(self.model, self.config.runtime.chunk_rows)
        for new, old in zip([*self.optimizer.variables, *self.loop.variables], [*before, *loop], strict=True):
            new.assign(tf.cast(old, new.dtype))
        self.history.precision = "float64"

    def incident(self, text: str) -> None:
        """Said as it happens, and kept for the result."""
        self.history.incidents.append(text)
        self.progress.message(text)

    def _measure(self, step: int) -> None:
        metrics = evaluate(self.probabilities(self.split.X_test), self.split.y_test)
        delta = self.model.delta_value()
        point = CurvePoint.at(step, self.history.seconds, -self._smoothed_loss(), metrics, delta)
        self.history.curve.append(point)
        self.progress.measured(point)

    def _smoothed_loss(self) -> float:
        steps = self.step - WINDOW * len(self.history.windows)
        return self.history.smoothed_loss(float(self.loop.loss_sum.numpy()) / max(steps, 1), steps)

    def _save(self) -> None:
        if self.progress.checkpoint is not None:
            save_checkpoint(self.progress.checkpoint, self.variables, self.history.to_dict(), self.best)

    def _broken_off(self) -> GpcnoiseError:
        """TensorFlow sums nothing more between hosts once it has failed to: keep the state, for other processes."""
        reason = f"the run has lost another of its hosts at step {self.step}"
        self._save()
        if self.progress.checkpoint is None:
            return GpcnoiseError(f"{reason}; continue on all that are left as the chief says, from its run folder.")
        return GpcnoiseError(
            f"{reason}; its state is kept: continue on the hosts that are left, named in TF_CONFIG, or on this one "
            f"alone, without TF_CONFIG, with: gpcnoise train --resume {self.progress.checkpoint.parent}"
        )
