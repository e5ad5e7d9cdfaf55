"""The Dirichlet-based likelihood: its targets, its exact optimum, and heteroskedastic regression as the oracle."""

from __future__ import annotations

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods import build_likelihood
from gpcnoise_cli.likelihoods.dirichlet import DirichletLikelihood, regression_targets


def test_the_targets_are_the_published_ones() -> None:
    """GPyTorch 1.15.2 has the same formula, log α − ½ log(1/α + 1), and does not centre."""
    target, noise = regression_targets(0.01)
    assert_allclose(target, [-6.91273044, -0.33414186], atol=1e-8)
    assert_allclose(noise, [4.61512052, 0.68818439], atol=1e-8)


@pytest.mark.parametrize("alpha_epsilon", [0.001, 0.01, 0.1])
def test_the_log_normal_has_the_moments_of_the_gamma(alpha_epsilon: float) -> None:
    target, noise = regression_targets(alpha_epsilon)
    alpha = np.array([alpha_epsilon, 1 + alpha_epsilon])
    mean = np.exp(target + noise / 2)
    assert_allclose(mean, alpha)
    assert_allclose(np.expm1(noise) * mean**2, alpha)


def regressions(likelihood: DirichletLikelihood, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centred targets and noise variances, [n, C]."""
    own = np.eye(likelihood.num_classes, dtype=int)[Y[:, 0].astype(int)]
    return likelihood.target[own] - likelihood.offset.numpy(), likelihood.noise[own]


def problem() -> tuple[np.ndarray, np.ndarray, DirichletLikelihood]:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.choice(3, size=(40, 1), p=[0.6, 0.3, 0.1]).astype(float)
    likelihood = build_likelihood("dirichlet", 3)
    likelihood.prepare(np.bincount(Y[:, 0].astype(int), minlength=3))
    return X, Y, likelihood


def test_with_all_rows_as_inducing_points_one_natural_step_is_heteroskedastic_regression() -> None:
    X, Y, likelihood = problem()
    targets, noise = regressions(likelihood, Y)
    model = gpflow.models.SVGP(gpflow.kernels.RBF(2.0), likelihood, X.copy(), num_latent_gps=3)
    natural = gpflow.optimizers.NaturalGradient(1.0)
    natural.minimize(model.training_loss_closure((X, Y), compile=False), [(model.q_mu, model.q_sqrt)])
    new = np.random.default_rng(1).normal(size=(7, 2))
    mean, variance = model.predict_f(new)
    K, cross = model.kernel(X).numpy(), model.kernel(X, new).numpy()
    evidence = 0.0
    for c in range(3):
        noisy = K + np.diag(noise[:, c])
        assert_allclose(mean[:, c], cross.T @ np.linalg.solve(noisy, targets[:, c]), atol=1e-5)
        assert_allclose(variance[:, c], 2.0 - np.sum(cross * np.linalg.solve(noisy, cross), axis=0), atol=1e-5)
        _, log_det = np.linalg.slogdet(2 * np.pi * noisy)
        evidence += -0.5 * log_det - 0.5 * targets[:, c] @ np.linalg.solve(noisy, targets[:, c])
    assert_allclose(model.elbo((X, Y)), evidence, atol=1e-3)


def test_the_bound_at_the_optimum_is_the_collapsed_one() -> None:
    X, Y, likelihood = problem()
    targets, noise = regressions(likelihood, Y)
    Z = X[:8].copy()
    model = gpflow.models.SVGP(gpflow.kernels.RBF(2.0), likelihood, Z, num_latent_gps=3)
    K = model.kernel(Z) + gpflow.default_jitter() * np.eye(8)
    A = np.linalg.solve(np.linalg.cholesky(K), model.kernel(Z, X))
    rest = 2.0 - np.sum(A**2, axis=0)
    collapsed = 0.0
    for c in range(3):
        precision, eta = np.eye(8) + A / noise[:, c] @ A.T, A @ (targets[:, c] / noise[:, c])
        covariance = np.linalg.inv(precision)
        model.q_mu.assign(tf.tensor_scatter_nd_update(model.q_mu, [[i, c] for i in range(8)], covariance @ eta))
        model.q_sqrt.assign(tf.tensor_scatter_nd_update(model.q_sqrt, [[c]], [np.linalg.cholesky(covariance)]))
        collapsed += -0.5 * np.sum(np.log(2 * np.pi * noise[:, c]) + (targets[:, c] ** 2 + rest) / noise[:, c])
        collapsed += 0.5 * eta @ covariance @ eta - 0.5 * np.linalg.slogdet(precision)[1]
    assert_allclose(model.elbo((X, Y)), collapsed, rtol=1e-10)


def test_a_prior_predicts_the_shares_of_the_classes() -> None:
    likelihood = build_likelihood("dirichlet", 3)
    flat = np.zeros((1, 3))
    assert_allclose(likelihood.predict_probabilities(flat, flat), 1 / 3 * np.ones((1, 3)), rtol=1e-5)
    likelihood.prepare(np.array([60, 30, 10]))
    assert_allclose(likelihood.predict_probabilities(flat, flat), [[0.6, 0.3, 0.1]], rtol=1e-5)
    likelihood.prepare(np.array([60, 40, 0]))
    assert np.all(np.isfinite(likelihood.offset))


def test_an_impossible_alpha_is_refused() -> None:
    with pytest.raises(UsageError, match="alpha_epsilon = 0 is not a positive number"):
        build_likelihood("dirichlet", 3, alpha_epsilon=0.0)
