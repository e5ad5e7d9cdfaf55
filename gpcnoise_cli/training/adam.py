"""Adam by TensorFlow's own fused kernel: one pass over parameter, slots and gradient.

The rule is Keras's (Kingma and Ba's second form, ε = 1e-7); the slots are plain variables, so that a checkpoint can
hold them.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7


class Adam:
    """Moments for a list of variables; `apply` makes one step."""

    def __init__(self, variables: Sequence[tf.Variable], beta_2: float = BETA_2) -> None:
        self.parameters = list(variables)
        self.beta_2 = beta_2
        self.first = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.parameters]
        self.second = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.parameters]

    @property
    def variables(self) -> list[tf.Variable]:
        return [*self.first, *self.second]

    def apply(self, gradients: Sequence[tf.Tensor | None], step: tf.Tensor, learning_rate: tf.Tensor) -> None:
        """Step number `step` (counted from 0) along `gradients` of a loss."""
        count = tf.cast(step + 1, tf.float64)
        powers = tf.pow(tf.constant(BETA_1, tf.float64), count), tf.pow(tf.constant(self.beta_2, tf.float64), count)
        for variable, first, second, gradient in zip(self.parameters, self.first, self.second, gradients, strict=True):
            if gradient is None:
                continue
            dtype = variable.dtype
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=first.handle,
                v=second.handle,
                beta1_power=tf.cast(powers[0], dtype),
                beta2_power=tf.cast(powers[1], dtype),
                lr=tf.cast(learning_rate, dtype),
                beta1=tf.constant(BETA_1, dtype),
                beta2=tf.constant(self.beta_2, dtype),
                epsilon=tf.constant(EPSILON, dtype),
                grad=gradient,
            )
