"""Metrics against scikit-learn, against cases done by hand, and within their bounds for any input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from gpcnoise_cli.evaluation.metrics import (
    LEAST_PROBABILITY,
    Metrics,
    clip_probabilities,
    evaluate,
    expected_calibration_error,
    reliability,
)


def draw(seed: int, n: int, classes: int, sharpness: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = sharpness * rng.normal(size=(n, classes))
    probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
    return probabilities / probabilities.sum(axis=1, keepdims=True), rng.integers(classes, size=n)


@pytest.mark.parametrize("classes", [2, 3, 26])
def test_they_equal_those_of_scikit_learn(classes: int) -> None:
    p, y = draw(classes, 300, classes, sharpness=2.0)
    metrics = evaluate(p, y)
    assert metrics.acc == 100.0 * accuracy_score(y, p.argmax(axis=1))
    assert_allclose(metrics.nll, log_loss(y, p, labels=range(classes)), rtol=1e-10)
    per_class = [brier_score_loss(y == c, p[:, c], pos_label=True) for c in range(classes)]
    assert_allclose(metrics.brier, sum(per_class), rtol=1e-10)


def test_a_case_by_hand() -> None:
    p = np.array([[0.75, 0.25], [0.25, 0.75], [0.75, 0.25], [0.5, 0.5]])
    metrics = evaluate(p, np.array([0, 1, 1, 0]))
    assert metrics.acc == 75.0
    assert_allclose(metrics.nll, -(2 * np.log(0.75) + np.log(0.25) + np.log(0.5)) / 4, rtol=1e-10)
    assert_allclose(metrics.brier, (2 * 0.125 + 1.125 + 0.5) / 4, rtol=1e-10)
    # Three predictions at 0.75, two of them right; one at 0.5, right.
    assert_allclose(metrics.ece, (3 * (0.75 - 2 / 3) + 1 * 0.5) / 4, rtol=1e-10)


def test_certain_and_right_is_the_best_there_is() -> None:
    y = np.array([0, 2, 1])
    metrics = evaluate(np.eye(3)[y], y)
    assert metrics.acc == 100.0
    assert_allclose([metrics.nll, metrics.brier, metrics.ece], 0.0, atol=1e-11)


def test_certain_and_wrong_costs_much_but_not_everything() -> None:
    metrics = evaluate(np.array([[1.0, 0.0]]), np.array([1]))
    assert_allclose(metrics.nll, -np.log(LEAST_PROBABILITY), rtol=1e-9)
    assert metrics == Metrics(acc=0.0, nll=metrics.nll, brier=pytest.approx(2.0), ece=pytest.approx(1.0))


def test_chance_is_worth_log_c() -> None:
    y = np.arange(60) % 3
    metrics = evaluate(np.full((60, 3), 1 / 3), y)
    assert_allclose(metrics.nll, np.log(3), rtol=1e-12)
    assert_allclose(metrics.ece, 0.0, atol=1e-12)


def test_calibrated_predictions_have_no_calibration_error() -> None:
    """Of ten predictions at 0.6, six are right; of ten at 0.9, nine."""
    p = np.repeat([[0.6, 0.4], [0.9, 0.1]], 10, axis=0)
    y = np.array([0] * 6 + [1] * 4 + [0] * 9 + [1])
    assert_allclose(expected_calibration_error(p, y), 0.0, atol=1e-15)
    table = reliability(p, y)
    assert_allclose(table.confidence, [0.6, 0.9])
    assert_allclose(table.accuracy, [0.6, 0.9])
    assert_array_equal(table.count, [10, 10])


def test_calibration_against_a_plain_loop_over_the_bins() -> None:
    p, y = draw(4, 500, 4, sharpness=1.5)
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == y
    expected = 0.0
    for low in np.arange(15) / 15:
        inside = (confidence >= low) & (confidence < low + 1 / 15)
        if inside.any():
            expected += inside.mean() * abs(confidence[inside].mean() - correct[inside].mean())
    assert_allclose(expected_calibration_error(p, y), expected, rtol=1e-10)


@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 40),
    classes=st.integers(2, 6),
    sharpness=st.floats(0.0, 2000.0),
)
def test_whatever_the_probabilities_the_metrics_stay_within_their_bounds(
    seed: int, n: int, classes: int, sharpness: float
) -> None:
    p, y = draw(seed, n, classes, sharpness)
    metrics = evaluate(p, y)
    assert 0.0 <= metrics.acc <= 100.0
    assert 0.0 <= metrics.nll <= -np.log(LEAST_PROBABILITY / 2)
    assert 0.0 <= metrics.brier <= 2.0
    assert 0.0 <= metrics.ece <= 1.0
    table = reliability(clip_probabilities(p), y)
    assert table.count.sum() == n


@given(seed=st.integers(0, 2**31), size=st.floats(0.0, 3.0))
def test_clipping_gives_positive_rows_that_sum_to_one(seed: int, size: float) -> None:
    """Float32 predictions may be off by a rounding: a little negative, or summing to a little more than one."""
    p, _ = draw(seed, 8, 3, 100.0)
    rough = p.astype(np.float32) + np.float32(1e-7 * size) * np.random.default_rng(seed).normal(size=p.shape)
    clipped = clip_probabilities(rough)
    assert clipped.dtype == np.float64
    assert_allclose(clipped.sum(axis=1), 1.0, rtol=1e-15)
    assert np.all(clipped >= LEAST_PROBABILITY * (1 - 1e-6))
    assert_allclose(clipped, p, atol=2e-6)
