"""S as the authors' code has it: every CDF squashed into [s, 1 − s], twenty Gauss–Hermite nodes for the winner.

S = E_{g ~ N(m_y, v_y)} Π_{c≠y} [s + (1 − 2s) Φ((g − m_c)/√v_c)], with s = 1e-4 there. No class then ever has a
probability of nothing, whatever δ is, so a sure and wrong model is charged less. It is here to show what that habit
changes (`gpcnoise claims ablate squash`); `win_probability` is the integral itself.
"""

from __future__ import annotations

import math

import tensorflow as tf

from gpcnoise_cli.likelihoods.numerics import ValueAndGradients, ndtr
from gpcnoise_cli.likelihoods.win_probability import with_winner, without_winner
from gpcnoise_cli.predictor.nodes import gauss_hermite


def squashed_win_probability(
    mean: tf.Tensor, variance: tf.Tensor, winner: tf.Tensor, points: int, squash: float
) -> ValueAndGradients:
    """S [...] and its gradients by `mean` and `variance` [..., C], for one-hot `winner` [..., C] and variance > 0."""
    scale = tf.sqrt(variance)
    winner_mean, winner_scale = (tf.reduce_sum(winner * each, axis=-1, keepdims=True) for each in (mean, scale))
    rival_mean, rival_scale = without_winner(mean, winner), without_winner(scale, winner)
    nodes, weights = (tf.constant(each, mean.dtype) for each in gauss_hermite(points))

    g = winner_mean + winner_scale * nodes  # [..., Q]
    z = (g[..., None, :] - rival_mean[..., None]) / rival_scale[..., None]
    cdf = squash + (1.0 - 2.0 * squash) * ndtr(z)
    mass = weights * tf.reduce_prod(cdf, axis=-2)
    slope = (1.0 - 2.0 * squash) * tf.exp(-0.5 * tf.square(z)) / (math.sqrt(2.0 * math.pi) * cdf)
    slope *= mass[..., None, :] / rival_scale[..., None]  # the derivative of each node's mass by g, rival by rival

    by_rival_mean = -tf.reduce_sum(slope, axis=-1)
    by_mean = with_winner(by_rival_mean, -tf.reduce_sum(by_rival_mean, axis=-1, keepdims=True), winner)
    by_winner_scale = tf.reduce_sum(slope * nodes, axis=[-2, -1])[..., None]
    by_scale = with_winner(-tf.reduce_sum(slope * z, axis=-1), by_winner_scale, winner)
    return tf.reduce_sum(mass, axis=-1), by_mean, 0.5 * by_scale / scale
