"""The augmented likelihoods: their bounds in order, their fixtures, and the identities that they obey."""

from __future__ import annotations

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import digamma, expit, gammaln, log_expit, log_softmax

from gpcnoise_cli.likelihoods import build_likelihood
from gpcnoise_cli.likelihoods.augmented import best_alpha, entropy, log_chi, shortfall
from gpcnoise_cli.predictor.nodes import gauss_hermite, normal_draws

MEAN, VARIANCE = np.array([[0.5, -1.0, 0.2]]), np.array([[0.4, 0.9, 1.5]])
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def rows(classes: int, seed: int, size: float = 1.0, count: int = 30) -> Rows:
    rng = np.random.default_rng(seed)
    mean = 2 * rng.normal(size=(count, 1 if classes == 2 else classes))
    return mean, size * rng.gamma(2.0, 0.5, size=mean.shape), rng.integers(classes, size=(count, 1))


def bound(name: str, classes: int, mean: np.ndarray, variance: np.ndarray, labels: np.ndarray) -> np.ndarray:
    likelihood = build_likelihood("augmented", classes, bound=name)
    return likelihood.variational_expectations(None, mean, variance, labels).numpy()


def test_the_binary_fixture() -> None:
    """μ = 0.7, ν = 1.3, y = 1: numbers that were computed independently."""
    likelihood = build_likelihood("augmented", 2)
    mean, variance = np.array([[0.7]]), np.array([[1.3]])
    value, by_mean, by_variance = likelihood.expectation_gradients(mean, variance, np.array([[1]]))
    theta = 0.21836005
    assert_allclose(value, -0.55196417, atol=1e-8)
    assert_allclose(by_mean, 0.5 - theta * 0.7, atol=1e-8)
    assert_allclose(by_variance, -theta / 2, atol=1e-8)
    assert_allclose(likelihood.predict_probabilities(mean, variance)[0, 1], 0.63553034, atol=1e-8)


def test_the_multi_class_fixture() -> None:
    chi = np.array([[0.35977101, 0.66104797, 0.37740688]])
    assert_allclose(np.exp(log_chi(tf.constant(MEAN), tf.constant(VARIANCE)).log), chi, atol=1e-8)
    assert_allclose(best_alpha(tf.constant(1 - chi.mean(keepdims=True))), 1.46972682, atol=1e-7)
    first = np.array([[0]])
    assert_allclose(bound("mean-field", 3, MEAN, VARIANCE, first), -1.27629348, atol=1e-8)
    assert_allclose(bound("collapsed", 3, MEAN, VARIANCE, first), -0.99339940, atol=1e-8)
    theta = np.tanh(np.sqrt(MEAN**2 + VARIANCE) / 2) / (2 * np.sqrt(MEAN**2 + VARIANCE))
    for name, gamma in (
        ("mean-field", [0.12086323, 0.22207568, 0.12678791]),
        ("collapsed", [0.22460782, 0.41269736, 0.23561804]),
    ):
        likelihood = build_likelihood("augmented", 3, bound=name)
        _, by_mean, by_variance = likelihood.expectation_gradients(MEAN, VARIANCE, first)
        weights = theta * (np.eye(3)[first[:, 0]] + gamma)
        assert_allclose(by_variance, -weights / 2, atol=1e-8)
        assert_allclose(by_mean, (np.eye(3)[first[:, 0]] - gamma) / 2 - weights * MEAN, atol=1e-8)
        predicted = likelihood.predict_probabilities(MEAN, VARIANCE)
        assert_allclose(predicted, [[0.4356, 0.2036, 0.3608]], atol=2e-3)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), size=st.floats(1e-6, 50.0))
def test_the_binary_bound_is_below_the_expectation(seed: int, size: float) -> None:
    mean, variance, labels = rows(2, seed, size)
    nodes, weights = gauss_hermite(100)
    expectation = log_expit((2 * labels - 1) * (mean + np.sqrt(variance) * nodes)) @ weights
    for name in ("mean-field", "collapsed"):
        assert np.all(bound(name, 2, mean, variance, labels) <= expectation + 1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), size=st.floats(1e-6, 20.0), classes=st.sampled_from([3, 5]))
def test_mean_field_is_below_collapsed_and_that_below_the_expectation(seed: int, size: float, classes: int) -> None:
    mean, variance, labels = rows(classes, seed, size, count=10)
    draws = normal_draws(4096, classes, 1)
    F = mean[:, None] + np.sqrt(variance)[:, None] * draws
    logs = log_softmax(log_expit(F), axis=-1)
    sampled = np.take_along_axis(logs, labels[:, None], axis=-1)[..., 0]
    collapsed, mean_field = (bound(name, classes, mean, variance, labels) for name in ("collapsed", "mean-field"))
    assert np.all(mean_field <= collapsed + 1e-12)
    assert np.all(collapsed <= sampled.mean(axis=1) + 4 * sampled.std(axis=1) / 64 + 1e-9)


def test_without_variance_the_collapsed_bound_is_exact() -> None:
    for classes in (2, 3, 26):
        mean, variance, labels = rows(classes, seed=1)
        likelihood = build_likelihood("augmented", classes, bound="collapsed")
        expected = likelihood.log_prob(None, mean, labels)
        # Variances are floored at 1e-12.
        assert_allclose(bound("collapsed", classes, mean, 0 * variance, labels), expected, atol=1e-10)


