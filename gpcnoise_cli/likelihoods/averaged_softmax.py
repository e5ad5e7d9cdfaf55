"""The softmax averaged over q(f) at fixed nodes, and the logarithm of that average: the predictive objective.

E_q(f)[softmax(f)_y] has no closed form, and the scaled softmax that stands in for it elsewhere is wrong by 0.1 (C = 3)
to 0.3 (C = 26) nats at ν ≈ 1. So log p = log mean_k p_y(μ + √ν z_k) is taken over nodes z_k that are the same for all
rows and steps. They are Sobol points with their mirror images, stretched to a covariance of exactly one: odd moments
and second ones are then right, and the value is exact to first order in ν.

With weights ω_k = p_y(f_k) / Σ p_y(f_k) on the nodes and d_c = 1[c = y] − softmax(f_k)_c, ∂ log p / ∂μ_c = Σ_k ω_k d_c.
For ν there are two forms that agree under the integral, and not at the nodes:

    ½ Σ_k ω_k d_c z_kc / √ν_c    and    ½ Σ_k ω_k (d_c² − p_c (1 − p_c)).

The first is the derivative of the value at the nodes, but it divides by √ν. The second, half the second derivative by
f_c (Price's theorem), does not; at large ν, where the softmax is nearly a step, it is a sum over the few nodes near the
step, and no longer fits the gradient by μ: the kernel variance was seen to grow a thousandfold while the objective
fell. So the first gets the weight ν/(1 + ν) and the second the rest, which takes the division away as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import tensorflow as tf

from gpcnoise_cli.likelihoods.numerics import ValueAndGradients, floored_variance
from gpcnoise_cli.predictor.nodes import DRAWS_PER_BLOCK, Array, normal_draws

LEAST_PAIRS = 64
"""Pairs of mirrored nodes: with 128 nodes log p errs by 0.003 (C = 3) to 0.012 (C = 26) at ν ≈ 1, and they take two to
three times as long as the quadrature of Gaussian noise."""


def softmax_at_nodes(
    Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor, nodes: Array
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """At f = μ + √ν z: z [C, K], √ν [..., C], the softmax [..., C, K], and the logarithm of the label's [..., K]."""
    z = tf.constant(nodes.T, Fmu.dtype)
    scale = tf.sqrt(tf.maximum(Fvar, 0.0))
    F = Fmu[..., None] + scale[..., None] * z
    # Differences to f_y: however unlikely the label is, its logarithm is a plain number.
    F -= tf.reduce_sum(one_hot[..., None] * F, axis=-2, keepdims=True)
    largest = tf.reduce_max(F, axis=-2, keepdims=True)
    p = tf.exp(F - largest)
    total = tf.reduce_sum(p, axis=-2, keepdims=True)
    return z, scale, p / total, -(largest + tf.math.log(total))[..., 0, :]


def averaged_softmax(Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor, nodes: Array) -> ValueAndGradients:
    """log mean softmax(f)_y over `nodes` [K, C], per point, and its gradients by `Fmu` and `Fvar`."""
    z, scale, p, log_observed = softmax_at_nodes(Fmu, Fvar, one_hot, nodes)
    value = tf.reduce_logsumexp(log_observed, axis=-1)
    weights = tf.exp(log_observed - value[..., None])
    mean = tf.einsum("...ck,...k->...c", p, weights)
    square = tf.einsum("...ck,...k->...c", tf.square(p), weights)
    tilt = one_hot * tf.einsum("ck,...k->...c", z, weights) - tf.einsum("...ck,...k->...c", p * z, weights)
    bend = one_hot - (1.0 + 2.0 * one_hot) * mean + 2.0 * square  # d² − p (1 − p), multiplied out
    by_variance = 0.5 * (scale * tilt + bend) / (1.0 + tf.square(scale))
    return value - math.log(len(nodes)), one_hot - mean, by_variance


def mean_softmax(
    Fmu: tf.Tensor, Fvar: tf.Tensor, draws: Array, logits: Callable[[tf.Tensor], tf.Tensor] = tf.identity
) -> tf.Tensor:
    """The mean of softmax(logits(f)) over `draws` [D, C], for all classes and with plenty of them: a prediction."""
    scale = tf.sqrt(floored_variance(Fvar))
    total = tf.zeros_like(Fmu)
    for start in range(0, len(draws), DRAWS_PER_BLOCK):
        block = tf.constant(draws[start : start + DRAWS_PER_BLOCK], Fmu.dtype)
        F = Fmu[..., None, :] + scale[..., None, :] * block
        total += tf.reduce_sum(tf.nn.softmax(logits(F)), axis=-2)
    return total / len(draws)


@lru_cache(maxsize=8)
def symmetric_nodes(dimension: int) -> Array:
    """Nodes [K, dimension] with mean zero, covariance one and no odd moments; they do not depend on a run's seed."""
    half = normal_draws(max(LEAST_PAIRS, 2 * dimension), dimension, seed=0)
    values, vectors = np.linalg.eigh(half.T @ half / len(half))
    half = half @ (vectors / np.sqrt(values)) @ vectors.T
    return np.concatenate([half, -half])
