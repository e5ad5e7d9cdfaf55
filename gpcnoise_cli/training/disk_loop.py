"""The compiled loop on rows that are on disk: as in memory, but its rows are handed to it a window at a time."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from gpcnoise_cli.training.loop import Loop
from gpcnoise_cli.training.optimizers import Optimizer
from gpcnoise_cli.training.replicas import held
from gpcnoise_cli.training.windows import Windows


class DiskLoop(Loop):
    """Holds one window of the training rows on the device, or devices."""

    def __init__(self, optimizer: Optimizer, windows: Windows) -> None:
        super().__init__(optimizer)
        self.windows = windows
        self._first, self._end = 0, 0  # nothing is held yet
        self._held: tuple[Any, ...] = ()
        self._run = tf.function(self._in_window, autograph=False)

    def run_until(self, step: int) -> float:
        """Train up to (not including) `step`; the last loss, which is not finite if the loop stopped early."""
        while True:
            now = int(self.step.numpy())
            if not self._first <= now < self._end:
                self._held = ()  # gone before the next is there
                window = self.windows.at(now)
                self._held = held(window.X), held(window.y[:, None])
                self._first, self._end = window.first, window.end
            end = tf.constant(min(step, self._end), tf.int64)
            loss = float(self._run(end, tf.constant(self._first, tf.int64), *self._held))
            if not math.isfinite(loss) or int(self.step.numpy()) >= step:
                return loss

    def close(self) -> None:
        self.windows.close()
        self._held = ()

    def _in_window(self, end: tf.Tensor, first: tf.Tensor, X: Any, Y: Any) -> tf.Tensor:
        size = self.windows.batch_size
        everything = size == self.windows.n

        def rows(step: tf.Tensor) -> tf.Tensor:
            start = tf.zeros_like(step) if everything else (step - first) * size
            return start + tf.range(size, dtype=tf.int64)

        return self.steps(end, rows, X, Y)
