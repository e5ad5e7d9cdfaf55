"""Minibatches: a pass is a permutation, and a batch is a function of seed and step alone."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gpcnoise_cli.training.batches import batch_indices


def rows_of(seed: int, steps: range, n: int, batch_size: int) -> np.ndarray:
    batches = [batch_indices(seed, tf.constant(step, tf.int64), n, batch_size) for step in steps]
    return np.concatenate(batches)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31 - 1), n=st.integers(2, 40), data=st.data())
def test_every_row_comes_once_per_pass(seed: int, n: int, data: st.DataObject) -> None:
    batch_size = data.draw(st.integers(1, n - 1))
    passes = 2
    steps = -(-passes * n // batch_size)
    stream = rows_of(seed, range(steps), n, batch_size)
    for k in range(passes):
        assert_array_equal(np.sort(stream[k * n : (k + 1) * n]), np.arange(n))


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 30), more=st.integers(0, 10), step=st.integers(0, 10**9))
def test_a_batch_as_large_as_the_data_is_all_of_it(seed: int, n: int, more: int, step: int) -> None:
    assert_array_equal(batch_indices(seed, tf.constant(step, tf.int64), n, n + more), np.arange(n))


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31 - 1), step=st.integers(0, 10**7), n=st.integers(2, 3_000_000), data=st.data())
def test_a_batch_depends_on_seed_and_step_only(seed: int, step: int, n: int, data: st.DataObject) -> None:
    batch_size = data.draw(st.integers(1, min(n - 1, 64)))
    before = rows_of(seed, range(step, step + 1), n, batch_size)
    rows_of(seed // 2, range(step + 1, step + 3), n, batch_size)  # others drawn in between change nothing
    assert_array_equal(rows_of(seed, range(step, step + 1), n, batch_size), before)
    assert before.shape == (batch_size,)
    assert before.min() >= 0
    assert before.max() < n


def test_compiled_and_eager_batches_are_the_same() -> None:
    compiled = tf.function(lambda step: batch_indices(7, step, 50, 8), autograph=False)
    for step in (0, 5, 6, 1000):
        assert_array_equal(compiled(tf.constant(step, tf.int64)), rows_of(7, range(step, step + 1), 50, 8))


def test_passes_and_seeds_differ() -> None:
    one_pass = range(10)
    first, second = rows_of(0, one_pass, 100, 10), rows_of(0, range(10, 20), 100, 10)
    other_seed = rows_of(1, one_pass, 100, 10)
    for a, b in ((first, second), (first, other_seed), (first, np.arange(100))):
        assert np.mean(a == b) < 0.1


def test_rows_are_spread_evenly_over_the_places_of_a_pass() -> None:
    """Row 0 should turn up anywhere in a pass: over 400 passes of 20 rows, each place about 20 times."""
    compiled = tf.function(lambda step: batch_indices(3, step, 20, 10), autograph=False)
    stream = np.concatenate([compiled(tf.constant(step, tf.int64)) for step in range(800)]).reshape(400, 20)
    place = np.argmax(stream == 0, axis=1)
    counts = np.bincount(place, minlength=20)
    # χ² with 19 degrees of freedom: 43.8 is its 99.9% point.
    assert np.sum((counts - 20.0) ** 2 / 20.0) < 43.8
