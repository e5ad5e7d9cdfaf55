"""Selu: a self-normalising network (Klambauer et al., 2017), the non-GP column of the paper's tables.

Fully connected layers with the selu activation, weights N(0, 1/fan-in), and alpha dropout, which keep mean and variance
of the activations near 0 and 1 through any number of layers. Trained by Adam on the cross-entropy; the weights of the
epoch with the lowest loss on a held-out part of the training rows are the result.

All randomness is a function of (seed, epoch, step), so a resumed fit ends bit-identical.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.methods.base import Arrays
from gpcnoise_cli.methods.described import describe
from gpcnoise_cli.methods.selu_settings import Settings
from gpcnoise_cli.predictor.predictors import SELU_ALPHA, SELU_SCALE
from gpcnoise_cli.training.adam import Adam
from gpcnoise_cli.training.checkpoint import load_checkpoint, save_checkpoint
from gpcnoise_cli.training.events import CurvePoint
from gpcnoise_cli.training.progress import Interrupted, Progress

# What selu tends to for x → −∞: dropped units are set to it.
LOWEST = -SELU_ALPHA * SELU_SCALE
PREDICTED_AT_ONCE = 8192
# A request to stop, and the progress bar, wait for one call.
STEPS_AT_ONCE = 100


def alpha_dropout(x: tf.Tensor, rate: float, seed: tf.Tensor) -> tf.Tensor:
    """Units set to `LOWEST` at random, then scaled and shifted back to mean 0 and variance 1.

    Keras has it too, with a random state of its own that no checkpoint could hold.
    """
    keep = 1 - rate
    kept = tf.cast(tf.random.stateless_uniform(tf.shape(x), seed, dtype=x.dtype) < keep, x.dtype)
    a = (keep + LOWEST**2 * keep * (1 - keep)) ** -0.5
    return a * (x * kept + LOWEST * (1 - kept)) - a * (1 - keep) * LOWEST


class Network:
    """The layers, and what they say of a block of rows."""

    def __init__(self, d: int, num_classes: int, settings: Settings, seed: int = 0) -> None:
        self.settings = settings
        self.layers = []
        inputs = d
        for number, units in enumerate([*settings.widths(num_classes), num_classes]):
            hidden = number < settings.layers
            start = keras.initializers.LecunNormal(seed=seed + number)
            layer = keras.layers.Dense(units, "selu" if hidden else None, kernel_initializer=start)
            layer.build([None, inputs])
            self.layers.append(layer)
            inputs = units

    @property
    def variables(self) -> list[tf.Variable]:
        return [variable for layer in self.layers for variable in layer.trainable_variables]

    def logits(self, x: tf.Tensor, seed: tf.Tensor | None = None) -> tf.Tensor:
        """With a seed, as in training: with dropout."""
        *hidden, last = self.layers
        for number, layer in enumerate(hidden):
            x = layer(x)
            if seed is not None and self.settings.dropout:
                x = alpha_dropout(x, self.settings.dropout, seed + tf.constant([0, number], seed.dtype))
        return last(x)


class SeluClassifier:
    """A trained network."""

    def __init__(self, network: Network, facts: Mapping[str, Any] | None = None) -> None:
        self.network, self._facts = network, dict(facts or {})

    @cached_property
    def _block(self) -> Any:
        return tf.function(lambda x: tf.nn.softmax(self.network.logits(x)), reduce_retracing=True)

    def predict(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        X = np.asarray(X, dtype=np.float32)
        starts = range(0, len(X), PREDICTED_AT_ONCE)
        blocks = [self._block(tf.constant(X[at : at + PREDICTED_AT_ONCE])).numpy() for at in starts]
        classes = self.network.layers[-1].units
        return np.concatenate([np.empty((0, classes)), *blocks]).astype(np.float64)

    def tensor_probabilities(self, X: tf.Tensor) -> tf.Tensor:
        """In the precision of X: where a network is compared with its copy, float32 would round by up to 1e-5."""
        for layer in self.network.layers:
            X = layer.activation(tf.matmul(X, tf.cast(layer.kernel, X.dtype)) + tf.cast(layer.bias, X.dtype))
        return tf.nn.softmax(X)

    def tensor_variables(self) -> Sequence[tf.Variable]:
        """All that `tensor_probabilities` reads."""
        return self.network.variables

    def arrays(self) -> Arrays:
        return {f"w{number:03d}": variable.numpy() for number, variable in enumerate(self.network.variables)}

    def facts(self) -> dict[str, Any]:
        return dict(self._facts)

    def hyperparameters(self) -> dict[str, Any]:
        return {"units": [layer.units for layer in self.network.layers]}


@dataclass
class History:
    """What a fit remembers besides its variables."""

    losses: list[float] = field(default_factory=list)  # after each epoch, on the held-out rows
    seconds: float = 0.0

    def best_epoch(self) -> int:
        """Counted from 1."""
        return 1 + int(np.argmin(self.losses))


class SeluFit:
    """A network before its first epoch."""

    def __init__(self, config: TrainConfig, split: Split, earlier: Mapping[str, NDArray[Any]] | None) -> None:
        self.settings, self.split, self.config = Settings(**config.method.settings), split, config
        self.network = Network(split.d, split.num_classes, self.settings, config.seed)
        if earlier is not None:
            _fill(self.network, earlier)
        self.classifier = SeluClassifier(self.network)
        self.adam = Adam(self.network.variables)
        order = np.random.default_rng(config.seed).permutation(split.n_train)
        held = int(self.settings.validation * split.n_train)
        self.held_out, self.rows = np.sort(order[:held]), np.sort(order[held:])
        self.X = tf.constant(np.asarray(split.X_train, np.float32))
        self.y = tf.constant(np.asarray(split.y_train, np.int64))
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.history = History()
        self.best: Sequence[np.ndarray] = []
        self._steps = tf.function(self._run_steps, input_signature=[tf.TensorSpec([None], tf.int64)], autograph=False)

    @property
    def variables(self) -> list[tf.Variable]:
        return [*self.network.variables, *self.adam.variables, self.step]

    def run(self, progress: Progress) -> SeluClassifier:
        if progress.resumes:
            assert progress.checkpoint is not None
            stored = load_checkpoint(progress.checkpoint)
            stored.restore(self.variables)
            self.history, self.best = History(**stored.history), stored.best
        an_epoch = -(-len(self.rows) // self.settings.batch_size)
        planned = an_epoch * self.settings.epochs
        progress.started(int(self.step), planned)
        saved_at = time.monotonic()
        while int(self.step) < planned and not self._is_done():
            loss = self._advance(an_epoch)
            progress.progressed(int(self.step), planned, loss)
            if int(self.step) % an_epoch == 0:
                self._end_epoch(progress, loss)
            if progress.stop_requested():
                self._save(progress)
                raise Interrupted(int(self.step), progress.checkpoint)
            if time.monotonic() - saved_at > self.config.runtime.checkpoint_seconds:
                self._save(progress)
                saved_at = time.monotonic()
        if self._is_done():
            progress.message(f"the held-out loss no longer falls: ending after epoch {len(self.history.losses)}.")
        _fill(self.network, self.best)
        return SeluClassifier(self.network, self._facts())

    def _advance(self, an_epoch: int) -> float:
        """Some steps, up to the end of the epoch; their mean loss."""
        began = time.perf_counter()
        epoch, done = divmod(int(self.step), an_epoch)
        order = np.random.default_rng([self.config.seed, epoch]).permutation(self.rows)
        first, last = done * self.settings.batch_size, (done + STEPS_AT_ONCE) * self.settings.batch_size
        loss = float(self._steps(tf.constant(order[first:last], tf.int64)))
        self.history.seconds += time.perf_counter() - began
        if not np.isfinite(loss):
            raise GpcnoiseError(
                f"the loss is not a finite number in epoch {epoch + 1}; method.settings.learning_rate="
                f"{self.settings.learning_rate:g} may be too large: try a tenth of it."
            )
        return loss

    def _end_epoch(self, progress: Progress, loss: float) -> None:
        history, split = self.history, self.split
        if len(self.held_out):
            probabilities = self.classifier.predict(split.X_train[self.held_out])
            loss = float(evaluate(probabilities, split.y_train[self.held_out]).nll)
        history.losses.append(loss)
        if history.best_epoch() == len(history.losses):
            self.best = [variable.numpy() for variable in self.network.variables]
        if split.n_test:
            metrics = evaluate(self.classifier.predict(split.X_test), split.y_test)
            progress.measured(CurvePoint.at(int(self.step), history.seconds, None, metrics, None))

    def _is_done(self) -> bool:
        losses = self.history.losses
        return bool(losses) and len(losses) - self.history.best_epoch() >= self.settings.patience

    def _save(self, progress: Progress) -> None:
        if progress.checkpoint is not None:
            save_checkpoint(progress.checkpoint, self.variables, vars(self.history), self.best)

    def _run_steps(self, order: tf.Tensor) -> tf.Tensor:
        """A step for every so many rows of `order`; the mean loss."""
        size, n = self.settings.batch_size, tf.size(order)
        seed = tf.constant(self.config.seed, tf.int64)

        def body(at: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            rows, step = order[at : at + size], self.step.read_value()
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self.network.variables)
                # Every layer of every step has a seed of its own.
                logits = self.network.logits(tf.gather(self.X, rows), tf.stack([seed, self.settings.layers * step]))
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather(self.y, rows), logits)
                loss = tf.reduce_mean(losses)
            gradients = tape.gradient(loss, self.network.variables)
            self.adam.apply(gradients, step, tf.constant(self.settings.learning_rate, tf.float64))
            self.step.assign_add(1)
            return at + size, total + tf.reduce_sum(losses)

        _, total = tf.while_loop(lambda at, _: at < n, body, [tf.constant(0), tf.constant(0.0)])
        return total / tf.cast(n, tf.float32)

    def _facts(self) -> dict[str, Any]:
        history, steps = self.history, int(self.step)
        return {
            "steps": steps,
            "epochs": len(history.losses),
            "best_epoch": history.best_epoch(),
            "validation_nll": min(history.losses) if len(self.held_out) else None,
            "train_seconds": history.seconds,
            "seconds_per_step": history.seconds / max(steps, 1),
            "incidents": [],
        }


class Selu:
    """`Method`, see there."""

    def describe(self, config: TrainConfig, num_classes: int) -> dict[str, Any]:
        return describe(config, num_classes)

    def start(self, config: TrainConfig, split: Split, earlier: Mapping[str, NDArray[Any]] | None = None) -> SeluFit:
        return SeluFit(config, split, earlier)

    def restore(self, config: TrainConfig, arrays: Arrays, d: int, num_classes: int, num_data: int) -> SeluClassifier:
        network = Network(d, num_classes, Settings(**config.method.settings))
        _fill(network, arrays)
        return SeluClassifier(network)


METHOD = Selu()


def _fill(network: Network, values: Mapping[str, NDArray[Any]] | Sequence[NDArray[Any]]) -> None:
    arrays = list(values.values()) if isinstance(values, Mapping) else list(values)
    variables = network.variables
    if [value.shape for value in arrays] != [tuple(variable.shape) for variable in variables]:
        raise ValueError("the parameters are not those of the configuration")
    for variable, value in zip(variables, arrays, strict=True):
        variable.assign(value)
