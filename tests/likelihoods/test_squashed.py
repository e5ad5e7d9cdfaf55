"""S with squashed CDFs: against Monte Carlo and finite differences, and what squashing does at the edges."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from scipy.special import ndtr

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.registry import build_likelihood
from gpcnoise_cli.likelihoods.squashed import squashed_win_probability
from gpcnoise_cli.likelihoods.win_probability import win_probability

SQUASH = 0.01
RNG = np.random.default_rng(0)
MEAN, VARIANCE = RNG.normal(size=(6, 4)), RNG.uniform(0.5, 2.0, size=(6, 4))
WINNER = np.eye(4)[RNG.integers(4, size=6)]


def evaluated(mean: np.ndarray, variance: np.ndarray, squash: float, points: int = 60) -> tuple[np.ndarray, ...]:
    tensors = (tf.constant(each, tf.float64) for each in (mean, variance, WINNER[: len(mean)]))
    return tuple(each.numpy() for each in squashed_win_probability(*tensors, points, squash))


def test_it_is_the_mean_of_the_squashed_product() -> None:
    draws = 400_000
    for row, y in enumerate(WINNER.argmax(axis=1)):
        g = MEAN[row, y] + np.sqrt(VARIANCE[row, y]) * np.random.default_rng(row).standard_normal((draws, 1))
        cdf = SQUASH + (1 - 2 * SQUASH) * ndtr((g - MEAN[row]) / np.sqrt(VARIANCE[row]))
        product = np.prod(np.delete(cdf, y, axis=1), axis=1)
        error = product.std() / np.sqrt(draws)
        assert evaluated(MEAN, VARIANCE, SQUASH)[0][row] == pytest.approx(product.mean(), abs=5 * error)


def test_without_squashing_it_is_the_integral_itself() -> None:
    exact = win_probability(*(tf.constant(each, tf.float64) for each in (MEAN, VARIANCE, WINNER)), 40)
    for ours, theirs in zip(evaluated(MEAN, VARIANCE, 0.0), exact, strict=True):
        assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("column", range(4))
def test_the_gradients_are_those_of_finite_differences(column: int) -> None:
    step = 1e-6 * np.eye(4)[column]
    _, by_mean, by_variance = evaluated(MEAN, VARIANCE, SQUASH)
    for slope, plus, minus in (
        (by_mean, (MEAN + step, VARIANCE), (MEAN - step, VARIANCE)),
        (by_variance, (MEAN, VARIANCE + step), (MEAN, VARIANCE - step)),
    ):
        difference = (evaluated(*plus, SQUASH)[0] - evaluated(*minus, SQUASH)[0]) / 2e-6
        assert_allclose(slope[:, column], difference, atol=1e-8)


def test_a_hopeless_class_keeps_a_probability_and_the_classes_sum_to_one() -> None:
    Fmu = tf.constant([[40.0, -40.0, -40.0]], tf.float64)
    plain, squashed = (
        build_likelihood("step", 3, delta=1e-12, delta_mode="fixed", squash=each) for each in (0.0, 1e-4)
    )
    sure, wary = (one.predict_probabilities(Fmu, tf.ones_like(Fmu)).numpy()[0] for one in (plain, squashed))
    assert sure[1] < 1e-11 < 1e-5 < wary[1] < 1e-4
    assert wary.sum() == pytest.approx(1.0)


def test_two_classes_have_no_product_to_squash() -> None:
    with pytest.raises(UsageError, match=r"squash 0\.0001 is for more than two classes"):
        build_likelihood("probit", 2, squash=1e-4)
