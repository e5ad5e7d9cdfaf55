"""Orthogonally decoupled bases: the joint-basis formula, sparse regression on both bases, and the SVGP without γ."""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.utilities import parameter_dict
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods import build_likelihood
from gpcnoise_cli.models.inducing import start_further_points, start_inducing_points
from gpcnoise_cli.models.kernels import PerClass, build_kernel
from gpcnoise_cli.models.orthogonal import OrthogonalSVGP
from gpcnoise_cli.models.svgp import FusedSVGP

RNG = np.random.default_rng(3)
X, Z, GAMMA = RNG.normal(size=(30, 2)), RNG.normal(size=(5, 2)), RNG.normal(size=(7, 2))
NEW = RNG.normal(size=(9, 2))


def kernels(classes: int, shared: bool) -> gpflow.kernels.Kernel:
    one = build_kernel("matern52+rbf", 2, lengthscale=0.8, variance=1.7, ard=True)
    if shared or classes == 2:
        return one
    several = PerClass(one, classes)
    for parameter in several.trainable_parameters:
        parameter.assign(parameter * RNG.uniform(0.7, 1.4, size=parameter.shape))
    return several


def models(classes: int, shared: bool = True, gamma: np.ndarray = GAMMA, **options: Any) -> tuple[Any, Any]:
    """The SVGP, and one on two bases with the same q(u)."""
    likelihood = build_likelihood(
        "probit_quadrature" if classes == 2 else "step", classes, **({"delta_mode": "fixed"} if classes > 2 else {})
    )
    kernel, common = kernels(classes, shared), {"num_data": 90, "jitter": 0.0, **options}
    found = FusedSVGP(kernel, likelihood, Z, **common), OrthogonalSVGP(kernel, likelihood, Z, gamma, **common)
    rng = np.random.default_rng(1)
    q_mu = rng.normal(size=(5, likelihood.num_latent))
    q_sqrt = np.tril(0.3 * rng.normal(size=(likelihood.num_latent, 5, 5))) + 0.8 * np.eye(5)
    for model in found:
        model.q_mu.assign(q_mu)
        model.q_sqrt.assign(q_sqrt)
    return found


def with_weights(model: OrthogonalSVGP) -> np.ndarray:
    """Give the second basis something to say; w = L_T⁻ᵀ r of every class, [M_γ, C]."""
    model.weights.assign(np.random.default_rng(2).normal(size=model.weights.shape))
    _, T = model.residual_covariance(model.inducing_covariance())
    roots = np.linalg.cholesky(np.broadcast_to(T, (model.num_latent_gps, *T.shape[1:])))
    return np.stack([np.linalg.solve(L.T, r) for L, r in zip(roots, model.weights.numpy().T, strict=True)], axis=1)


def trained(model: FusedSVGP) -> dict[str, tf.Variable]:
    parameters = parameter_dict(model).items()
    return {name: parameter.unconstrained_variable for name, parameter in parameters if parameter.trainable}


def labels(classes: int) -> np.ndarray:
    return np.random.default_rng(4).integers(classes, size=(len(X), 1))


