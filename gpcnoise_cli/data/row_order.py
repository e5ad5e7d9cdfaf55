"""The order of the rows of a table too long to be shuffled in memory.

Every row has a key that is a function of its number and of the split alone; the rows are ordered by their keys. Up to
`MOST_SHUFFLED` rows the key is the place that `shuffled_rows` gives the row, so that split k holds the same rows on
disk and in memory. Beyond, it is a hash of 64 bits, and nothing of the table's length is held.

Buckets are ranges of keys: rows can be scattered to them in one pass over the table, and each can then be ordered by
itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.split import shuffled_rows

MOST_SHUFFLED = 2**22
_CHUNK = 2**20
_GOLDEN = 0x9E3779B97F4A7C15  # the increment of splitmix64, and below the shifts and factors of its finaliser


class RowOrder:
    """The order of `n` rows in split number `split`, in buckets of about `rows` each."""

    def __init__(self, n: int, split: int, rows: int) -> None:
        self.n, self.split = n, split
        self.buckets = max(1, -(-n // max(rows, 1)))
        self._place: NDArray[np.uint64] | None = None
        if n <= MOST_SHUFFLED:
            self._place = np.empty(n, dtype=np.uint64)
            self._place[shuffled_rows(n, split)] = np.arange(n, dtype=np.uint64)
        self.sizes = sum(
            (self._sizes(start, min(start + _CHUNK, n)) for start in range(0, n, _CHUNK)),
            start=np.zeros(self.buckets, dtype=np.int64),
        )

    def keys(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Those of the rows with the numbers from `start` to before `stop`."""
        if self._place is not None:
            return self._place[start:stop]
        # Splits far apart: the second mixing keeps the rows of one from being those of another, moved along.
        offset = _mixed(np.array([self.split + 1], dtype=np.uint64) * np.uint64(_GOLDEN))
        return _mixed(_mixed(np.arange(start, stop, dtype=np.uint64)) + offset)

    def bucket(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Which bucket each key belongs to; all keys of a bucket are less than those of the next."""
        if self._place is not None:
            return (keys * np.uint64(self.buckets) // np.uint64(self.n)).astype(np.int64)
        return ((keys >> np.uint64(32)) * np.uint64(self.buckets) >> np.uint64(32)).astype(np.int64)

    def _sizes(self, start: int, stop: int) -> NDArray[np.int64]:
        return np.bincount(self.bucket(self.keys(start, stop)), minlength=self.buckets)


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: a permutation of the numbers of 64 bits."""
    value = value + np.uint64(_GOLDEN)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
