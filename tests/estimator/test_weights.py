"""Sample and class weights of the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from gpcnoise_cli import GPCNoiseClassifier

QUICK = {"iterations": 30, "random_state": 0}


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(40, centers=3, cluster_std=3.0, random_state=1)
    return X, y


def test_a_weight_of_two_is_a_row_twice_and_of_zero_none(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    times = np.tile([0, 1, 2, 3], 10)
    weighted = GPCNoiseClassifier(**QUICK).fit(X, y, sample_weight=times)
    repeated = GPCNoiseClassifier(**QUICK).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.elbo_ == repeated.elbo_


def test_class_weights_are_sample_weights(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    by_class = GPCNoiseClassifier(class_weight={0: 5.0}, **QUICK).fit(X, y)
    by_row = GPCNoiseClassifier(**QUICK).fit(X, y, sample_weight=np.where(y == 0, 5.0, 1.0))
    assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=0.02)  # the order of rows differs
    plain = GPCNoiseClassifier(**QUICK).fit(X, y)
    assert by_class.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.02


def test_weights_that_cannot_be_meant_are_refused(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    for weights, words in (
        (np.full(40, -1.0), "[Nn]egative"),
        (np.zeros(40), "all sample weights"),
        (np.ones(3), "shape"),
    ):
        with pytest.raises(ValueError, match=words):
            GPCNoiseClassifier(**QUICK).fit(X, y, sample_weight=weights)
    for given, words in (("heavy", "class_weight must be"), ({7: 1.0}, "7"), ({0: -1.0}, "greater than 0")):
        with pytest.raises(ValueError, match=words):
            GPCNoiseClassifier(class_weight=given, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="method=selu knows no weights"):
        GPCNoiseClassifier(method="selu").fit(X, y, sample_weight=np.arange(40))
