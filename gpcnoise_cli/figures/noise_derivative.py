"""Σ E of the bound over the noise variance a, and its derivative by automatic differentiation and by App. B.

The paper's formulas are written out here with a quadrature of their own, so that the two ways share nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.integer]

NODES = 128


def elbo_and_autodiff(
    mu: Array, nu: Array, y: Labels, classes: int, delta: float, values: Array
) -> tuple[Array, Array]:
    """Σ E at each a and its derivative by a tape; the step likelihood with variance ν + a is the one with noise a."""
    import tensorflow as tf

    from gpcnoise_cli.likelihoods.registry import build_likelihood

    likelihood = build_likelihood("step", classes, delta=delta, delta_mode="fixed", quadrature_points=NODES)
    no_inputs, labels = tf.zeros((len(mu), 0), tf.float64), tf.constant(y[:, None])
    means, variances = tf.constant(mu), tf.constant(nu)

    @tf.function(autograph=False)
    def value_and_derivative(a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(a)
            total = tf.reduce_sum(likelihood.variational_expectations(no_inputs, means, variances + a, labels))
        return total, tape.gradient(total, a)

    pairs = [value_and_derivative(tf.constant(a, tf.float64)) for a in values]
    return np.array([float(total) for total, _ in pairs]), np.array([float(slope) for _, slope in pairs])


def agreement_derivative(mu: Array, nu: Array, y: Labels, a: float) -> Array:
    """∂S_i/∂a by the formulas of App. B, per row."""
    if mu.shape[1] == 1:
        return _binary_derivative(mu[:, 0], nu[:, 0], y, a)
    rivals, density = multiclass_terms(mu, nu, y, a)
    return rivals + density


def _binary_derivative(mu: Array, nu: Array, y: Labels, a: float) -> Array:
    total = a + nu
    z = (2.0 * y - 1.0) * mu / np.sqrt(total)
    return -0.5 * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) * z / total


def multiclass_terms(mu: Array, nu: Array, y: Labels, a: float) -> tuple[Array, Array]:
    """The two terms of ∂S_i/∂a: the rivals' share, and that of the observed class's own density."""
    from scipy.special import log_ndtr

    from gpcnoise_cli.predictor.nodes import gauss_hermite

    nodes, weights = gauss_hermite(NODES)
    rows, total = np.arange(len(mu)), a + nu
    own = total[rows, y]
    g = mu[rows, y][:, None] + np.sqrt(own)[:, None] * nodes
    z = (g[:, :, None] - mu[:, None, :]) / np.sqrt(total)[:, None, :]
    log_cdf = log_ndtr(z)
    log_density = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    observed = np.zeros(mu.shape, dtype=bool)
    observed[rows, y] = True
    log_cdf[np.broadcast_to(observed[:, None, :], log_cdf.shape)] = 0.0
    log_all = log_cdf.sum(axis=2)
    # φ(z_c) Π_{c' ≠ y, c} Φ(z_c'), then times (g − μ_c)/(a + ν_c)^{3/2} = z_c/(a + ν_c)
    each = np.exp(log_density + log_all[:, :, None] - log_cdf) * z / total[:, None, :]
    each[np.broadcast_to(observed[:, None, :], each.shape)] = 0.0
    rivals = -0.5 * each.sum(axis=2) @ weights
    # The density's derivative by its variance is φ · (x² − 1)/(2 (a + ν_y)) at the standardised node x.
    density = (np.exp(log_all) * (nodes**2 - 1.0)) @ weights / (2.0 * own)
    return rivals, density
