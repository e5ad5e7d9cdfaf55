"""Minibatches from rows on disk: the rows of many steps at a time, read by a second thread before they are needed.

The rows of a store are shuffled and cut into K blocks. A pass visits the blocks in an order of its own, and the rows of
a block in an order of their own, both by the permutations of `batches`; so every row is seen once a pass, a block is
read once a pass, in one piece, and the rows of a step are a function of (seed, step) alone. With one block they are the
very rows that training in memory draws.

A window is the rows of so many steps. It may reach over the end of a block, or of several where they are small.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from gpcnoise_cli.data.store import Store
from gpcnoise_cli.training.batches import pass_key, permuted


class Window(NamedTuple):
    """The minibatches of the steps from `first` to before `end`, one after the other."""

    first: int
    end: int
    X: NDArray[np.float32]
    y: NDArray[np.int64]


class Visit(NamedTuple):
    """A block in the order in which one pass goes through it."""

    number: int
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    order: NDArray[np.int64]


class Windows:
    """The windows of a run on the first `n` rows of a store."""

    def __init__(self, store: Store, n: int, *, batch_size: int, seed: int) -> None:
        self.store, self.n, self.batch_size, self.seed = store, n, min(batch_size, n), seed
        blocks = -(-n // store.block_rows)
        self.bounds = np.array([n * number // blocks for number in range(blocks + 1)])
        self.steps = max(1, min(store.block_rows, n) // self.batch_size)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gpcnoise-rows")
        self._ahead: dict[int, Future[Window]] = {}
        self._visit: Visit | None = None  # the latest, known to the second thread alone

    def at(self, step: int) -> Window:
        """The window of `step`, which should have been read by now; the reading of the next one begins."""
        if self.batch_size == self.n:  # every step takes all rows, in their order
            return Window(0, 2**62, *self.store.rows(0, self.n))
        number = step // self.steps
        now = self._ahead.pop(number, None) or self._thread.submit(self._read, number)
        window = now.result()
        self._ahead = {number + 1: self._thread.submit(self._read, number + 1)}
        return window

    def close(self) -> None:
        """Read no further, and let go of what was read."""
        self._thread.shutdown(cancel_futures=True)
        self._ahead, self._visit = {}, None

    def _read(self, number: int) -> Window:
        size, start = self.steps * self.batch_size, number * self.steps * self.batch_size
        X, y = np.empty((size, self.store.X.shape[1]), np.float32), np.empty(size, np.int64)
        place = 0
        while place < size:
            visit, within = self._visit_at(start + place)
            rows = visit.order[within : within + size - place]
            part = slice(place, place + len(rows))
            np.take(visit.X, rows, axis=0, out=X[part])
            np.take(visit.y, rows, out=y[part])
            place = part.stop
        return Window(number * self.steps, (number + 1) * self.steps, X, y)

    def _visit_at(self, position: int) -> tuple[Visit, int]:
        """The visit that has the row at `position` in the sequence of all passes, and where in it that row is."""
        passed, place = divmod(position, self.n)
        blocks = len(self.bounds) - 1
        order = _permutation(-1 - self.seed, passed, blocks)
        ends = np.cumsum(np.diff(self.bounds)[order])
        turn = int(np.searchsorted(ends, place, side="right"))
        number, block = passed * blocks + turn, int(order[turn])
        first, stop = int(self.bounds[block]), int(self.bounds[block + 1])
        if self._visit is None or self._visit.number != number:
            self._visit = None  # gone before the next is read
            self._visit = Visit(number, *self.store.rows(first, stop), _permutation(self.seed, number, stop - first))
        return self._visit, place - int(ends[turn]) + stop - first


def _permutation(seed: int, number: int, n: int) -> NDArray[np.int64]:
    """All of the permutation of n elements that minibatches follow in pass `number`."""
    with tf.device("CPU:0"):
        key = tf.fill([n], pass_key(seed, tf.constant(number, tf.uint64)))
        return permuted(tf.constant(np.arange(n, dtype=np.uint64)), key, n).numpy().astype(np.int64)
