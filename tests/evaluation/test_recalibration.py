"""Corrections learned on held-out rows: right where a model is sure beyond reason, harmless where it is not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gpcnoise_cli.evaluation.recalibration import WAYS, fit_beta, fit_correction, fit_venn_abers, gain


def told_too_surely(n: int, classes: int, sharpness: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a model says, the class, and the probabilities that the classes were drawn by."""
    rng = np.random.default_rng(seed)
    scores = 1.2 * rng.normal(size=(n, classes))
    truth = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    told = np.exp(sharpness * scores) / np.exp(sharpness * scores).sum(axis=1, keepdims=True)
    return told, (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), truth


def test_beta_finds_the_curve_that_made_the_labels() -> None:
    """Log odds three times too large are a Beta curve, a = b = 1/3."""
    p, y, truth = told_too_surely(20_000, 2, 3.0)
    correct = fit_beta(p[:, 1], y.astype(float))
    assert_allclose(correct(p[:500, 1]), truth[:500, 1], atol=0.02)


def test_beta_never_turns_the_order_around() -> None:
    p = np.linspace(0.05, 0.95, 40)
    correct = fit_beta(p, (p < 0.5).astype(float))
    assert np.all(np.diff(correct(p)) >= 0)


def test_beta_stands_one_threshold_that_tells_all_labels_apart() -> None:
    p = np.linspace(0.05, 0.95, 40)
    corrected = fit_beta(p, (p > 0.5).astype(float))(np.array([0.0, 0.1, 0.9, 1.0]))
    assert np.all(np.isfinite(corrected))
    assert corrected[1] < 0.01 < 0.99 < corrected[2]


def test_venn_abers_by_hand() -> None:
    """Old scores 0.2 (0), 0.4 (1), 0.8 (1); a new one at 0.6 makes the labels 0, 1, new, 1."""
    correct = fit_venn_abers(np.array([0.2, 0.4, 0.8]), np.array([0.0, 1.0, 1.0]))
    p0, p1 = 0.5, 1.0  # with label 0 it is pooled with the one before it
    assert_allclose(correct(np.array([0.6])), [p1 / (1 - p0 + p1)])
    # On an old score it joins that one: 0.4 becomes a group of two.
    assert_allclose(correct(np.array([0.4])), [1.0 / (1 - 0.5 + 1.0)])
    # Below all others: labels new, 0, 1, 1. As 0 it is 0; as 1 it is pooled with the first.
    assert_allclose(correct(np.array([0.1])), [0.5 / (1 - 0.0 + 0.5)])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("classes", [2, 3])
def test_held_out_rows_tell_whether_it_helps(way: str, classes: int) -> None:
    p, y, _ = told_too_surely(400, classes, 3.0)
    before, after = gain(way, p, y)
    assert after < before - 0.05
    p, y, _ = told_too_surely(400, classes, 1.0, seed=1)
    before, after = gain(way, p, y)
    assert abs(after - before) < 0.05


@pytest.mark.parametrize("way", WAYS)
def test_corrected_rows_sum_to_one(way: str) -> None:
    p, y, _ = told_too_surely(60, 3, 2.0)
    corrected = fit_correction(way, p, y)(p)
    assert_allclose(corrected.sum(axis=1), 1.0)
    assert np.all(corrected > 0)


@pytest.mark.parametrize("way", WAYS)
def test_a_class_without_a_held_out_row_keeps_a_probability(way: str) -> None:
    p, y, _ = told_too_surely(60, 3, 2.0)
    corrected = fit_correction(way, p[y != 2], y[y != 2])(p)
    assert np.all(np.isfinite(corrected))
    assert np.all(corrected > 0)
