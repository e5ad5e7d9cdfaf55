"""The compiled loop: many training steps in one call, no Python in between.

The loop draws its own minibatches (see `batches`), so a call needs nothing but the step to stop at. It ends early at
the first loss that is not finite, with the model as it was before that step.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from gpcnoise_cli.training.batches import Minibatch, batch_indices
from gpcnoise_cli.training.optimizers import Optimizer
from gpcnoise_cli.training.replicas import held, on_every_replica, part_of


class Loop(abc.ABC):
    """Holds the step counter, and the sum of losses since it was last taken."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.loss_sum = tf.Variable(0.0, dtype=tf.float64, trainable=False)

    @property
    def variables(self) -> list[tf.Variable]:
        return [self.step, self.loss_sum]

    @abc.abstractmethod
    def run_until(self, step: int) -> float:
        """Train up to (not including) `step`; the last loss, which is not finite if the loop stopped early."""

    def close(self) -> None:  # noqa: B027 (most loops hold nothing that has to go)
        """Take no further step, and let go of what they needed."""

    def take_mean_loss(self, steps: int) -> float:
        """The mean loss of the last `steps` steps, and start a new sum."""
        mean = float(self.loss_sum.numpy()) / max(steps, 1)
        self.loss_sum.assign(0.0)
        return mean

    def steps(
        self, end: tf.Tensor, rows_of: Callable[[tf.Tensor], tf.Tensor], X: Any, Y: Any, weights: Any = None
    ) -> tf.Tensor:
        """Graph code: the steps up to `end`, each on the rows of X and Y with the numbers `rows_of(step)`."""

        def go_on(loss: tf.Tensor) -> tf.Tensor:
            return tf.logical_and(self.step < end, tf.math.is_finite(loss))

        def body(_: tf.Tensor) -> tuple[tf.Tensor]:
            step = self.step.read_value()
            rows = rows_of(step)

            def share(replica: int, replicas: int, X: tf.Tensor, Y: tf.Tensor, *weights: tf.Tensor) -> tf.Tensor:
                mine, part = part_of(rows, replica, replicas)
                of_rows = tf.gather(weights[0], mine) if weights else None
                return self.optimizer.step(Minibatch(tf.gather(X, mine), tf.gather(Y, mine), mine, part, of_rows), step)

            loss = on_every_replica(share, X, Y, *([] if weights is None else [weights]))
            loss = tf.cast(loss, tf.float64)
            done = tf.math.is_finite(loss)
            self.loss_sum.assign_add(tf.where(done, loss, tf.zeros_like(loss)))
            self.step.assign_add(tf.cast(done, tf.int64))
            return (loss,)

        (loss,) = tf.while_loop(go_on, body, [tf.constant(0.0, tf.float64)])
        return loss


class TrainingLoop(Loop):
    """Holds the training rows too."""

    def __init__(
        self,
        optimizer: Optimizer,
        X: NDArray[np.floating],
        y: NDArray[np.integer],
        weights: NDArray[np.floating] | None = None,
        *,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__(optimizer)
        self.weights = None if weights is None else held(np.asarray(weights, dtype=np.float64))
        self.X = held(X)
        # 64-bit labels stay on the device: TensorFlow keeps 32-bit integers, even large ones, in the host's memory.
        self.Y = held(np.asarray(y, dtype=np.int64)[:, None])
        self.n, self.batch_size, self.seed = len(X), batch_size, seed
        self._run = tf.function(self._steps, input_signature=[tf.TensorSpec([], tf.int64)], autograph=False)

    def run_until(self, step: int) -> float:
        return float(self._run(tf.constant(step, tf.int64)))

    def _steps(self, end: tf.Tensor) -> tf.Tensor:
        def rows(step: tf.Tensor) -> tf.Tensor:
            return batch_indices(self.seed, step, self.n, self.batch_size)

        return self.steps(end, rows, self.X, self.Y, self.weights)
