"""Weights of rows and classes, as people give them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.data.scaling import fit_clean_scaler
from gpcnoise_cli.data.split import Table, make_split
from gpcnoise_cli.data.weights import balanced, read_class_weights, spelled_out, weighted
from gpcnoise_cli.errors import UsageError

NAMES = ("no", "yes")


def table(n: int = 12) -> Table:
    X = np.random.default_rng(0).normal(2.0, 3.0, size=(n, 2))
    return Table(X, np.arange(n) % 2, NAMES, ("f0", "f1"), "file")


def test_weights_scale_as_repeated_rows_do() -> None:
    split = make_split("t", table(), protocol="clean", split=0, test_fraction=0.25)
    times = np.array([1, 2, 3, 1, 1, 2, 1, 1, 1])
    found = weighted(split, times.astype(float))
    expected = fit_clean_scaler(table().X[split.rows.repeat(times)])
    assert_allclose(found.scaler.mean, expected.mean)
    assert_allclose(found.scaler.scale, expected.scale)
    raw = found.X_test * found.scaler.scale + found.scaler.mean
    assert_allclose(raw, split.X_test * split.scaler.scale + split.scaler.mean)
    assert found.total_weight == 13


def test_rows_of_weight_zero_are_left_out() -> None:
    split = make_split("t", table(), protocol="clean", split=0, test_fraction=0.25)
    weights = np.ones(9)
    weights[2] = 0
    found = weighted(split, weights)
    assert found.n_train == 8
    assert_array_equal(found.rows, np.delete(split.rows, 2))


def test_weights_of_one_change_nothing() -> None:
    split = make_split("t", table(), protocol="clean", split=0)
    assert weighted(split, np.ones(split.n_train)) is split
    assert weighted(split, None) is split


def test_balanced_classes_have_the_same_total() -> None:
    y = np.array([0] * 9 + [1] * 3)
    assert_allclose(balanced(y, 2), [12 / 18, 2.0])
    weights = np.repeat([1.0, 2.0], [9, 3])
    assert_allclose(balanced(y, 2, weights), balanced(np.array([0] * 9 + [1] * 6), 2))


def test_a_class_without_rows_is_told() -> None:
    split = make_split("t", table(), protocol="clean", split=0)
    with pytest.raises(UsageError, match="no row of class 'yes'"):
        weighted(split, (split.y_train == 0).astype(float))


@pytest.mark.parametrize("content", ["class,weight\nyes,5\nno,1\n", "yes,5\n", '{"yes": 5}'])
def test_class_weights_in_a_file(tmp_path: Path, content: str) -> None:
    file = tmp_path / "weights"
    file.write_text(content)
    assert_allclose(read_class_weights(str(file), NAMES, np.array([0, 1])), [1.0, 5.0])
    assert "yes" in spelled_out(str(file))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("balance", "cannot read the class weights 'balance'"),
        ("{yes: 1}", "cannot be read"),
        ('{"ja": 1}', "'ja'"),
        ('{"yes": 0}', "greater than 0, not 0"),
        ('{"yes": "much"}', "greater than 0, not 'much'"),
    ],
)
def test_class_weights_that_cannot_be_meant(given: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_class_weights(given, NAMES, np.array([0, 1]))