@pytest.mark.parametrize("classes", [2, 3])
def test_without_gamma_points_bound_gradient_and_prediction_are_those_of_the_svgp(classes: int) -> None:
    svgp, orth = models(classes, gamma=np.empty((0, 2)))
    data = X, labels(classes)
    values, gradients = [], []
    for model in (svgp, orth):
        with tf.GradientTape() as tape:
            values.append(model.elbo(data))
        gradients.append(tape.gradient(values[-1], trained(model)))
    assert_allclose(values[0], values[1], rtol=1e-12)
    for name, gradient in gradients[0].items():
        assert_allclose(gradients[1][name], gradient, atol=1e-10)
    for ours, theirs in zip(orth.marginals(NEW), svgp.marginals(NEW), strict=True):
        assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_mean_and_kl_are_those_of_the_joint_basis(shared: bool) -> None:
    """Weights (w_β, w_γ) on β ∪ γ with w_β = K_ββ⁻¹(L m − K_βγ w_γ); the KL of the means is half their norm in K."""
    svgp, orth = models(3, shared)
    w = with_weights(orth)
    mean, _ = orth.marginals(NEW)
    both, norms = np.vstack([Z, GAMMA]), 0.0
    of_class = orth.kernel.kernels if not shared else [orth.kernel] * 3
    for c, kernel in enumerate(of_class):
        K_bb, K_bg = kernel(Z).numpy(), kernel(Z, GAMMA).numpy()
        w_beta = np.linalg.solve(K_bb, np.linalg.cholesky(K_bb) @ orth.q_mu.numpy()[:, c] - K_bg @ w[:, c])
        joint = np.concatenate([w_beta, w[:, c]])
        assert_allclose(mean[:, c], kernel(NEW, both).numpy() @ joint, atol=1e-10)
        norms += joint @ kernel(both).numpy() @ joint
    without_means = svgp.prior_kl() - 0.5 * np.sum(svgp.q_mu.numpy() ** 2)
    assert_allclose(orth.prior_kl(), without_means + 0.5 * norms, rtol=1e-10)


def test_the_variance_does_not_depend_on_the_weights() -> None:
    svgp, orth = models(3)
    with_weights(orth)
    assert_array_equal(orth.marginals(NEW)[1], svgp.marginals(NEW)[1])
    assert np.max(np.abs(orth.marginals(NEW)[0] - svgp.marginals(NEW)[0])) > 0.1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("precision", ["float64", "mixed"])
def test_gamma_points_without_weight_leave_bound_and_prediction_alone(classes: int, precision: str) -> None:
    svgp, orth = models(classes, precision=precision)
    assert_array_equal(orth.elbo((X, labels(classes))), svgp.elbo((X, labels(classes))))
    assert_array_equal(orth.marginals(NEW)[0], svgp.marginals(NEW)[0])


def test_with_gaussian_noise_the_best_mean_is_that_of_sparse_regression_on_both_bases() -> None:
    """The bound is quadratic in (m, r), so its gradient at a few places gives the optimum exactly."""
    y, noise = np.sin(2 * X[:, :1]) + 0.1 * RNG.normal(size=(30, 1)), 0.05
    kernel = build_kernel("rbf", 2, lengthscale=0.9, variance=1.3)
    orth = OrthogonalSVGP(kernel, gpflow.likelihoods.Gaussian(noise), Z, GAMMA, num_data=30, jitter=0.0)

    def gradient(means: np.ndarray) -> np.ndarray:
        orth.q_mu.assign(means[:5, None])
        orth.weights.assign(means[5:, None])
        with tf.GradientTape() as tape:
            mu, nu = orth.marginals(X)
            terms = orth.likelihood.variational_expectations(X, mu, nu, y)
            bound = tf.reduce_sum(terms) - orth.prior_kl()
        parts = tape.gradient(bound, [orth.q_mu.unconstrained_variable, orth.weights.unconstrained_variable])
        return np.concatenate(parts)[:, 0]

    start = gradient(np.zeros(12))
    hessian = np.stack([gradient(unit) - start for unit in np.eye(12)], axis=1)
    assert_allclose(gradient(np.linalg.solve(-hessian, start)), 0.0, atol=1e-9)
    expected = gpflow.models.SGPR((X, y), kernel, np.vstack([Z, GAMMA]), noise_variance=noise).predict_f(NEW)[0]
    assert_allclose(orth.marginals(NEW)[0], expected, atol=1e-7)


