"""Class probabilities under q(f) = N(μ, diag ν) for every likelihood of the registry, in NumPy.

Each is a function of μ and ν, [n, L] each, to [n, C]. The nodes are those of the TensorFlow classes, which also say
where the formulas come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, ndtr

from gpcnoise_cli.likelihoods.registry import LIKELIHOODS
from gpcnoise_cli.predictor.kernels import wide
from gpcnoise_cli.predictor.nodes import (
    DRAWS_PER_BLOCK,
    NEAREST_VARIANCE,
    PREDICTION_POINTS,
    VARIANCE_FLOOR,
    Array,
    gauss_hermite,
    normal_draws,
)
from gpcnoise_cli.predictor.win_probability import win_probabilities

Probabilities = Callable[[Array, Array], Array]
# From the configuration, the stored arrays and the number of classes.
Reader = Callable[[Mapping[str, Any], Mapping[str, Array], int], Probabilities]


def sides(z: Array) -> Array:
    """Φ(−z) and Φ(z) as two columns, for z [n, 1]."""
    return np.concatenate([ndtr(-z), ndtr(z)], axis=1)


def mean_softmax(mu: Array, nu: Array, draws: Array, logits: Callable[[Array], Array] | None = None) -> Array:
    """The mean of softmax(logits(f)) over `draws` [D, C]."""
    scale = np.sqrt(np.maximum(nu, VARIANCE_FLOOR))
    classes = range(draws.shape[1])
    totals: list[Any] = [0.0 for _ in classes]
    for at in range(0, len(draws), DRAWS_PER_BLOCK):
        z = draws[at : at + DRAWS_PER_BLOCK].T
        # A class at a time: sums over the short axis of classes would be slow.
        F = [mu[:, c : c + 1] + scale[:, c : c + 1] * z[c] for c in classes]
        F = F if logits is None else [logits(f) for f in F]
        largest = reduce(np.maximum, F)
        powers = [np.exp(f - largest) for f in F]
        total = reduce(np.add, powers)
        totals = [totals[c] + np.sum(powers[c] / total, axis=1, keepdims=True) for c in classes]
    return np.concatenate([each / len(draws) for each in totals], axis=1)


def binary_logit(mu: Array, nu: Array) -> Array:
    """E σ(f): that of the nearest Gaussian CDF in closed form, the small rest at Gauss–Hermite nodes."""
    nodes, weights = gauss_hermite(PREDICTION_POINTS)
    variance = np.maximum(nu, VARIANCE_FLOOR)
    F = mu + np.sqrt(variance) * nodes
    rest = np.sum(weights * (expit(F) - ndtr(F / math.sqrt(NEAREST_VARIANCE))), axis=1, keepdims=True)
    second = ndtr(mu / np.sqrt(NEAREST_VARIANCE + variance)) + rest
    second = np.minimum(np.maximum(second, 0.0), 1.0)
    return np.concatenate([1.0 - second, second], axis=1)


def _gaussian_noise(config: Mapping[str, Any], arrays: Mapping[str, Array], num_classes: int) -> Probabilities:
    options = config["likelihood"]
    told, registered = options["noise_variance"], LIKELIHOODS[options["name"]].noise_variance
    a = float((registered or 0.0) if told is None else told)
    delta, points = read_delta(arrays, num_classes), max(options["quadrature_points"], PREDICTION_POINTS)

    def probabilities(mu: Array, nu: Array) -> Array:
        variance = np.maximum(a + nu, VARIANCE_FLOOR)
        S = sides(mu / np.sqrt(variance)) if num_classes == 2 else win_probabilities(mu, variance, points)
        return (1.0 - delta) * S + delta / (num_classes - 1) * (1.0 - S)

    return probabilities


def _softmax(config: Mapping[str, Any], arrays: Mapping[str, Array], num_classes: int) -> Probabilities:
    draws = normal_draws(config["likelihood"]["prediction_draws"], num_classes, config["seed"])
    return lambda mu, nu: mean_softmax(mu, nu, draws)


def _augmented(config: Mapping[str, Any], arrays: Mapping[str, Array], num_classes: int) -> Probabilities:
    if num_classes == 2:
        return binary_logit
    draws = normal_draws(config["likelihood"]["prediction_draws"], num_classes, config["seed"])
    return lambda mu, nu: mean_softmax(mu, nu, draws, log_expit)


def _dirichlet(config: Mapping[str, Any], arrays: Mapping[str, Array], num_classes: int) -> Probabilities:
    offset, softmax = wide(arrays["likelihood.offset"]), _softmax(config, arrays, num_classes)
    return lambda mu, nu: softmax(mu + offset, nu)


READERS: dict[str, Reader] = {
    "step": _gaussian_noise,
    "probit": _gaussian_noise,
    "logit": _gaussian_noise,
    "softmax": _softmax,
    "augmented": _augmented,
    "probit_quadrature": lambda *_: lambda mu, nu: sides(mu / np.sqrt(1.0 + np.maximum(nu, VARIANCE_FLOOR))),
    "logit_quadrature": lambda *_: binary_logit,
    "softmax_sampled": _softmax,
    "dirichlet": _dirichlet,
}


def read_delta(arrays: Mapping[str, Array], num_classes: int) -> float:
    """δ from its stored form, a sigmoid scaled to (0, (C − 1)/C)."""
    return float(expit(wide(arrays["likelihood.delta"])) * (num_classes - 1) / num_classes)
