"""Predictions in blocks: the same as at once, rows that sum to one, and never more than one block in memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.models.predict import Predictor


@pytest.mark.parametrize(
    ("likelihood", "classes", "precision"), [("logit", 2, "float64"), ("step", 3, "mixed"), ("softmax", 3, "mixed")]
)
def test_blocks_do_not_show_in_the_result(pair: Callable, likelihood: str, classes: int, precision: str) -> None:
    model, _, (X, _) = pair(likelihood, classes, rows=23, precision=precision)
    predictor = Predictor(model, chunk_rows=100)
    at_once = predictor(X)
    predictor.chunk_rows = 5
    in_blocks = predictor(X)
    rounding = 1e-12 if precision == "float64" else 1e-6
    assert_allclose(in_blocks, at_once, rtol=0, atol=rounding)
    assert at_once.shape == (23, classes)
    assert at_once.dtype == np.float64
    assert_allclose(at_once.sum(axis=1), 1.0, atol=rounding)
    assert np.all(at_once >= 0.0)
    eager = model.likelihood.predict_probabilities(*model.marginals(tf.constant(X)))
    assert_allclose(at_once, eager, atol=10 * rounding)
    assert_array_equal(predictor(X), in_blocks)


def test_memory_is_that_of_one_block(pair: Callable) -> None:
    """No block is longer than asked for, whatever n is, and one trace serves them all."""
    model, _, _ = pair("probit", 2)
    predictor = Predictor(model, chunk_rows=64)
    lengths = []

    def watched(X: tf.Tensor) -> tf.Tensor:
        lengths.append(len(X))
        return tf.fill([len(X), 2], tf.constant(0.5, tf.float64))

    predictor._block = watched
    result = predictor(np.zeros((1000, 3), dtype=np.float32))
    assert max(lengths) == 64
    assert sum(lengths) == 1000
    assert result.shape == (1000, 2)


def test_no_rows_give_no_predictions(pair: Callable) -> None:
    model, _, _ = pair("probit", 3)
    assert Predictor(model, chunk_rows=10)(np.empty((0, 3))).shape == (0, 3)


def test_it_follows_the_model(pair: Callable) -> None:
    """The trainer keeps one compiled predictor: parameters, δ and jitter that change later must reach it."""
    model, _, (X, _) = pair("probit", 2)
    predictor = Predictor(model, chunk_rows=10)
    before = predictor(X)
    model.q_mu.assign(-model.q_mu)
    after = predictor(X)
    assert_allclose(after, before[:, ::-1], atol=1e-12)
    model.likelihood.assign_delta(0.2)
    robust = predictor(X)
    assert np.all(robust >= 0.2 - 1e-12)
    model.jitter.assign(1.0)
    assert np.abs(predictor(X) - robust).max() > 1e-3
