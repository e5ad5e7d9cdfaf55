"""It is a gpflow.models.SVGP: GPflow's own tools work on it."""

from __future__ import annotations

from collections.abc import Callable

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.likelihoods import build_likelihood
from gpcnoise_cli.models.svgp import VARIANCE_FLOOR, FusedSVGP


@pytest.mark.parametrize(("likelihood", "classes"), [("probit", 2), ("softmax", 3)])
def test_the_diagonal_of_a_full_covariance_is_the_marginal_variance(
    pair: Callable, likelihood: str, classes: int
) -> None:
    fused, _, (X, _) = pair(likelihood, classes, "matern52")
    mean, variance = fused.predict_f(X)
    full_mean, covariance = fused.predict_f(X, full_cov=True)
    assert covariance.shape == (fused.num_latent_gps, len(X), len(X))
    assert_allclose(full_mean, mean, rtol=1e-9, atol=1e-12)
    assert_allclose(tf.transpose(tf.linalg.diag_part(covariance)), variance, rtol=1e-9, atol=1e-12)
    by_output = fused.predict_f(X, full_output_cov=True)[1]
    assert_allclose(tf.linalg.diag_part(by_output), variance, rtol=1e-9, atol=1e-12)


def test_a_posterior_object_predicts_the_same(pair: Callable) -> None:
    fused, stock, (X, _) = pair("softmax", 3)
    mean, variance = fused.predict_f(X)
    for posterior in (fused.posterior(), stock.posterior()):
        cached_mean, cached_variance = posterior.predict_f(X)
        assert_allclose(cached_mean, mean, rtol=1e-8, atol=1e-10)
        assert_allclose(cached_variance, variance, rtol=1e-8, atol=1e-10)


def test_a_posterior_of_a_mixed_model_is_close(pair: Callable) -> None:
    mixed, _, (X, _) = pair("softmax", 3, precision="mixed")
    for ours, cached in zip(mixed.predict_f(X), mixed.posterior().predict_f(X), strict=True):
        assert ours.dtype == tf.float64
        assert_allclose(ours, cached, rtol=1e-4, atol=1e-4)


def test_predictions_of_labels_equal_those_of_stock_gpflow(pair: Callable) -> None:
    fused, stock, data = pair("probit", 2)
    for ours, theirs in zip(fused.predict_y(data[0]), stock.predict_y(data[0]), strict=True):
        assert_allclose(ours, theirs, rtol=1e-9)
    assert_allclose(fused.predict_log_density(data), stock.predict_log_density(data), rtol=1e-9)


