"""S by Gauss–Hermite quadrature against adaptive integration: where it is accurate, and how it fails."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf
from scipy.integrate import quad
from scipy.special import log_ndtr

from gpcnoise_cli.likelihoods.gaussian_noise import PREDICTION_POINTS
from gpcnoise_cli.likelihoods.registry import DEFAULT_QUADRATURE_POINTS
from gpcnoise_cli.likelihoods.win_probability import win_probability

NUM_POINTS = 24


def adaptive(mean: np.ndarray, variance: np.ndarray) -> float:
    """P(g_0 is the largest), by adaptive quadrature that is told where the steps are."""
    scale = math.sqrt(variance[0])

    def integrand(t: float) -> float:
        g = mean[0] + scale * t
        return math.exp(-0.5 * t * t + np.sum(log_ndtr((g - mean[1:]) / np.sqrt(variance[1:]))))

    steps = np.clip((mean[1:] - mean[0]) / scale, -9, 9)
    ends = np.unique(np.concatenate([[-9.0], steps, [9.0]]))
    pieces = pairwise(ends)
    total = sum(quad(integrand, a, b, epsabs=1e-10, epsrel=1e-9, limit=100)[0] for a, b in pieces)
    return total / math.sqrt(2 * math.pi)


def points(num_classes: int, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Class 0 has `ratio` times the variance of its rivals, and all means lie within its reach."""
    rng = np.random.default_rng(0)
    variance = np.ones((NUM_POINTS, num_classes))
    variance[:, 0] = ratio
    return math.sqrt(ratio) * rng.normal(size=variance.shape), variance


def largest_error(num_classes: int, ratio: float, nodes: int) -> float:
    mean, variance = points(num_classes, ratio)
    winner = np.tile(np.eye(num_classes)[0], (NUM_POINTS, 1))
    value, _, _ = win_probability(tf.constant(mean), tf.constant(variance), tf.constant(winner), nodes)
    exact = np.array([adaptive(m, v) for m, v in zip(mean, variance, strict=True)])
    return float(np.max(np.abs(value - exact)))


@pytest.mark.parametrize("num_classes", [3, 10, 26])
@pytest.mark.parametrize(
    ("ratio", "in_training", "in_prediction"),
    [
        (0.1, 1e-4, 1e-6),
        (1.0, 2e-4, 1e-6),
        (2.0, 1e-3, 3e-5),
        (4.0, 5e-3, 3e-4),
        (10.0, 2e-2, 5e-3),
        (1000.0, 0.13, 0.1),
    ],
)
def test_error_by_ratio_of_variances(num_classes: int, ratio: float, in_training: float, in_prediction: float) -> None:
    errors = {n: largest_error(num_classes, ratio, n) for n in (DEFAULT_QUADRATURE_POINTS, PREDICTION_POINTS)}
    table = ", ".join(f"{nodes} nodes {error:.1e}" for nodes, error in errors.items())
    print(f"C = {num_classes}, winner's variance {ratio} times its rivals': {table}")
    assert errors[DEFAULT_QUADRATURE_POINTS] < in_training
    assert errors[PREDICTION_POINTS] < in_prediction


@pytest.mark.parametrize("nodes", [DEFAULT_QUADRATURE_POINTS, PREDICTION_POINTS])
def test_worst_case_is_half_a_central_weight(nodes: int) -> None:
    """A rival without variance makes the integrand a step; just off a node the rule misses half of its weight."""
    shifts = np.linspace(-1, 1, 4001)
    mean = np.stack([shifts, 0 * shifts], axis=1)
    variance = np.tile([1.0, 1e-12], (len(shifts), 1))
    winner = np.tile([1.0, 0.0], (len(shifts), 1))
    value, _, _ = win_probability(tf.constant(mean), tf.constant(variance), tf.constant(winner), nodes)
    exact = np.exp(log_ndtr(shifts))
    worst = float(np.max(np.abs(value - exact)))
    print(f"{nodes} nodes, rival without variance: largest error {worst:.3f}")
    assert worst < (0.14 if nodes == 20 else 0.10)
