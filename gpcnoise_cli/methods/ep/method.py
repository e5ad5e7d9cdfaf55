"""GPCep through the seam: its settings, the loop around the compiled steps, and what a fit leaves."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf
from gpflow.utilities import parameter_dict
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.methods.base import Arrays
from gpcnoise_cli.methods.described import describe
from gpcnoise_cli.methods.ep.model import EPModel
from gpcnoise_cli.methods.ep.propagation import NO_CAVITY, NOT_FINITE, Propagation
from gpcnoise_cli.models.build import Layout
from gpcnoise_cli.models.inducing import start_inducing_points
from gpcnoise_cli.models.kernels import kernel_state, start_lengthscale
from gpcnoise_cli.models.predict import raise_jitter
from gpcnoise_cli.training.checkpoint import load_checkpoint, save_checkpoint
from gpcnoise_cli.training.events import CurvePoint
from gpcnoise_cli.training.progress import Interrupted, Progress
from gpcnoise_cli.training.schedule import Schedule

# How long one call of the compiled loop may take: the progress bar and Ctrl-C wait for it.
SECONDS_PER_CALL = 0.5
MEASUREMENTS_PER_RUN = 20
CAREFUL_STEPS = 10


@dataclass(frozen=True)
class Settings:
    """Those of conf/method/ep.yaml, within their limits."""

    damping: float
    settling: int

    def __post_init__(self) -> None:
        if not 0 < self.damping <= 1:
            raise UsageError(f"method.settings.damping must be greater than 0 and at most 1, not {self.damping!r}.")
        if self.settling < 0:
            raise UsageError(f"method.settings.settling must be at least 0, not {self.settling!r}.")


class EPClassifier:
    """A trained model."""

    def __init__(self, config: TrainConfig, model: EPModel) -> None:
        self.config, self.model = config, model
        self.training: dict[str, Any] = {}  # what is to be said of it, where it took place here

    @cached_property
    def posterior(self) -> Any:
        """m and S of every latent function, as a compiled function."""
        return tf.function(self.model.posterior, input_signature=[], autograph=False)

    @cached_property
    def _block(self) -> Any:
        m, d = self.model.Z.shape
        shapes = ([None, d], [self.model.num_latent, m], [self.model.num_latent, m, m])
        signature = [tf.TensorSpec(shape, tf.float64) for shape in shapes]
        return tf.function(self.model.probabilities, input_signature=signature, autograph=False)

    def predict(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        rows, found = self.config.runtime.chunk_rows, np.empty((len(X), self.model.num_classes))
        posterior = self.posterior()
        for at in range(0, len(X), rows):
            found[at : at + rows] = self._block(tf.constant(X[at : at + rows], tf.float64), *posterior).numpy()
        return found

    def tensor_probabilities(self, X: tf.Tensor) -> tf.Tensor:
        return self.model.probabilities(X, *self.model.posterior())

    def tensor_variables(self) -> Sequence[tf.Variable]:
        """All that `tensor_probabilities` reads."""
        return self.model.variables

    def arrays(self) -> Arrays:
        return self.model.arrays()

    def facts(self) -> dict[str, Any]:
        return {**self.training, "jitter": float(self.model.jitter)}

    def hyperparameters(self) -> dict[str, Any]:
        kernel = {f"kernel{name}": p.numpy().tolist() for name, p in parameter_dict(self.model.kernel).items()}
        return {**kernel, "noise": self.model.noise.numpy().tolist(), "jitter": float(self.model.jitter)}


@dataclass
class History:
    """What a fit remembers besides its variables."""

    seconds: float = 0.0
    rebuilt_at: int = 0  # the latest step at which the posterior was rebuilt
    lost: list[int] = field(default_factory=list)  # steps at which a cavity, or the posterior, had no variance
    skipped: int = 0  # updates of factors that were left out because they had no cavity after a rebuild either
    raised: list[str] = field(default_factory=list)  # jitter

    def incidents(self) -> list[str]:
        """In sentences, however many there were."""
        found = list(self.raised)
        if self.lost:
            found.append(
                f"{len(self.lost)} time{'s' if len(self.lost) > 1 else ''} (first at step {self.lost[0]}) a step met a "
                "variance that was not positive: the posterior was rebuilt from its sites, and the damping halved for "
                f"{CAREFUL_STEPS} steps."
            )
        if self.skipped:
            found.append(f"{self.skipped} updates of sites were left out, since they had no cavity.")
        return found


class EPFit:
    """A model on its training rows, before its first step."""

    def __init__(self, config: TrainConfig, split: Split, earlier: Mapping[str, NDArray[Any]] | None) -> None:
        self.config, self.split, self.settings = config, split, Settings(**config.method.settings)
        X = np.asarray(split.X_train, np.float64)
        if earlier is None:
            Z = start_inducing_points(X, config.inducing, config.seed, config.inducing_start)
            lengthscale = config.kernel.lengthscale
            start = config.kernel.lengthscale_start
            lengthscale = lengthscale or start_lengthscale(start, X, config.seed, units=split.units)
            self.model = EPModel(config, Z, split.num_classes, lengthscale, Layout.of(split))
        else:
            Z = np.zeros((config.inducing, split.d))
            self.model = EPModel(config, Z, split.num_classes, layout=Layout.of(split))
            self.model.fill(earlier, posterior=False)
        # Where rates are annealed in cycles, EP has a single one: its evidence says nothing about when to stop.
        cycle = config.iterations if config.optimizer.cycle else 0
        schedule = Schedule(config.iterations, replace(config.optimizer, cycle=cycle))
        self.propagation = Propagation(self.model, X, split.y_train, config.optimizer, schedule, self.settings.damping)
        self.classifier = EPClassifier(config, self.model)
        self.history = History()
        self.a_pass = -(-split.n_train // config.batch_size)  # steps
        self.end = config.iterations + self.settings.settling * self.a_pass
        self.drawn: tuple[int, list[NDArray[np.integer]]] = (-1, [])
        self.steps_per_call, self.timed_steps, self.timed_seconds = 1, 0, 0.0

    @property
    def step(self) -> int:
        return int(self.propagation.step.numpy())

    def run(self, progress: Progress) -> EPClassifier:
        progress.state = lambda: kernel_state(self.model.kernel)
        if progress.resumes:
            assert progress.checkpoint is not None
            stored = load_checkpoint(progress.checkpoint)
            stored.restore(self.propagation.variables)
            self.history = History(**stored.history)
        progress.started(self.step, self.end)
        saved_at = time.monotonic()
        while self.step < self.end:
            self._advance(progress)
            if progress.stop_requested():
                self._save(progress)
                raise Interrupted(self.step, progress.checkpoint)
            if time.monotonic() - saved_at > self.config.runtime.checkpoint_seconds:
                self._save(progress)
                saved_at = time.monotonic()
        self.classifier.training = self._facts()
        return self.classifier

    def _advance(self, progress: Progress) -> None:
        """Some steps, up to the next moment that matters, and what is due then."""
        start, began = self.step, time.perf_counter()
        first = start == self.history.rebuilt_at and self.steps_per_call == 1
        loss = self._try(self._batches(start, self._next_stop(start)), progress)
        step = self.step
        if step > start and (step % self.a_pass == 0 or step in (self.config.iterations, self.end)):
            self._rebuild()
        took, steps = time.perf_counter() - began, step - start
        self.history.seconds += took
        if steps and not first:  # the first call compiles, so it says nothing about speed
            self.timed_steps, self.timed_seconds = self.timed_steps + steps, self.timed_seconds + took
        if steps:
            fit = int(SECONDS_PER_CALL * steps / took)
            self.steps_per_call = 2 if first else int(np.clip(fit, 1, 2 * steps + 2))
            progress.progressed(step, self.end, loss)
            if step % self._measure_every == 0 or step == self.end:
                self._measure(progress)

    def _measure(self, progress: Progress) -> None:
        if not np.isfinite(self.classifier.posterior()[0]).all() and self.step > self.history.rebuilt_at:
            # The next step would meet it: features that grew stale since the last rebuild cost Λ its definiteness.
            self._recover(progress)
        if not self.split.n_test:
            return
        probabilities = self.classifier.predict(self.split.X_test)
        if not np.isfinite(probabilities).all():
            raise self._not_finite("a prediction")
        metrics = evaluate(probabilities, self.split.y_test)
        progress.measured(CurvePoint.at(self.step, self.history.seconds, None, metrics, None))

    @property
    def _measure_every(self) -> int:
        return self.config.runtime.eval_every or max(self.end // MEASUREMENTS_PER_RUN, 1)

    def _next_stop(self, step: int) -> int:
        marks = [(step // every + 1) * every for every in (self.a_pass, self._measure_every)]
        turn = self.config.iterations if step < self.config.iterations else self.end
        return min(step + self.steps_per_call, turn, *marks)

    def _batches(self, start: int, stop: int) -> list[NDArray[np.integer]]:
        """The rows of some steps of one pass: a permutation of all rows in parts of almost equal size."""
        number, at = divmod(start, self.a_pass)
        if self.drawn[0] != number:  # once a pass: there may be millions of rows
            order = np.random.default_rng([self.config.seed, number]).permutation(self.split.n_train)
            self.drawn = number, np.array_split(order, self.a_pass)
        return self.drawn[1][at : at + stop - start]

    def _try(self, batches: list[NDArray[np.integer]], progress: Progress) -> float:
        """Steps, until one fails; the posterior is then sound again."""
        start, history = self.step, self.history
        learn, fresh = start < self.config.iterations, start == history.rebuilt_at
        try:
            status, skipped, loss = self.propagation.run(batches, learn)
            if status == NO_CAVITY and fresh and self.step == start:
                # Rebuilding was no help: the site is too strong to be told from the rest of the posterior.
                status, skipped, loss = self.propagation.run(batches[:1], learn, skip=True)
        except tf.errors.InvalidArgumentError as error:
            if "Cholesky" not in str(error):
                raise
            self._raise_jitter_if_needed(progress)
            status, skipped, loss = NO_CAVITY, 0, float("nan")
        history.skipped += skipped
        if status == NOT_FINITE:
            raise self._not_finite("the loss")
        if status == NO_CAVITY:
            self._recover(progress)
        return loss

    def _recover(self, progress: Progress) -> None:
        """The posterior anew, and smaller steps for a while."""
        if not self.history.lost:
            progress.message(
                f"a variance is not positive at step {self.step}: rebuilding the posterior, with half the damping."
            )
        self.history.lost.append(self.step)
        self._rebuild()
        self.propagation.careful.assign(CAREFUL_STEPS)

    def _not_finite(self, what: str) -> GpcnoiseError:
        return GpcnoiseError(
            f"{what} is not a finite number at step {self.step}; try a smaller --learning-rate or "
            f"method.settings.damping={self.settings.damping / 2:g}."
        )

    def _rebuild(self) -> None:
        self.propagation.rebuild()
        self.history.rebuilt_at = self.step

    def _raise_jitter_if_needed(self, progress: Progress) -> None:
        """More jitter until the kernel matrix can be factorised; the posterior is another matter."""
        while True:
            try:
                tf.linalg.cholesky(self.model.inducing_covariance())
                return
            except tf.errors.InvalidArgumentError:
                jitter = raise_jitter(self.model, f"at step {self.step}")
                text = f"the kernel matrix is nearly singular at step {self.step}: jitter raised to {jitter:.0e}."
                self.history.raised.append(text)
                progress.message(text)

    def _save(self, progress: Progress) -> None:
        if progress.checkpoint is not None:
            save_checkpoint(progress.checkpoint, self.propagation.variables, asdict(self.history))

    def _facts(self) -> dict[str, Any]:
        history, steps = self.history, self.step
        timed = self.timed_seconds / self.timed_steps if self.timed_steps else history.seconds / max(steps, 1)
        return {
            "steps": steps,
            "objective_value": self.propagation.evidence(),
            "site_bytes": int(np.prod(self.propagation.sites.shape)) * 8,
            "train_seconds": history.seconds,
            "seconds_per_step": timed,
            "incidents": history.incidents(),
            "lost_cavities": len(history.lost),
            "skipped_updates": history.skipped,
        }


class EP:
    """`Method`, see there."""

    def describe(self, config: TrainConfig, num_classes: int) -> dict[str, Any]:
        return describe(config, num_classes)

    def start(self, config: TrainConfig, split: Split, earlier: Mapping[str, NDArray[Any]] | None = None) -> EPFit:
        return EPFit(config, split, earlier)

    def restore(self, config: TrainConfig, arrays: Arrays, d: int, num_classes: int, num_data: int) -> EPClassifier:
        model = EPModel(config, np.zeros((config.inducing, d)), num_classes)
        model.fill(arrays)
        return EPClassifier(config, model)


METHOD = EP()
