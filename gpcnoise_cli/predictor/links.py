"""From the latent functions to class probabilities under q(f) = N(μ, diag ν), in NumPy.

Four kinds serve every likelihood of the registry; the TensorFlow classes say where the formulas come from, and the
nodes are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, ndtr

from gpcnoise_cli.predictor.nodes import (
    DRAWS_PER_BLOCK,
    NEAREST_VARIANCE,
    PREDICTION_POINTS,
    VARIANCE_FLOOR,
    Array,
    gauss_hermite,
)
from gpcnoise_cli.predictor.win_probability import win_probabilities


def gaussian_noise(mu: Array, nu: Array, *, noise_variance: Array, delta: Array, points: Array) -> Array:
    """g = f + N(0, a) points to a class: the sign of one latent function, or the largest of several."""
    variance = np.maximum(noise_variance + nu, VARIANCE_FLOOR)
    if mu.shape[1] == 1:
        z = mu / np.sqrt(variance)
        S = np.concatenate([ndtr(-z), ndtr(z)], axis=1)
    else:
        S = win_probabilities(mu, variance, int(points))
    return (1.0 - delta) * S + delta / (S.shape[1] - 1) * (1.0 - S)


def logit(mu: Array, nu: Array) -> Array:
    """E σ(f): that of the nearest Gaussian CDF in closed form, the small rest at Gauss–Hermite nodes."""
    nodes, weights = gauss_hermite(PREDICTION_POINTS)
    variance = np.maximum(nu, VARIANCE_FLOOR)
    F = mu + np.sqrt(variance) * nodes
    rest = np.sum(weights * (expit(F) - ndtr(F / math.sqrt(NEAREST_VARIANCE))), axis=1, keepdims=True)
    second = ndtr(mu / np.sqrt(NEAREST_VARIANCE + variance)) + rest
    second = np.minimum(np.maximum(second, 0.0), 1.0)
    return np.concatenate([1.0 - second, second], axis=1)


def softmax(mu: Array, nu: Array, *, draws: Array, offset: Array) -> Array:
    """The mean of softmax(f + offset) over f = μ + √ν z for the `draws` z, [D, C]."""
    return _mean_softmax(mu + offset, nu, draws, lambda F: F)


def logistic_softmax(mu: Array, nu: Array, *, draws: Array) -> Array:
    """The same of σ(f_c)/Σ σ(f)."""
    return _mean_softmax(mu, nu, draws, log_expit)


def _mean_softmax(mu: Array, nu: Array, draws: Array, logits: Callable[[Array], Array]) -> Array:
    scale = np.sqrt(np.maximum(nu, VARIANCE_FLOOR))
    classes = range(draws.shape[1])
    totals: list[Any] = [0.0 for _ in classes]
    for at in range(0, len(draws), DRAWS_PER_BLOCK):
        z = draws[at : at + DRAWS_PER_BLOCK].T
        # A class at a time: sums over the short axis of classes would be slow.
        F = [logits(mu[:, c : c + 1] + scale[:, c : c + 1] * z[c]) for c in classes]
        largest = reduce(np.maximum, F)
        powers = [np.exp(f - largest) for f in F]
        total = reduce(np.add, powers)
        totals = [totals[c] + np.sum(powers[c] / total, axis=1, keepdims=True) for c in classes]
    return np.concatenate([each / len(draws) for each in totals], axis=1)


KINDS: dict[str, Callable[..., Array]] = {
    "gaussian_noise": gaussian_noise,
    "logit": logit,
    "softmax": softmax,
    "logistic_softmax": logistic_softmax,
}


@dataclass(frozen=True)
class Link:
    """One of the kinds with its constants, which are all that must be kept of it."""

    kind: str
    constants: dict[str, Array]

    def __call__(self, mu: Array, nu: Array) -> Array:
        return KINDS[self.kind](mu, nu, **self.constants)
