"""S, the probability that one of C independent Gaussians is the largest, by a trapezoidal rule on fitted nodes.

For g^c ~ N(m_c, v_c) and winner y, S = E_{g ~ N(m_y, v_y)} Π_{c≠y} Φ((g − m_c)/√v_c), the integral below
eq_elbo_multiclass. In x = (g − m_y)/√v_y the integrand is φ(x) Π Φ((x − t_c)/w_c), with the rivals' means t_c and
scales w_c in units of the winner's. It has one bump: to the right it falls like φ, to the left it rises at the scale
of the rival that is met first, which may be thousands of times shorter. Nodes that ignore this (Gauss–Hermite's) fail
where the winner's variance is many times its rivals'.

So each point gets nodes of its own. The rule begins at `start`, where the integrand has fallen to exp(−½ REACH²) of its
largest possible value, with the local scale σ of the rise there, keeps that spacing for a while, widens it
geometrically, and ends in unit steps at x = REACH. Equal steps in τ with

    x(τ) = start + σ τ + (1 − σ)/κ · [softplus(κ(τ − τ₀)) − softplus(−κ τ₀)]

do just that, and since the integrand vanishes with all its derivatives at both ends, equal weights in τ (the
trapezoidal rule) converge faster than any power of the spacing.

Each factor is exp Σ log Φ, so none is squashed and none underflows before its time. The ratios φ/Φ, which come with
log Φ at almost no cost, give the gradients by means and variances as integrals over the same nodes, in the same pass:
the one [..., C − 1, Q] block is read a few times and nothing of it is kept. docs/mathematics.md gives the measured
errors.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from gpcnoise_cli.likelihoods.numerics import ValueAndGradients, log_ndtr_and_hazard
from gpcnoise_cli.predictor.win_probability import (
    FAR_SIDE,
    GROWTH,
    GROWTH_IF_SHARP,
    PLATEAU,
    PLATEAU_IF_SHARP,
    REACH_PER_CUBE_ROOT,
)


class Nodes(NamedTuple):
    """A rule of its own for every point, [..., Q]; positions are relative to a rival's mean, `anchor`.

    A node is told from a rival with very little variance by its distance to that rival's mean. In float32 the distance
    would drown in x itself; relative to the rival that is met first it does not.
    """

    position: tf.Tensor
    """x − (anchor − m_y)/√v_y."""
    spacing: tf.Tensor
    anchor: tf.Tensor
    """[..., 1]"""


def win_probability(mean: tf.Tensor, variance: tf.Tensor, winner: tf.Tensor, points: int) -> ValueAndGradients:
    """S [...] and its gradients by `mean` and `variance` [..., C], for one-hot `winner` [..., C] and variance > 0."""
    scale = tf.sqrt(variance)
    winner_mean, winner_scale = (tf.reduce_sum(winner * each, axis=-1, keepdims=True) for each in (mean, scale))
    rival_mean, rival_scale = without_winner(mean, winner), without_winner(scale, winner)
    inverse_scale = 1.0 / rival_scale
    stretch = winner_scale * inverse_scale
    nodes = fitted_nodes(winner_mean, winner_scale, rival_mean, rival_scale, points)
    offset = (nodes.anchor - rival_mean) * inverse_scale
    anchor_x = (nodes.anchor - winner_mean) / winner_scale
    x = anchor_x + nodes.position

    log_cdf, hazard = log_ndtr_and_hazard(offset[..., None] + stretch[..., None] * nodes.position[..., None, :])
    log_density = -0.5 * tf.square(x) - 0.5 * math.log(2.0 * math.pi)
    mass = nodes.spacing * tf.exp(log_density + tf.reduce_sum(log_cdf, axis=-2))
    value = tf.minimum(tf.reduce_sum(mass, axis=-1), 1.0)

    # Means over the nodes of φ/Φ and of φ/Φ times the position; the derivatives by m_c and √v_c are made of them.
    flat, tilted = tf.unstack(tf.matmul(hazard, tf.stack([mass, mass * nodes.position], axis=-1)), axis=-1)
    flat, tilted = flat * inverse_scale, tilted * inverse_scale
    by_winner_mean = tf.reduce_sum(flat, axis=-1, keepdims=True)
    by_winner_scale = tf.reduce_sum(anchor_x * flat + tilted, axis=-1, keepdims=True)
    by_mean = with_winner(-flat, by_winner_mean, winner)
    by_scale = with_winner(-(offset * flat + stretch * tilted), by_winner_scale, winner)
    return value, by_mean, 0.5 * by_scale / scale


def fitted_nodes(
    winner_mean: tf.Tensor, winner_scale: tf.Tensor, rival_mean: tf.Tensor, rival_scale: tf.Tensor, points: int
) -> Nodes:
    """The rule with `points` nodes for one winner [..., 1] and its rivals [..., C − 1]."""
    reach = REACH_PER_CUBE_ROOT * points ** (1.0 / 3.0)
    t, w = (rival_mean - winner_mean) / winner_scale, rival_scale / winner_scale
    # Where φ(x) and the lower tail of Φ((x − t)/w), both taken as exponentials of squares, reach the level for a single
    # rival: the left root of x² + ((t − x)/w)² = REACH². The rival whose root is the last one is met first.
    near = tf.maximum(t, -reach)
    pooled = 1.0 + tf.square(w)
    discriminant = tf.maximum(reach**2 * pooled - tf.square(near), FAR_SIDE**2 * pooled)
    behind = -w * (w * near + tf.sqrt(discriminant)) / pooled  # the root, relative to t
    first = tf.one_hot(tf.argmax(near + behind, axis=-1), t.shape[-1], dtype=t.dtype)
    near_mean = tf.where(t < near, winner_mean - reach * winner_scale, rival_mean)
    of_first = (tf.reduce_sum(first * each, axis=-1, keepdims=True) for each in (near, near_mean, behind))
    anchor_t, anchor, start = of_first

    # Several rivals at one place fall faster than one. With all of them, N(x) = √(x² + Σ ((t_c − x)₊/w_c)²) is convex:
    # one step of Newton's method for N = REACH stays to the left of the root.
    distance = tf.maximum(t - anchor_t - start, 0.0)
    precision = tf.where(distance > 0.0, 1.0 / tf.square(w), 0.0)
    x = anchor_t + start
    norm = tf.sqrt(tf.square(x) + tf.reduce_sum(precision * tf.square(distance), axis=-1, keepdims=True))
    descent = tf.reduce_sum(precision * distance, axis=-1, keepdims=True) - x  # −N N′
    # The largest of k equal rivals has about 1/(1 + log k) of the variance of one.
    sharpest, total = (reduce(precision, axis=-1, keepdims=True) for reduce in (tf.reduce_max, tf.reduce_sum))
    crowd = 1.0 + tf.math.log(tf.maximum(total, 1e-30) / tf.maximum(sharpest, 1e-30))
    sigma = tf.math.rsqrt(1.0 + sharpest * crowd)
    step = norm * (norm - reach) / tf.maximum(descent, 1e-30)
    start += tf.clip_by_value(step, 0.0, reach * sigma)

    length = tf.maximum(reach - anchor_t - start, 2.0 * reach * sigma)
    sharpness = -tf.math.log(sigma)
    growth = GROWTH + GROWTH_IF_SHARP * sharpness  # κ
    bend = PLATEAU + PLATEAU_IF_SHARP * sharpness + sharpness / growth  # τ₀
    spacing = tf.minimum(length + (1.0 - sigma) * bend, length / sigma) / points
    tau = spacing * (tf.range(points, dtype=t.dtype) + 0.5)
    power, first_power = tf.exp(growth * (tau - bend)), tf.exp(-growth * bend)
    widening = (tf.math.log1p(power) - tf.math.log1p(first_power)) / growth
    position = start + sigma * tau + (1.0 - sigma) * widening
    return Nodes(position, spacing * (sigma + (1.0 - sigma) * power / (1.0 + power)), anchor)


def without_winner(values: tf.Tensor, winner: tf.Tensor) -> tf.Tensor:
    """The C − 1 rivals' values: the last class takes the winner's place."""
    return tf.where(winner[..., :-1] > 0.0, values[..., -1:], values[..., :-1])


def with_winner(rivals: tf.Tensor, of_winner: tf.Tensor, winner: tf.Tensor) -> tf.Tensor:
    """The inverse of `without_winner`: [..., C] from the rivals' values and the winner's."""
    displaced = tf.reduce_sum(winner[..., :-1] * rivals, axis=-1, keepdims=True)
    return tf.where(winner > 0.0, of_winner, tf.concat([rivals, displaced], axis=-1))