def test_parameter_tables_show_it(pair: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    fused, stock, _ = pair("probit", 3)
    names = gpflow.utilities.parameter_dict(fused).keys()
    assert gpflow.utilities.parameter_dict(stock).keys() <= names
    gpflow.utilities.print_summary(fused)
    shown = capsys.readouterr().out
    for name in ("FusedSVGP.kernel.lengthscales", "FusedSVGP.q_sqrt", "FusedSVGP.likelihood.delta"):
        assert name in shown


def test_parameters_can_be_copied_by_gpflow(pair: Callable) -> None:
    first, _, (X, _) = pair("softmax", 3)
    second, _, _ = pair("softmax", 3)
    second.q_mu.assign(tf.zeros_like(second.q_mu))
    gpflow.utilities.multiple_assign(second, gpflow.utilities.read_values(first))
    assert_array_equal(second.predict_f(X)[0], first.predict_f(X)[0])


def test_gpflows_scipy_optimizer_trains_it(pair: Callable) -> None:
    fused, _, data = pair("softmax", 3, m=4)
    closure = fused.training_loss_closure(data, compile=False)
    before = float(closure())
    gpflow.optimizers.Scipy().minimize(closure, fused.trainable_variables, options={"maxiter": 4}, compile=False)
    assert float(closure()) < before - 1.0
    assert np.all(np.triu(fused.q_sqrt.numpy(), 1) == 0.0)  # only the lower triangle ever moves


def test_gpflows_likelihoods_work_with_it() -> None:
    """A likelihood that is not ours, without our conventions: GPflow's Bernoulli, one latent function."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(8, 2)), rng.integers(2, size=(8, 1)).astype(float)
    kernel, likelihood = gpflow.kernels.RBF(), gpflow.likelihoods.Bernoulli()
    fused = FusedSVGP(kernel, likelihood, data[0][:3], num_data=8, jitter=0.0)
    stock = gpflow.models.SVGP(kernel, likelihood, data[0][:3].copy(), whiten=True, num_data=8)
    assert_allclose(fused.elbo(data), stock.elbo(data), rtol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [
        gpflow.kernels.Linear(),
        gpflow.kernels.ArcCosine(),
        gpflow.kernels.RationalQuadratic() * gpflow.kernels.Constant(2.0),
        gpflow.kernels.RBF(active_dims=[0]) + gpflow.kernels.White(0.1),
        gpflow.kernels.Periodic(gpflow.kernels.RBF(), period=2.0),
    ],
    ids=["linear", "arc-cosine", "product", "active-dims", "periodic"],
)
@pytest.mark.parametrize("precision", ["float64", "mixed"])
def test_any_gpflow_kernel_works(kernel: gpflow.kernels.Kernel, precision: str) -> None:
    rng = np.random.default_rng(0)
    X, likelihood = rng.normal(size=(6, 2)), build_likelihood("softmax", 3)
    data = X, rng.integers(3, size=(6, 1))
    Z = X[:2] + 0.1  # no more than a linear kernel has dimensions
    fused = FusedSVGP(kernel, likelihood, Z, num_data=6, precision=precision, jitter=0.0)
    q_mu = rng.normal(size=(2, 3))
    fused.q_mu.assign(q_mu)
    stock = gpflow.models.SVGP(kernel, likelihood, Z.copy(), num_latent_gps=3, q_mu=q_mu, whiten=True, num_data=6)
    expected = stock.elbo(data)
    with tf.GradientTape() as tape:
        value = fused.elbo(data)
    assert_allclose(value, expected, rtol=1e-9 if precision == "float64" else 1e-4)
    assert all(np.all(np.isfinite(slope)) for slope in tape.gradient(value, kernel.trainable_variables))


def test_rounding_in_float32_never_makes_a_variance_negative(pair: Callable) -> None:
    """At the inducing points a certain q leaves almost no variance; float32 alone would go below zero."""
    mixed, _, _ = pair("softmax", 3, m=12, precision="mixed")
    mixed.q_sqrt.assign(1e-6 * tf.eye(12, batch_shape=[3], dtype=tf.float64))
    variance = mixed.predict_f(mixed.Z)[1]
    assert np.all(variance >= 0.99 * VARIANCE_FLOOR * 2.0)
    assert np.all(variance < 1e-4)


@pytest.mark.parametrize("shared", [True, False])
def test_jitter_is_a_part_of_the_prior_variance_and_can_be_raised(pair: Callable, shared: bool) -> None:
    fused, _, (X, _) = pair("softmax", 3, shared=shared)
    fused.jitter.assign(1e-6)
    K_mm, K_nm, k_diag = fused.kernel_matrices(tf.constant(X))
    assert K_mm.shape == (1 if shared else 3, 5, 5)
    assert_allclose(tf.linalg.diag_part(K_mm), 2.0 * (1 + 1e-6), rtol=1e-12)
    fused.jitter.assign(0.5)
    raised = fused.kernel_matrices(tf.constant(X))[0]
    assert_allclose(tf.linalg.diag_part(raised), 3.0, rtol=1e-12)
    for one, kernel in enumerate([fused.kernel] if shared else fused.kernel.kernels):
        assert_allclose(K_nm[one], kernel(X, fused.Z), rtol=1e-12)
    assert_allclose(k_diag, 2.0)
    (root,) = fused.kernel_factors()
    assert_allclose(root @ tf.linalg.matrix_transpose(root), raised, rtol=1e-12)


def test_a_minibatch_stands_for_all_rows(pair: Callable) -> None:
    """The likelihood part of two halves, each scaled to all rows, averages to that of the whole."""
    fused, _, (X, Y) = pair("softmax", 3, rows=10)
    halves = [fused.elbo((X[part], Y[part])) for part in (slice(0, 5), slice(5, 10))]
    assert_allclose(np.mean(halves), fused.elbo((X, Y)), rtol=1e-12)
    assert float(fused.data_scale(tf.constant(5))) == 20.0
