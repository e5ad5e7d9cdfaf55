"""Minibatches without an input pipeline: the rows of a step are a function of (seed, step) alone.

Each pass over the data is a pseudo-random permutation that TensorFlow evaluates element by element, so a batch costs
O(B) whatever n is, nothing is shuffled or stored, every row is seen once per pass, and a resumed run draws what the
interrupted one would have drawn.
"""

from __future__ import annotations

import tensorflow as tf


def batch_indices(seed: int, step: tf.Tensor, n: int, batch_size: int) -> tf.Tensor:
    """The rows of minibatch number `step` (an int64 scalar): [min(batch_size, n)]."""
    if batch_size >= n:
        return tf.range(n, dtype=tf.int64)
    position = tf.cast(step, tf.int64) * batch_size + tf.range(batch_size, dtype=tf.int64)
    first_pass = position[0] // n
    offset = position - first_pass * n  # < 2n: a batch reaches into one further pass at the most

    def permuted(index: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        key = tf.stack([tf.constant(seed, tf.int64), number])
        return tf.random.experimental.index_shuffle(index, tf.cast(key, tf.int32), n - 1)

    return tf.where(offset < n, permuted(offset % n, first_pass), permuted(offset % n, first_pass + 1))
