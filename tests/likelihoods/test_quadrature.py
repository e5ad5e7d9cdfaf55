"""The reference likelihoods against dense quadrature, sampling, GPflow, and the bounds that must lie below them."""

from __future__ import annotations

import gpflow
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_expit, log_ndtr, log_softmax

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods import build_likelihood
from gpcnoise_cli.likelihoods.numerics import ndtr
from gpcnoise_cli.predictor.nodes import gauss_hermite, normal_draws

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
LINKS = {"probit_quadrature": log_ndtr, "logit_quadrature": log_expit}


def rows(latent: int, classes: int, size: float, seed: int = 0, count: int = 40) -> Rows:
    rng = np.random.default_rng(seed)
    mean = 2 * rng.normal(size=(count, latent))
    return mean, size * rng.gamma(2.0, 0.5, size=mean.shape), rng.integers(classes, size=(count, 1))


def test_the_fixtures() -> None:
    """μ = 0.7, ν = 1.3, y = 1: numbers that were computed independently."""
    mean, variance, one = np.array([[0.7]]), np.array([[1.3]]), np.array([[1]])
    for name, value, predicted in (
        ("probit_quadrature", -0.56838345, 0.67780383),
        ("logit_quadrature", -0.53434372, 0.63553034),
    ):
        likelihood = build_likelihood(name, 2, quadrature_points=100)
        assert_allclose(likelihood.variational_expectations(None, mean, variance, one), value, atol=1e-8)
        assert_allclose(likelihood.predict_probabilities(mean, variance)[0, 1], predicted, atol=1e-8)


@pytest.mark.parametrize("name", LINKS)
def test_twenty_nodes_are_enough_at_the_variances_of_training(name: str) -> None:
    nodes, weights = gauss_hermite(150)
    for size in (0.1, 1.0, 5.0):
        mean, variance, labels = rows(1, 2, size)
        expected = LINKS[name]((2 * labels - 1) * (mean + np.sqrt(variance) * nodes)) @ weights
        found = build_likelihood(name, 2).variational_expectations(None, mean, variance, labels)
        assert_allclose(found, expected, atol=5e-3)


@pytest.mark.parametrize("name", LINKS)
def test_gradients_by_the_variance_are_those_of_the_integral(name: str) -> None:
    mean, variance, labels = rows(1, 2, 1.0)
    dense, usual = (build_likelihood(name, 2, quadrature_points=points) for points in (150, 20))
    step = 1e-4
    above, below = (dense.variational_expectations(None, mean, variance + h, labels) for h in (step, -step))
    for likelihood, tolerance in ((dense, 1e-6), (usual, 5e-3)):
        _, _, by_variance = likelihood.expectation_gradients(mean, variance, labels)
        assert_allclose(by_variance[:, 0], (above - below) / (2 * step), atol=tolerance)


@pytest.mark.parametrize(
    ("name", "classes"), [("probit_quadrature", 2), ("logit_quadrature", 2), ("softmax_sampled", 4)]
)
def test_the_expectation_never_rises_with_a_variance(name: str, classes: int) -> None:
    likelihood = build_likelihood(name, classes)
    for dtype in (np.float32, np.float64):
        for size in (1e-6, 1.0, 1e4):
            mean, variance, labels = rows(likelihood.num_latent, classes, size, count=300)
            _, _, by_variance = likelihood.expectation_gradients(mean.astype(dtype), variance.astype(dtype), labels)
            assert np.all(by_variance <= 0)


def test_the_logit_is_above_the_augmented_bound() -> None:
    mean, variance, labels = rows(1, 2, 2.0)
    ours, bound = (build_likelihood(name, 2) for name in ("logit_quadrature", "augmented"))
    gap = ours.variational_expectations(None, mean, variance, labels) - bound.variational_expectations(
        None, mean, variance, labels
    )
    assert np.all(gap > 0)
    assert np.max(gap) < 0.3


def test_the_sampled_softmax_is_near_many_draws_and_above_the_tilted_bound() -> None:
    for classes in (3, 26):
        mean, variance, labels = rows(classes, classes, 1.0)
        F = mean[:, None] + np.sqrt(variance)[:, None] * normal_draws(16384, classes, 1)
        expected = np.take_along_axis(log_softmax(F, axis=-1), labels[:, None], axis=-1)[..., 0].mean(axis=1)
        found = build_likelihood("softmax_sampled", classes).variational_expectations(None, mean, variance, labels)
        tilted = build_likelihood("softmax", classes, bound="tilted")
        assert_allclose(found, expected, atol=0.05)
        assert np.mean(found - tilted.variational_expectations(None, mean, variance, labels)) > 0


def test_the_logit_prediction_is_right_at_any_variance() -> None:
    """Against a dense trapezoidal rule, also where σ is a step on the scale of q(f)."""
    likelihood = build_likelihood("logit_quadrature", 2)
    x = np.linspace(-12, 12, 400_001)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    for mean in (-3.0, 0.5, 40.0):
        for variance in (1e-3, 1.0, 30.0, 1e4):
            expected = np.exp(log_expit(mean + np.sqrt(variance) * x)) @ density
            found = likelihood.predict_probabilities(np.array([[mean]]), np.array([[variance]]))[0, 1]
            assert_allclose(found, expected, atol=1e-3 if variance > 10 else 1e-8)


def test_the_probit_is_gpflow_s_without_its_floor() -> None:
    mean, variance, labels = rows(1, 2, 0.2)
    plain = gpflow.likelihoods.Bernoulli(invlink=ndtr)
    ours = build_likelihood("probit_quadrature", 2)
    expected = plain.variational_expectations(np.zeros((40, 1)), mean / 4, variance, labels.astype(float))
    assert_allclose(ours.variational_expectations(None, mean / 4, variance, labels), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "classes", "words"),
    [
        ("probit_quadrature", 3, "likelihood probit_quadrature is for two classes only, and the labels have 3; use"),
        ("softmax_sampled", 2, "likelihood softmax_sampled is for more than two classes only, and the labels have 2"),
    ],
)
def test_a_wrong_number_of_classes_is_refused(name: str, classes: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        build_likelihood(name, classes)
