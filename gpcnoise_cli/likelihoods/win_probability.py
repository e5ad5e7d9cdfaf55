"""S, the probability that one of C independent Gaussians is the largest, by Gauss–Hermite quadrature.

For g^c ~ N(m_c, v_c) and winner y, S = E_{g ~ N(m_y, v_y)} Π_{c≠y} Φ((g − m_c)/√v_c), the integral below
eq_elbo_multiclass. On the nodes x_q the arguments are A_c + B_c x_q with A_c = (m_y − m_c)/√v_c and B_c = √(v_y/v_c);
the product is exp Σ log Φ, so no factor is squashed and none underflows before its time. The ratios φ/Φ, which come
with log Φ at almost no cost, give the gradients by A and B and hence by means and variances in the same pass: the one
[..., C, Q] block is read a few times and nothing of it is kept.

The rule is exact for polynomials, and the integrand is close to one when the variances are of a size. When v_y is many
times a rival's variance the integrand is a step, and the error falls no faster than the spacing of the nodes; the page
docs/mathematics.md gives the measured errors.
"""

from __future__ import annotations

import tensorflow as tf

from gpcnoise_cli.likelihoods.numerics import ValueAndGradients, gauss_hermite, log_ndtr_and_hazard


def win_probability(mean: tf.Tensor, variance: tf.Tensor, winner: tf.Tensor, points: int) -> ValueAndGradients:
    """S [...] and its gradients by `mean` and `variance` [..., C], for one-hot `winner` [..., C] and variance > 0."""
    dtype = mean.dtype
    nodes, weights = (tf.constant(array, dtype) for array in gauss_hermite(points))
    rivals = 1.0 - winner
    inverse_scale = tf.math.rsqrt(variance)
    winner_mean = tf.reduce_sum(winner * mean, axis=-1, keepdims=True)
    winner_scale = tf.sqrt(tf.reduce_sum(winner * variance, axis=-1, keepdims=True))
    offset = (winner_mean - mean) * inverse_scale
    stretch = winner_scale * inverse_scale

    log_cdf, hazard = log_ndtr_and_hazard(offset[..., None] + stretch[..., None] * nodes)
    mass = weights * tf.exp(tf.einsum("...cq,...c->...q", log_cdf, rivals))
    value = tf.reduce_sum(mass, axis=-1)

    by_offset_scaled = rivals * inverse_scale * tf.einsum("...cq,...q->...c", hazard, mass)
    by_stretch_scaled = rivals * inverse_scale * tf.einsum("...cq,...q->...c", hazard, mass * nodes)
    by_mean = winner * tf.reduce_sum(by_offset_scaled, axis=-1, keepdims=True) - by_offset_scaled
    by_scale = winner * tf.reduce_sum(by_stretch_scaled, axis=-1, keepdims=True) - (
        offset * by_offset_scaled + stretch * by_stretch_scaled
    )
    return value, by_mean, 0.5 * by_scale * inverse_scale
