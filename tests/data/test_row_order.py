"""Keys order the rows: as in memory where that is possible, else at random, and always the same."""

from __future__ import annotations

import numpy as np
import pytest

from gpcnoise_cli.data import row_order
from gpcnoise_cli.data.row_order import RowOrder
from gpcnoise_cli.data.split import shuffled_rows


def rows_in_order(order):
    return np.argsort(order.keys(0, order.n), kind="stable")


def test_a_short_table_is_ordered_as_in_memory():
    np.testing.assert_array_equal(rows_in_order(RowOrder(1000, 3, 100)), shuffled_rows(1000, 3))


@pytest.mark.parametrize("most", [0, 2**22])
def test_buckets_are_ranges_of_the_order(most, monkeypatch):
    monkeypatch.setattr(row_order, "MOST_SHUFFLED", most)
    order = RowOrder(5000, 1, 700)
    buckets = order.bucket(order.keys(0, 5000))
    assert order.buckets == 8
    np.testing.assert_array_equal(np.bincount(buckets, minlength=8), order.sizes)
    assert np.all(np.diff(buckets[rows_in_order(order)]) >= 0)
    np.testing.assert_array_equal(np.concatenate([order.keys(0, 11), order.keys(11, 5000)]), order.keys(0, 5000))


def test_the_order_of_a_long_table_looks_random(monkeypatch):
    monkeypatch.setattr(row_order, "MOST_SHUFFLED", 0)
    n = 4000
    first, second = rows_in_order(RowOrder(n, 0, 500)), rows_in_order(RowOrder(n, 1, 500))
    for order in (first, second):
        assert sorted(order) == list(range(n))
        assert abs(np.corrcoef(order, np.arange(n))[0, 1]) < 0.06
        assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 0.06
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.06
    assert len(set(first[-400:]) & set(second[-400:])) < 80  # 40 are to be expected
