"""The Gaussian-noise family against adaptive integration, sampling and the theory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ndtr

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.gaussian_noise import BinaryGaussianNoise, MulticlassGaussianNoise

NOISE = [0.0, 1.0, 2.897]


def integral_over_normal(function: Callable[[float], float], mean: float, variance: float, break_at: float) -> float:
    """E[function(g)] for g ~ N(mean, variance), by adaptive quadrature on either side of `break_at`."""
    scale = math.sqrt(variance)
    middle = min(max((break_at - mean) / scale, -12.0), 12.0)

    def integrand(t: float) -> float:
        return math.exp(-0.5 * t * t) * function(mean + scale * t)

    pieces = ((-12.0, middle), (middle, 12.0))
    total = sum(quad(integrand, *piece, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for piece in pieces)
    return total / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("noise_variance", NOISE)
def test_binary_expectation_equals_adaptive_integration(noise_variance: float) -> None:
    delta = 0.01
    likelihood = BinaryGaussianNoise(noise_variance, delta=delta)
    for mean, variance, label in [(0.7, 0.5, 1), (-2.0, 3.0, 1), (1.3, 0.1, 0), (-0.2, 20.0, 0), (4.0, 1.0, 1)]:
        sign = 2 * label - 1
        reference = integral_over_normal(
            lambda g, sign=sign: math.log(1 - delta if sign * g > 0 else delta), mean, noise_variance + variance, 0.0
        )
        value = likelihood.variational_expectations(None, [[np.float64(mean)]], [[np.float64(variance)]], [[label]])
        assert_allclose(value, [reference], rtol=1e-8)


@pytest.mark.parametrize("noise_variance", [1.0, 2.897])
def test_with_noise_the_bound_is_below_the_expected_log_likelihood_of_f(noise_variance: float) -> None:
    delta = 0.01
    likelihood = BinaryGaussianNoise(noise_variance, delta=delta)

    def log_likelihood(f: float) -> float:
        return math.log((1 - 2 * delta) * ndtr(f / math.sqrt(noise_variance)) + delta)

    f = np.linspace(-5, 5, 11)
    assert_allclose(likelihood.log_prob(None, f[:, None], np.ones((11, 1))), [log_likelihood(value) for value in f])
    for mean, variance in [(0.7, 0.5), (-2.0, 3.0), (3.0, 0.1)]:
        reference = integral_over_normal(log_likelihood, mean, variance, 0.0)
        bound = likelihood.variational_expectations(None, np.array([[mean]]), np.array([[variance]]), [[1]])[0]
        assert bound < reference - 1e-3


@pytest.mark.parametrize("noise_variance", NOISE)
@pytest.mark.parametrize("num_classes", [3, 7])
def test_multiclass_expectation_and_prediction_agree_with_sampling(noise_variance: float, num_classes: int) -> None:
    rng = np.random.default_rng(1)
    delta, draws = 0.02, 200_000
    likelihood = MulticlassGaussianNoise(num_classes, noise_variance, delta=delta)
    mean, variance = rng.normal(size=num_classes), rng.uniform(0.5, 2.0, size=num_classes)
    g = mean + np.sqrt(noise_variance + variance) * rng.normal(size=(draws, num_classes))
    share = np.bincount(g.argmax(axis=1), minlength=num_classes) / draws
    expected = share * math.log(1 - delta) + (1 - share) * math.log(delta / (num_classes - 1))
    labels = np.arange(num_classes)[:, None]
    rows = np.tile(mean, (num_classes, 1)), np.tile(variance, (num_classes, 1))
    tolerance = 5 * np.sqrt(share * (1 - share) / draws) + 1e-3
    value = likelihood.variational_expectations(None, *rows, labels)
    slope = math.log((1 - delta) * (num_classes - 1) / delta)
    assert np.all(np.abs(value - expected) < slope * tolerance)
    predicted = likelihood.predict_probabilities(*rows)[0]
    assert np.all(np.abs(predicted - ((1 - delta) * share + delta * (1 - share) / (num_classes - 1))) < tolerance)


@pytest.mark.parametrize("noise_variance", NOISE)
def test_two_classes_with_two_latents_are_their_difference(noise_variance: float) -> None:
    """g1 > g0 is g1 − g0 > 0: one latent function of mean μ1 − μ0 and variance ν0 + ν1 + a, under a noise of a more."""
    rng = np.random.default_rng(2)
    mean, variance = rng.normal(size=(50, 2)), rng.uniform(0.5, 2.0, size=(50, 2))
    labels = rng.integers(2, size=(50, 1))
    two = MulticlassGaussianNoise(2, noise_variance, delta=0.03, quadrature_points=60)
    one = BinaryGaussianNoise(noise_variance, delta=0.03)
    difference = mean[:, 1:] - mean[:, :1], variance.sum(axis=1, keepdims=True) + noise_variance
    assert_allclose(
        two.variational_expectations(None, mean, variance, labels),
        one.variational_expectations(None, *difference, labels),
        rtol=1e-7,
    )
    assert_allclose(two.predict_probabilities(mean, variance), one.predict_probabilities(*difference), rtol=1e-7)
    wins = ndtr((mean[:, 1] - mean[:, 0]) / np.sqrt(2 * noise_variance + variance.sum(axis=1)))
    assert_allclose(two.predict_probabilities(mean, variance)[:, 1], 0.97 * wins + 0.03 * (1 - wins), rtol=1e-7)


def test_the_argmax_probabilities_of_the_fixture() -> None:
    """Three classes without noise: numbers that were computed independently."""
    mean, variance = np.array([[0.5, -1.0, 0.2]]), np.array([[0.4, 0.9, 1.5]])
    likelihood = MulticlassGaussianNoise(3, 0.0, delta_mode="fixed", delta=1e-9, quadrature_points=100)
    expected = [[0.54809355, 0.05264302, 0.39926343]]
    assert_allclose(likelihood.predict_probabilities(mean, variance), expected, atol=1e-7)


def test_step_without_variance_is_the_robust_step() -> None:
    delta = 0.1
    g = np.array([[0.5], [-0.5], [1000.0], [-1e-3]])
    binary = BinaryGaussianNoise(0.0, delta=delta)
    expected = np.log([1 - delta, delta, 1 - delta, delta])
    assert_allclose(binary.log_prob(None, g, np.ones((4, 1))), expected, rtol=1e-12)
    assert_allclose(binary.variational_expectations(None, g, 0 * g, np.ones((4, 1))), expected, rtol=1e-12)
    three = MulticlassGaussianNoise(3, 0.0, delta=delta)
    F = np.array([[0.3, 0.1, 0.2]] * 3)
    expected = np.log([1 - delta, delta / 2, delta / 2])
    assert_allclose(three.log_prob(None, F, [[0], [1], [2]]), expected, rtol=1e-9)
    assert_allclose(three.variational_expectations(None, F, 0 * F, [[0], [1], [2]]), expected, atol=1e-6)


def test_ties_are_shared_evenly() -> None:
    assert_allclose(
        MulticlassGaussianNoise(4, 0.0).predict_probabilities(np.zeros((1, 4)), np.zeros((1, 4))), [[0.25] * 4]
    )


@pytest.mark.parametrize("num_classes", [2, 5])
def test_more_noise_means_a_lower_bound_where_the_label_is_right(num_classes: int) -> None:
    """L_I > L_II > L_III, for points whose observed class has the largest mean."""
    rng = np.random.default_rng(4)
    labels = np.zeros((30, 1))
    if num_classes == 2:
        members = [BinaryGaussianNoise(a) for a in NOISE]
        mean = -rng.gamma(1.0, 1.0, size=(30, 1)) - 0.1
    else:
        members = [MulticlassGaussianNoise(num_classes, a) for a in NOISE]
        mean = rng.normal(size=(30, num_classes))
        mean[:, 0] = mean.max(axis=1) + 0.1
    step, probit, logit = (m.variational_expectations(None, mean, np.ones_like(mean), labels) for m in members)
    assert np.all(step > probit)
    assert np.all(probit > logit)


def test_logit_noise_is_within_0_0095_of_the_logistic_cdf() -> None:
    f = np.linspace(-12, 12, 2001)[:, None]
    probabilities = BinaryGaussianNoise(2.897, delta=1e-9).predict_probabilities(f, np.zeros_like(f))[:, 1]
    largest = np.max(np.abs(probabilities - tf.sigmoid(f[:, 0])))
    assert 0.009 < largest < 0.0095


@pytest.mark.parametrize("noise_variance", [-1.0, math.nan, math.inf])
def test_a_noise_variance_that_is_none_is_refused(noise_variance: float) -> None:
    with pytest.raises(UsageError, match="noise variance"):
        BinaryGaussianNoise(noise_variance)
    with pytest.raises(UsageError, match="noise variance"):
        MulticlassGaussianNoise(3, noise_variance)
