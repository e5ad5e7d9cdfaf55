"""Folds and calibration rows: parts of the training rows, scaled by what is trained on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.data.parts import fold_rows, folds_of, keep_back
from gpcnoise_cli.data.split import Split, Table, make_split
from gpcnoise_cli.errors import UsageError

Splits = Callable[..., Split]


def table(n: int = 60, classes: int = 3) -> Table:
    rng = np.random.default_rng(0)
    names = tuple("abc"[:classes])
    return Table(rng.normal(3.0, 5.0, size=(n, 2)), np.arange(n) % classes, names, ("f0", "f1"), "file")


def raw(X: np.ndarray, split: Split) -> np.ndarray:
    return X * split.scaler.scale + split.scaler.mean


def test_every_row_is_in_one_fold_and_every_class_in_each() -> None:
    split = make_split("t", table(), protocol="clean", split=0, test_fraction=0.0)
    folds = fold_rows(split, 5)
    assert_array_equal(np.sort(np.concatenate(folds)), np.arange(60))
    assert all(np.bincount(split.y_train[rows]).tolist() == [4, 4, 4] for rows in folds)
    again, other = fold_rows(split, 5), make_split("t", table(), protocol="clean", split=1, test_fraction=0.0)
    assert all((one == two).all() for one, two in zip(folds, again, strict=True))
    assert not (split.rows == other.rows).all()


def test_a_fold_is_scaled_by_the_rows_that_it_trains_on() -> None:
    whole = table()
    split = make_split("t", whole, protocol="clean", split=0, test_fraction=0.0)
    for rows, part in folds_of(split, 4):
        assert_allclose(part.X_train.mean(axis=0), 0.0, atol=1e-12)
        assert_allclose(part.X_train.std(axis=0), 1.0)
        assert_allclose(raw(part.X_test, part), whole.X[split.rows[rows]])
        assert_allclose(raw(part.X_train, part), whole.X[part.rows])
        assert_array_equal(part.y_test, whole.y[split.rows[rows]])
        assert part.n_train + part.n_test == 60


def test_under_the_papers_protocol_the_scaling_over_all_rows_stays() -> None:
    split = make_split("t", table(), protocol="paper", split=0, test_fraction=0.0)
    for rows, part in folds_of(split, 3):
        assert_array_equal(part.X_test, split.X_train[rows])


def test_features_that_weigh_less_keep_their_weight() -> None:
    split = make_split("t", table(), protocol="clean", split=0, test_fraction=0.0)
    lighter = Split(**{**vars(split), "X_train": split.X_train * [1.0, 0.1]})
    _, part = next(folds_of(lighter, 3))
    assert_allclose(part.X_train.std(axis=0), [1.0, 0.1])


def test_calibration_rows_are_neither_trained_on_nor_test_rows() -> None:
    whole = table()
    split = make_split("t", whole, protocol="clean", split=0, test_fraction=0.2)
    part = keep_back(split, 0.25)
    assert (part.n_train, part.n_test) == (36, 12)
    assert part.X_calibration is not None
    assert_allclose(raw(part.X_calibration, part), whole.X[split.rows[36:]])
    assert_array_equal(part.y_calibration, whole.y[split.rows[36:]])
    assert_allclose(raw(part.X_test, part), raw(split.X_test, split))
    assert_allclose(part.X_train.std(axis=0), 1.0)
    assert keep_back(split, 0.0) is split


def test_all_rows_may_be_trained_on() -> None:
    split = make_split("t", table(), protocol="clean", split=3, test_fraction=0.0)
    assert (split.n_train, split.n_test, len(split.y_test)) == (60, 0, 0)


def test_a_class_that_would_be_lost_is_named() -> None:
    rare = table()
    rare.y[:] = 0
    rare.y[:30] = 1
    split = make_split("t", rare, protocol="clean", split=0, test_fraction=0.0)
    split.y_train[-1] = 2
    with pytest.raises(UsageError, match="no row of class 'c'"):
        keep_back(split, 0.1)
    with pytest.raises(UsageError, match="no row of class 'c'"):
        fold_rows(split, 3)
    with pytest.raises(UsageError, match="--folds 60 or less"):
        fold_rows(split, 61)
    with pytest.raises(UsageError, match="no class has as many rows"):
        fold_rows(split, 50)
    with pytest.raises(UsageError, match="leaves none on one side"):
        keep_back(split, 0.999)
