"""Minibatches: a pass is a well-mixed permutation, and a batch is a function of seed and step alone."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import stats

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.training.batches import LARGEST_NUMBER_OF_ROWS, batch_indices, pass_key, permuted

# Of a test statistic that is as it should be, one in ten thousand is worse than this.
UNLIKELY = 1e-4


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


def passes(n: int, seeds: range, numbers: range) -> np.ndarray:
    """The permutations of these passes of these seeds, one per row."""
    keys = [pass_key(seed, tf.constant(np.array(numbers), tf.uint64)).numpy() for seed in seeds]
    key = tf.constant(np.repeat(np.concatenate(keys), n))
    index = tf.constant(np.tile(np.arange(n, dtype=np.uint64), len(seeds) * len(numbers)))
    return permuted(index, key, n).numpy().astype(np.int64).reshape(-1, n)


@given(n=st.one_of(st.integers(1, 60), st.integers(61, 5000)), seed=st.integers(-(2**63), 2**64 - 1))
def test_every_key_gives_a_permutation(n: int, seed: int) -> None:
    for permutation in passes(n, range(seed, seed + 1), range(2)):
        assert_array_equal(np.sort(permutation), np.arange(n))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50, 101, 1000])
def test_a_row_may_come_anywhere_in_a_pass(n: int) -> None:
    permutations = passes(n, range(20), range(100))
    cells = min(n, 20)
    share = np.bincount(np.arange(n) * cells // n) / n
    places = range(0, n, max(1, n // 10))
    for place in places:
        counts = np.bincount(permutations[:, place] * cells // n, minlength=cells)
        assert stats.chisquare(counts, share * len(permutations)).pvalue > UNLIKELY / len(places)


@pytest.mark.parametrize("n", [5, 10, 20, 50, 101, 1000])
def test_neighbours_in_a_pass_know_nothing_of_each_other(n: int) -> None:
    permutations = passes(n, range(20), range(100))
    pairs = permutations[:, : n // 2 * 2].reshape(-1, 2)
    # The step from one row to the next is any number from 1 to n − 1, and as often as any other.
    cells = min(n - 1, 50)
    cell = ((pairs[:, 1] - pairs[:, 0]) % n - 1) * cells // (n - 1)
    share = np.bincount(np.arange(n - 1) * cells // (n - 1)) / (n - 1)
    assert stats.chisquare(np.bincount(cell, minlength=cells), share * len(pairs)).pvalue > UNLIKELY
    correlation = np.corrcoef(pairs[:, 0], pairs[:, 1])[0, 1]
    assert abs(correlation + 1 / (n - 1)) < 4 / np.sqrt(len(pairs))


@pytest.mark.parametrize("n", [20, 1000])
def test_passes_and_seeds_know_nothing_of_each_other(n: int) -> None:
    by_pass, by_seed = passes(n, range(1), range(400)), passes(n, range(400), range(1))
    for permutations in (by_pass, by_seed):
        same = np.sum(permutations[1:] == permutations[:-1], axis=1)
        assert abs(np.mean(same) - 1) < 4 / np.sqrt(len(same))  # of two random permutations one place agrees
        assert np.max(same) < 10
    # Nor is the first pass of one seed the second of another.
    assert len(np.unique(np.concatenate([by_pass, by_seed[1:]]), axis=0)) == 799


@pytest.mark.parametrize(("n", "batch_size"), [(1000, 100), (100_003, 256), (2_055_733, 1024), (2 * 10**9, 1024)])
def test_a_batch_of_a_sorted_file_has_its_share_of_every_class(n: int, batch_size: int) -> None:
    """The first 30% of the rows are one class: its count in a batch is that of a draw without replacement."""
    compiled = tf.function(lambda step: batch_indices(1, step, n, batch_size), autograph=False)
    steps = 300
    batches = np.stack([compiled(tf.constant(step, tf.int64)) for step in range(steps)])
    assert batches.min() >= 0
    assert batches.max() < n
    counts = np.sum(batches < 0.3 * n, axis=1)
    variance = batch_size * 0.3 * 0.7 * (n - batch_size) / (n - 1)
    assert abs(np.mean(counts) - 0.3 * batch_size) < 4 * np.sqrt(variance / steps)
    assert abs(np.var(counts) / variance - 1) < 4 * np.sqrt(2 / steps)


def test_more_rows_than_can_be_told_apart_are_refused() -> None:
    with pytest.raises(UsageError, match="more than minibatches can be drawn from"):
        batch_indices(0, tf.constant(0, tf.int64), LARGEST_NUMBER_OF_ROWS + 1, 10)