def test_chi_is_jaakkola_and_jordan_s_bound() -> None:
    """log σ(f) ≥ log σ(c) + (f − c)/2 − λ(c) (f² − c²), averaged at c² = E f²."""
    mean, variance, _ = rows(2, seed=2)
    c = np.sqrt(mean**2 + variance)
    weight = (expit(c) - 0.5) / (2 * c)
    expected = log_expit(c) + (mean - c) / 2 - weight * (mean**2 + variance - c**2)
    assert_allclose(log_chi(tf.constant(-mean), tf.constant(variance)).log, expected, rtol=1e-12)


def test_the_fixed_point_is_solved_for_any_s() -> None:
    left = np.concatenate([np.geomspace(1e-20, 0.5, 60), 1 - np.geomspace(1e-9, 0.5, 20)])
    alpha = best_alpha(tf.constant(left)).numpy()
    residual = 1 - left * alpha - (1 - left) * shortfall(tf.constant(alpha)).numpy()
    assert_allclose(residual, 0.0, atol=1e-10)
    assert np.all(np.isfinite(best_alpha(tf.constant(left.astype(np.float32)))))


def test_the_series_continue_the_functions() -> None:
    alpha = np.concatenate([np.linspace(1.0, 40.0, 200), [15.999999, 16.0, 16.000001]])
    assert_allclose(shortfall(tf.constant(alpha)), alpha - np.exp(digamma(alpha)), atol=1e-10)
    expected = gammaln(alpha) + (1 - alpha) * digamma(alpha) + alpha - 1
    assert_allclose(entropy(tf.constant(alpha)), expected, atol=1e-9)


def test_the_mean_field_bound_is_the_best_over_alpha() -> None:
    """Any other α gives a lower value of −log C + s e^ψ(α) + log Γ(α) + (1 − α) ψ(α)."""
    mean, variance, labels = rows(4, seed=3)
    chi = np.exp(log_chi(tf.constant(mean), tf.constant(variance)).log)
    observed = log_chi(tf.constant(-mean), tf.constant(variance)).log.numpy()[np.arange(len(labels)), labels[:, 0]]
    found = bound("mean-field", 4, mean, variance, labels)
    values = [
        observed - np.log(4) + chi.mean(axis=1) * np.exp(digamma(a)) + gammaln(a) + (1 - a) * digamma(a)
        for a in np.geomspace(1.0, 100.0, 2000)
    ]
    assert np.all(np.max(values, axis=0) <= found + 1e-12)
    assert_allclose(np.max(values, axis=0), found, atol=1e-4)


@pytest.mark.parametrize("name", ["mean-field", "collapsed"])
def test_permuted_classes_give_permuted_gradients(name: str) -> None:
    mean, variance, labels = rows(5, seed=4)
    order = np.random.default_rng(0).permutation(5)
    likelihood = build_likelihood("augmented", 5, bound=name)
    value, by_mean, by_variance = likelihood.expectation_gradients(mean, variance, labels)
    renamed = np.argsort(order)[labels]
    again = likelihood.expectation_gradients(mean[:, order], variance[:, order], renamed)
    assert_allclose(again[0], value, rtol=1e-12)
    assert_allclose(again[1], by_mean.numpy()[:, order], rtol=1e-10)
    assert_allclose(again[2], by_variance.numpy()[:, order], rtol=1e-10)


def test_two_classes_are_symmetric() -> None:
    mean, variance, labels = rows(2, seed=5)
    likelihood = build_likelihood("augmented", 2)
    value, by_mean, _ = likelihood.expectation_gradients(mean, variance, labels)
    mirrored, by_mirrored, _ = likelihood.expectation_gradients(-mean, variance, 1 - labels)
    assert_allclose(value, mirrored, rtol=1e-14)
    assert_allclose(by_mean, -by_mirrored, rtol=1e-14)


@pytest.mark.parametrize(("classes", "name"), [(2, "mean-field"), (3, "mean-field"), (3, "collapsed")])
def test_full_natural_steps_are_coordinate_ascent_which_never_lowers_the_bound(classes: int, name: str) -> None:
    """The closed-form update, step by step, and once by GPflow's natural gradients."""
    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(60, 2)), rng.integers(classes, size=(60, 1)).astype(float)
    Z = X[:10].copy()
    likelihood = build_likelihood("augmented", classes, bound=name)
    model = gpflow.models.SVGP(gpflow.kernels.RBF(2.0), likelihood, Z, num_latent_gps=likelihood.num_latent)
    K = model.kernel(Z) + gpflow.default_jitter() * np.eye(10)
    A = np.linalg.solve(np.linalg.cholesky(K), model.kernel(Z, X))
    bounds = [float(model.elbo((X, Y)))]
    for step in range(6):
        mean, variance = model.predict_f(X)
        _, by_mean, by_variance = (each.numpy() for each in likelihood.expectation_gradients(mean, variance, Y))
        weights = -2 * by_variance
        covariance = np.linalg.inv(np.eye(10) + A * weights.T[:, None] @ A.T)
        new_mean = np.einsum("cij,jn,nc->ic", covariance, A, by_mean + weights * mean)
        if step == 2:
            natural = gpflow.optimizers.NaturalGradient(1.0)
            natural.minimize(model.training_loss_closure((X, Y), compile=False), [(model.q_mu, model.q_sqrt)])
            assert_allclose(model.q_mu, new_mean, atol=1e-8)
            assert_allclose(model.q_sqrt @ tf.linalg.matrix_transpose(model.q_sqrt), covariance, atol=1e-8)
        model.q_mu.assign(new_mean)
        model.q_sqrt.assign(np.linalg.cholesky(covariance))
        bounds.append(float(model.elbo((X, Y))))
    assert np.all(np.diff(bounds) >= -1e-9)
