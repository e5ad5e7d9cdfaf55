"""Rows from disk: each once a pass, by (seed, step) alone, each block read once a pass and before it is needed."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from gpcnoise_cli.data import store as store_module
from gpcnoise_cli.data.store import Store, StoreWriter, kept
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.training.batches import batch_indices
from gpcnoise_cli.training.windows import Windows


@pytest.fixture
def numbered(monkeypatch):
    """A store whose rows hold their own numbers, with blocks of so many rows: `numbered(100, 30)`."""

    def make(n: int, block: int) -> Store:
        monkeypatch.setattr(store_module, "BLOCK_BYTES", 8 * block)

        def fill(folder):
            with StoreWriter(folder, n, 2) as writer:
                writer.append(np.column_stack([np.arange(n), np.arange(n)]), np.arange(n))
                writer.finish({})

        return kept(f"numbered-{n}", fill)

    return make


def rows_at(windows: Windows, step: int) -> np.ndarray:
    window = windows.at(step)
    start = (step - window.first) * windows.batch_size
    assert window.first <= step < window.end
    assert_array_equal(window.X[:, 0], window.y)
    return window.y[start : start + windows.batch_size]


def sequence(windows: Windows, steps: int) -> np.ndarray:
    return np.concatenate([rows_at(windows, step) for step in range(steps)])


@pytest.mark.parametrize(("n", "batch_size"), [(100, 7), (53, 10), (11, 10)])
def test_one_block_gives_the_rows_of_memory(n, batch_size, numbered):
    windows = Windows(numbered(n, n), n, batch_size=batch_size, seed=3)
    for step in range(3 * n // batch_size):
        memory = batch_indices(3, tf.constant(step, tf.int64), n, batch_size)
        assert_array_equal(rows_at(windows, step), memory)


def test_a_batch_of_all_rows_is_all_of_them(numbered):
    windows = Windows(numbered(20, 6), 20, batch_size=50, seed=0)
    assert_array_equal(windows.at(12345).y, np.arange(20))


@pytest.mark.parametrize(("n", "block", "batch_size"), [(100, 30, 7), (100, 10, 25), (97, 96, 13), (60, 1, 4)])
def test_every_row_once_a_pass_in_an_order_of_its_own(n, block, batch_size, numbered):
    seen = sequence(Windows(numbered(n, block), n, batch_size=batch_size, seed=1), -(-3 * n // batch_size))
    passes = seen[: 3 * n].reshape(3, n)
    for one in passes:
        assert_array_equal(np.sort(one), np.arange(n))
    assert not (passes[0] == passes[1]).all()
    assert not (passes[1] == passes[2]).all()


def test_a_step_has_the_same_rows_wherever_a_run_begins(numbered):
    store = numbered(100, 30)
    steps = [rows_at(Windows(store, 100, batch_size=7, seed=1), step) for step in range(40)]
    assert_array_equal(np.concatenate(steps), sequence(Windows(store, 100, batch_size=7, seed=1), 40))
    assert not (steps[0] == rows_at(Windows(store, 100, batch_size=7, seed=2), 0)).all()


def test_only_the_first_rows_are_drawn(numbered):
    assert sequence(Windows(numbered(100, 30), 80, batch_size=8, seed=1), 30).max() == 79


def test_blocks_are_read_once_a_pass_on_another_thread(numbered, monkeypatch):
    store, reads, threads = numbered(120, 30), [], set()
    usual = Store.rows

    def rows(self, start, stop):
        reads.append(start)
        threads.add(threading.current_thread())
        return usual(self, start, stop)

    monkeypatch.setattr(Store, "rows", rows)
    windows = Windows(store, 120, batch_size=10, seed=0)
    sequence_of_windows = [windows.at(step) for step in range(0, 24, windows.steps)]
    windows.close()
    assert len(sequence_of_windows) == 8
    assert sorted(reads[:8]) == sorted([0, 30, 60, 90] * 2)
    assert len(reads) <= 9  # one is read ahead
    assert threading.current_thread() not in threads


def test_trouble_of_the_reading_thread_is_told(numbered):
    store = numbered(100, 30)
    windows = Windows(store, 100, batch_size=7, seed=1)
    (store.folder / "X.npy").unlink()
    with pytest.raises(GpcnoiseError, match="can no longer be read"):
        windows.at(0)
