"""How step sizes change along a run, and when a run may end.

The rates stay at their full size, then fall linearly to zero: minibatch noise keeps a full-size step from settling.
When the fall begins and where the run ends are variables, because the stopping rule may bring both forward.
"""

from __future__ import annotations

import tensorflow as tf

# Without early stopping the rates fall over this last part of the planned steps.
DECAY_PART = 0.4
# The rates never fall to nothing at once: the last steps still move a little.
LEAST_FACTOR = 0.01


class Schedule:
    """The planned end of a run and the factor on its rates, both inside the compiled loop."""

    def __init__(self, iterations: int, decay: bool) -> None:
        self.decay = decay
        self.end = tf.Variable(iterations, dtype=tf.int64, trainable=False)
        self.decay_from = tf.Variable(int((1 - DECAY_PART) * iterations), dtype=tf.int64, trainable=False)

    @property
    def variables(self) -> list[tf.Variable]:
        return [self.end, self.decay_from]

    def factor(self, step: tf.Tensor) -> tf.Tensor:
        """The factor on the rates at `step`, in (0, 1]."""
        if not self.decay:
            return tf.constant(1.0, tf.float64)
        left = tf.cast(self.end - step, tf.float64) / tf.cast(tf.maximum(self.end - self.decay_from, 1), tf.float64)
        return tf.clip_by_value(left, LEAST_FACTOR, 1.0)

    def wind_down(self, step: int, steps: int) -> None:
        """From `step` on let the rates fall, and end after `steps` more, unless the run was to end earlier anyway."""
        self.end.assign(min(int(self.end.numpy()), step + steps))
        self.decay_from.assign(min(int(self.decay_from.numpy()), step))
