"""S, the probability that one of C independent Gaussians is the largest, in NumPy.

The rule is that of `likelihoods.win_probability`, whose docstring derives it; the value alone is wanted here, so the
product of the Φ needs no logarithms: where it underflows, S is nothing.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from gpcnoise_cli.predictor.nodes import Array

# Chosen for the smallest largest error over variance ratios from 1e-4 to 1e12, of S and of its gradients. First, how
# far out the rule reaches with Q nodes, in standard deviations: what it cuts off against how well it covers the rest.
REACH_PER_CUBE_ROOT = 1.9
# Then κ, the rate at which the spacing grows, and for how many units of σ it stays as it is before that; each with what
# is added per unit of −log σ, since with a very sharp rise there is more to cross and less to see on the way.
GROWTH, GROWTH_IF_SHARP = 0.5, 1 / 30
PLATEAU, PLATEAU_IF_SHARP = 4.0, 1 / 3
# Where even the largest value of the integrand is below exp(−½ REACH²), S is nothing; the rule then starts this many
# standard deviations to the left of the largest value, so that what is returned is small, smooth and finite.
FAR_SIDE = 3.0


def win_probabilities(mean: Array, variance: Array, points: int) -> Array:
    """S of every class, [n, C], summing to one."""
    scale = np.sqrt(variance)
    S = np.concatenate([_of_winner(mean, scale, winner, points) for winner in range(mean.shape[1])], axis=1)
    return S / np.sum(S, axis=1, keepdims=True)


def _of_winner(mean: Array, scale: Array, winner: int, points: int) -> Array:
    """[n, 1]; the names are those of the derivation."""
    winner_mean, winner_scale = (each[:, winner : winner + 1] for each in (mean, scale))
    rival_mean, rival_scale = (
        np.concatenate([each[:, :winner], each[:, winner + 1 :]], axis=1) for each in (mean, scale)
    )
    position, spacing, anchor = _fitted_nodes(winner_mean, winner_scale, rival_mean, rival_scale, points)
    x = (anchor - winner_mean) / winner_scale + position
    mass = spacing * np.exp(-0.5 * (x * x)) / math.sqrt(2.0 * math.pi)
    offset, stretch = (anchor - rival_mean) / rival_scale, winner_scale / rival_scale
    offset, stretch = (np.expand_dims(each, axis=2) for each in (offset, stretch))
    beaten = np.prod(ndtr(offset + stretch * np.expand_dims(position, axis=1)), axis=1)
    return np.minimum(np.sum(mass * beaten, axis=1, keepdims=True), 1.0)


def _fitted_nodes(
    winner_mean: Array, winner_scale: Array, rival_mean: Array, rival_scale: Array, points: int
) -> tuple[Array, Array, Array]:
    """Positions relative to the anchor and spacings, [n, Q], and the anchor, [n, 1]."""
    reach = REACH_PER_CUBE_ROOT * points ** (1.0 / 3.0)
    t, w = (rival_mean - winner_mean) / winner_scale, rival_scale / winner_scale
    near = np.maximum(t, -reach)
    pooled = 1.0 + w * w
    discriminant = np.maximum(reach**2 * pooled - near * near, FAR_SIDE**2 * pooled)
    behind = -w * (w * near + np.sqrt(discriminant)) / pooled
    near_mean = np.where(t < near, winner_mean - reach * winner_scale, rival_mean)
    first = np.argmax(near + behind, axis=1, keepdims=True)
    anchor_t, anchor, start = (np.take_along_axis(each, first, axis=1) for each in (near, near_mean, behind))

    distance = np.maximum(t - anchor_t - start, 0.0)
    precision = np.where(distance > 0.0, 1.0 / (w * w), 0.0)
    x = anchor_t + start
    norm = np.sqrt(x * x + np.sum(precision * distance * distance, axis=1, keepdims=True))
    descent = np.sum(precision * distance, axis=1, keepdims=True) - x
    sharpest, total = np.max(precision, axis=1, keepdims=True), np.sum(precision, axis=1, keepdims=True)
    crowd = 1.0 + np.log(np.maximum(total, 1e-30) / np.maximum(sharpest, 1e-30))
    sigma = 1.0 / np.sqrt(1.0 + sharpest * crowd)
    step = norm * (norm - reach) / np.maximum(descent, 1e-30)
    start = start + np.minimum(np.maximum(step, 0.0), reach * sigma)

    length = np.maximum(reach - anchor_t - start, 2.0 * reach * sigma)
    sharpness = -np.log(sigma)
    growth = GROWTH + GROWTH_IF_SHARP * sharpness  # κ
    bend = PLATEAU + PLATEAU_IF_SHARP * sharpness + sharpness / growth  # τ₀
    unit = np.minimum(length + (1.0 - sigma) * bend, length / sigma) / points
    tau = unit * (np.arange(points) + 0.5)
    power, first_power = np.exp(growth * (tau - bend)), np.exp(-growth * bend)
    widening = (np.log1p(power) - np.log1p(first_power)) / growth
    position = start + sigma * tau + (1.0 - sigma) * widening
    return position, unit * (sigma + (1.0 - sigma) * power / (1.0 + power)), anchor