def test_any_preconditioning_of_the_weights_spans_the_same_functions() -> None:
    """With w = w̃ / diag T, as the authors have it, mean and KL are the same: only the path of training differs."""
    _, orth = models(2)
    w = with_weights(orth)
    _, T = orth.residual_covariance(orth.inducing_covariance())
    T, K_bb = T.numpy()[0], orth.kernel(Z).numpy()
    scaled = w * np.diag(T)[:, None]  # w̃
    again = scaled / np.diag(T)[:, None]
    A, A_gamma = (np.linalg.solve(np.linalg.cholesky(K_bb), orth.kernel(Z, points)) for points in (NEW, GAMMA))
    residual = orth.kernel(NEW, GAMMA).numpy() - A.T @ A_gamma
    assert_allclose(orth.marginals(NEW)[0], A.T @ orth.q_mu + residual @ again, atol=1e-10)
    assert_allclose(0.5 * np.sum(orth.weights.numpy() ** 2), 0.5 * np.sum(again * (T @ again)), rtol=1e-10)


@pytest.mark.parametrize("shared", [True, False])
def test_gradients_are_those_of_differences(shared: bool) -> None:
    _, orth = models(3, shared)
    with_weights(orth)
    data = X, labels(3)
    variables = orth.trainable_variables
    with tf.GradientTape() as tape:
        bound = orth.elbo(data)
    gradients = tape.gradient(bound, variables)
    rng, step = np.random.default_rng(5), 1e-6
    for variable, gradient in zip(variables, gradients, strict=True):
        direction = rng.normal(size=variable.shape)
        direction = np.tril(direction) if variable.shape.rank == 3 else direction
        value = variable.numpy()
        ends = []
        for sign in (1, -1):
            variable.assign(value + sign * step * direction)
            ends.append(float(orth.elbo(data)))
        variable.assign(value)
        assert_allclose(np.sum(gradient * direction), (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6)


def test_classes_may_change_places() -> None:
    _, orth = models(3)
    with_weights(orth)
    order = np.array([2, 0, 1])
    before, probabilities = orth.elbo((X, labels(3))), orth.likelihood.predict_probabilities(*orth.marginals(NEW))
    for parameter in (orth.q_mu, orth.weights):
        parameter.assign(parameter.numpy()[:, order])
    orth.q_sqrt.assign(orth.q_sqrt.numpy()[order])
    assert_allclose(orth.elbo((X, np.argsort(order)[labels(3)])), before, rtol=1e-12)
    permuted = orth.likelihood.predict_probabilities(*orth.marginals(NEW))
    assert_allclose(permuted, probabilities.numpy()[:, order], atol=1e-12)
    assert_allclose(tf.reduce_sum(permuted, axis=1), 1.0, rtol=1e-12)


def test_a_full_covariance_comes_with_the_mean_of_both_bases() -> None:
    _, orth = models(2)
    with_weights(orth)
    mean, covariance = orth.predict_f(NEW, full_cov=True)
    assert_allclose(mean, orth.predict_f(NEW)[0], rtol=1e-12)
    assert_allclose(tf.linalg.diag_part(covariance)[0], orth.predict_f(NEW)[1][:, 0], atol=1e-9)


def test_gamma_points_do_not_coincide_with_the_inducing_points() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 2))
    Z = start_inducing_points(rows, 12, seed=0)  # the rows themselves
    gamma = start_further_points(rows, Z, 12, seed=0)
    distances = np.linalg.norm(gamma[:, None] - Z[None], axis=2)
    assert gamma.shape == (12, 2)
    assert np.min(distances) > 1e-4
    rows = np.random.default_rng(1).normal(size=(300, 2))
    gamma = start_further_points(rows, start_inducing_points(rows, 20, seed=0), 20, seed=0)
    assert len(np.unique(gamma, axis=0)) == 20
    with pytest.raises(UsageError, match="13 inducing points are more than the 12 training rows"):
        start_further_points(rows[:12], Z, 13, seed=0)


def test_coinciding_points_are_factorised_all_the_same() -> None:
    _, orth = models(3, gamma=np.vstack([Z, GAMMA]), jitter=1e-6)
    with_weights(orth)
    assert all(np.all(np.isfinite(factor)) for factor in orth.kernel_factors())
    assert np.all(np.isfinite(orth.marginals(NEW)[0]))
