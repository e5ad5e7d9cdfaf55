"""How step sizes change along a run, and when a run may end.

With cycles, a run is a row of annealed stretches: the rates stay at their full size, then fall linearly to nearly
nothing, because minibatch noise keeps a full-size step from settling; then the next, longer stretch begins, unless the
last one gained too little. Where a stretch begins and ends are variables, since they are decided as the run goes.
Without cycles the rates never change.
"""

from __future__ import annotations

import tensorflow as tf

from gpcnoise_cli.config.schema import OptimizerConfig

# The rates never fall to nothing at once: the last steps still move a little.
LEAST_FACTOR = 0.01


class Schedule:
    """The planned end of a run, its present cycle, and the factor on its rates, all inside the compiled loop."""

    def __init__(self, iterations: int, config: OptimizerConfig) -> None:
        self.cycles, self.growth, self.fall = config.cycle > 0, config.cycle_growth, config.cycle_fall
        self.end = tf.Variable(iterations, dtype=tf.int64, trainable=False)
        self.cycle_start = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.cycle_end = tf.Variable(
            self._fitted(0, config.cycle) if self.cycles else iterations, dtype=tf.int64, trainable=False
        )
        # Falls when a run had to return to an earlier state.
        self.scale = tf.Variable(1.0, dtype=tf.float64, trainable=False)

    @property
    def variables(self) -> list[tf.Variable]:
        return [self.end, self.cycle_start, self.cycle_end, self.scale]

    def factor(self, step: tf.Tensor) -> tf.Tensor:
        """The factor on the rates at `step`, in (0, 1]."""
        if not self.cycles:
            return self.scale.read_value()
        length = tf.cast(self.cycle_end - self.cycle_start, tf.float64)
        left = tf.cast(self.cycle_end - step, tf.float64) / tf.maximum(self.fall * length, 1.0)
        return self.scale * tf.clip_by_value(left, LEAST_FACTOR, 1.0)

    def next_cycle(self) -> None:
        """Let the next cycle begin where the last one ended."""
        start, before = int(self.cycle_end.numpy()), int(self.cycle_end.numpy()) - int(self.cycle_start.numpy())
        self.cycle_start.assign(start)
        self.cycle_end.assign(self._fitted(start, round(self.growth * before)))

    def stop(self, step: int) -> None:
        """The run ends at `step`."""
        self.end.assign(step)

    def _fitted(self, start: int, length: int) -> int:
        """Where a cycle of about `length` steps ends: it takes in a rest that is too short for a cycle of its own."""
        end = int(self.end.numpy())
        return end if end - start < 2 * length else start + length
