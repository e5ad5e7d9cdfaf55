"""S by its fitted nodes against dense quadrature: how accurate it is, from one scale to scales a millionfold apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import log_ndtr

from gpcnoise_cli.likelihoods.gaussian_noise import PREDICTION_POINTS
from gpcnoise_cli.likelihoods.registry import DEFAULT_QUADRATURE_POINTS
from gpcnoise_cli.likelihoods.win_probability import win_probability
from gpcnoise_cli.predictor.nodes import VARIANCE_FLOOR

NUM_POINTS = 24
RATIOS = (1e-4, 0.1, 1.0, 2.0, 4.0, 13.0, 100.0, 1e3, 1e6)

Points = tuple[np.ndarray, np.ndarray]


def dense(mean: np.ndarray, variance: np.ndarray) -> float:
    """P(g_0 is the largest), by ten Gauss–Legendre nodes between any two of many breaks around every rival."""
    scale = math.sqrt(variance[0])
    t, w = (mean[1:] - mean[0]) / scale, np.sqrt(variance[1:]) / scale
    around = t[:, None] + w[:, None] * np.array([-9, -5, -3, -1.5, 0, 1.5, 3, 5, 9])
    breaks = np.unique(np.clip(np.concatenate([around.ravel(), np.linspace(-9.5, 9.5, 20)]), -9.5, 9.5))
    nodes, weights = np.polynomial.legendre.leggauss(10)
    half, middle = np.diff(breaks)[:, None] / 2, (breaks[:-1, None] + breaks[1:, None]) / 2
    x, weight = (middle + half * nodes).ravel(), (half * weights).ravel()
    log_integrand = -0.5 * x**2 + np.sum(log_ndtr((x - t[:, None]) / w[:, None]), axis=0)
    return float(weight @ np.exp(log_integrand)) / math.sqrt(2 * math.pi)


def dense_slopes(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """√v_c ∂S/∂m_c and v_c ∂S/∂v_c, by central differences of `dense`."""
    step = 1e-4
    by_mean, by_variance = np.zeros_like(mean), np.zeros_like(mean)
    for c, unit in enumerate(np.eye(len(mean))):
        move = step * math.sqrt(variance[c]) * unit
        by_mean[c] = (dense(mean + move, variance) - dense(mean - move, variance)) / (2 * step)
        factor = np.exp(step * unit)
        by_variance[c] = (dense(mean, variance * factor) - dense(mean, variance / factor)) / (2 * step)
    return by_mean, by_variance


def one_scale(num_classes: int, ratio: float) -> Points:
    """Class 0 has `ratio` times the variance of its rivals, and all means lie within reach of the wider of the two."""
    rng = np.random.default_rng(0)
    variance = np.ones((NUM_POINTS, num_classes))
    variance[:, 0] = ratio
    return max(math.sqrt(ratio), 1.0) * rng.normal(size=variance.shape), variance


def many_scales(num_classes: int, ratio: float) -> Points:
    """Every rival has a variance of its own, from 1/ratio to 1 times that of class 0."""
    rng = np.random.default_rng(1)
    variance = ratio ** rng.uniform(-1, 0, size=(NUM_POINTS, num_classes))
    variance[:, 0] = 1.0
    return rng.normal(size=variance.shape), variance


def evaluated(
    mean: np.ndarray, variance: np.ndarray, nodes: int, winner: int = 0, dtype: tf.DType = tf.float64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    one_hot = np.broadcast_to(np.eye(mean.shape[-1])[winner], mean.shape)
    value, by_mean, by_variance = win_probability(*(tf.constant(a, dtype) for a in (mean, variance, one_hot)), nodes)
    return value.numpy(), by_mean.numpy(), by_variance.numpy()


def largest_errors(points: Points, nodes: int) -> float:
    exact = np.array([dense(m, v) for m, v in zip(*points, strict=True)])
    return float(np.max(np.abs(evaluated(*points, nodes)[0] - exact)))


def adaptive(mean: np.ndarray, variance: np.ndarray) -> float:
    """P(g_0 is the largest), by adaptive quadrature that is told where the steps are."""
    scale = math.sqrt(variance[0])

    def integrand(x: float) -> float:
        g = mean[0] + scale * x
        return math.exp(-0.5 * x * x + np.sum(log_ndtr((g - mean[1:]) / np.sqrt(variance[1:]))))

    ends = np.unique(np.concatenate([[-9.0], np.clip((mean[1:] - mean[0]) / scale, -9, 9), [9.0]]))
    total = sum(quad(integrand, a, b, epsabs=1e-11, epsrel=1e-10, limit=200)[0] for a, b in pairwise(ends))
    return total / math.sqrt(2 * math.pi)


def test_the_reference_is_adaptive_quadrature() -> None:
    for mean, variance in zip(*many_scales(5, 1e4), strict=True):
        assert dense(mean, variance) == pytest.approx(adaptive(mean, variance), abs=1e-9)


@pytest.mark.parametrize("num_classes", [3, 10, 26])
@pytest.mark.parametrize("ratio", RATIOS)
def test_error_by_ratio_of_variances(num_classes: int, ratio: float) -> None:
    points = one_scale(num_classes, ratio)
    errors = {n: largest_errors(points, n) for n in (DEFAULT_QUADRATURE_POINTS, PREDICTION_POINTS)}
    table = ", ".join(f"{nodes} nodes {error:.1e}" for nodes, error in errors.items())
    print(f"C = {num_classes}, winner's variance {ratio:g} times its rivals': {table}")
    # Trained models stay below a ratio of 13.
    assert errors[DEFAULT_QUADRATURE_POINTS] < (1e-6 if ratio <= 13 else 5e-5)
    assert errors[PREDICTION_POINTS] < (1e-9 if ratio <= 13 else 5e-7)


@pytest.mark.parametrize("num_classes", [3, 10, 26])
@pytest.mark.parametrize(
    ("ratio", "in_training", "in_prediction"),
    [(10.0, 1e-6, 1e-9), (100.0, 5e-6, 1e-8), (1e4, 5e-4, 5e-6), (1e6, 2e-3, 1e-4)],
)
def test_error_where_every_rival_has_a_scale_of_its_own(
    num_classes: int, ratio: float, in_training: float, in_prediction: float
) -> None:
    points = many_scales(num_classes, ratio)
    errors = {n: largest_errors(points, n) for n in (DEFAULT_QUADRATURE_POINTS, PREDICTION_POINTS)}
    table = ", ".join(f"{nodes} nodes {error:.1e}" for nodes, error in errors.items())
    print(f"C = {num_classes}, rivals' variances spread over a factor of {ratio:g}: {table}")
    assert errors[DEFAULT_QUADRATURE_POINTS] < in_training
    assert errors[PREDICTION_POINTS] < in_prediction


@pytest.mark.parametrize(
    ("ratios", "spread", "in_training", "in_prediction"),
    [
        pytest.param((1e-4, 1.0), 1.0, 5e-7, 5e-10, marks=pytest.mark.slow),
        ((1.0, 13.0), 1.0, 2e-5, 2e-9),
        pytest.param((13.0, 1e6), 1.0, 5e-5, 5e-7, marks=pytest.mark.slow),
        pytest.param((1e-4, 13.0), 10.0, 2e-5, 5e-9, marks=pytest.mark.slow),
        ((13.0, 1e6), 10.0, 3e-4, 1e-5),
        pytest.param((1.0, 1e6), 100.0, 2e-3, 2e-4, marks=pytest.mark.slow),
        pytest.param((1.0, 1e4), 1e4, 1e-2, 2e-3, marks=pytest.mark.slow),
        ((1.0, 1e6), 1e6, 2e-2, 2e-3),
    ],
)
def test_largest_error_of_a_survey(
    ratios: tuple[float, float], spread: float, in_training: float, in_prediction: float
) -> None:
    """500 points, from 3 to 26 classes, means from close together to far apart; the constants were chosen on others."""
    rng = np.random.default_rng(987)
    errors: dict[int, float] = {DEFAULT_QUADRATURE_POINTS: 0.0, PREDICTION_POINTS: 0.0}
    for num_classes in rng.integers(3, 27, size=25):
        shape = (20, num_classes)
        variance = spread ** -rng.uniform(size=shape)
        variance[:, 0] = np.exp(rng.uniform(*np.log(ratios), size=20))
        reach = 10 ** rng.uniform(-1.5, 0.6, size=(20, 1)) * np.maximum(1.0, np.sqrt(variance[:, :1]))
        points = reach * rng.normal(size=shape), variance
        errors = {nodes: max(error, largest_errors(points, nodes)) for nodes, error in errors.items()}
    table = ", ".join(f"{nodes} nodes {error:.1e}" for nodes, error in errors.items())
    print(f"ratios {ratios[0]:g} to {ratios[1]:g}, rivals' variances within a factor of {spread:g}: {table}")
    assert errors[DEFAULT_QUADRATURE_POINTS] < in_training
    assert errors[PREDICTION_POINTS] < in_prediction


@settings(max_examples=60)
@given(
    num_classes=st.integers(3, 26),
    log_ratio=st.floats(-4, 6),
    spread=st.floats(0, 1),
    distance=st.floats(0.01, 4),
    seed=st.integers(0, 2**32 - 1),
)
@example(num_classes=26, log_ratio=3.0, spread=0.0, distance=0.05, seed=0)
def test_error_is_small_whatever_the_means_and_variances(
    num_classes: int, log_ratio: float, spread: float, distance: float, seed: int
) -> None:
    """Rivals of variances spread over a factor of up to ten; means from close together to far apart."""
    rng = np.random.default_rng(seed)
    variance = np.concatenate([[10**log_ratio], 10 ** (spread * rng.uniform(-1, 0, size=num_classes - 1))])
    mean = distance * max(1.0, 10 ** (log_ratio / 2)) * rng.normal(size=num_classes)
    exact = dense(mean, variance)
    value, _, _ = evaluated(mean[None], variance[None], DEFAULT_QUADRATURE_POINTS)
    assert abs(value[0] - exact) < (2e-6 if log_ratio <= 1 else 2e-4)
    single, _, _ = evaluated(mean[None], variance[None], DEFAULT_QUADRATURE_POINTS, dtype=tf.float32)
    assert abs(single[0] - exact) < (4e-6 if log_ratio <= 1 else 2e-4)


@pytest.mark.parametrize("dtype", [tf.float64, tf.float32])
@pytest.mark.parametrize("num_classes", [3, 8])
@pytest.mark.parametrize(
    ("points", "ratio", "limit"),
    [
        (one_scale, 0.01, 2e-6),
        (one_scale, 1.0, 2e-6),
        (one_scale, 13.0, 5e-6),
        (one_scale, 1e3, 2e-3),
        (one_scale, 1e6, 5e-3),
        (many_scales, 100.0, 5e-5),
    ],
)
def test_gradients_are_those_of_the_integral(
    points: Callable[[int, float], Points], ratio: float, limit: float, num_classes: int, dtype: tf.DType
) -> None:
    mean, variance = (array[:8] for array in points(num_classes, ratio))
    _, by_mean, by_variance = evaluated(mean, variance, DEFAULT_QUADRATURE_POINTS, dtype=dtype)
    slopes = [dense_slopes(m, v) for m, v in zip(mean, variance, strict=True)]
    rounding = 5e-6 if dtype == tf.float32 else 0.0
    error_mean = np.max(np.abs(by_mean * np.sqrt(variance) - np.stack([s[0] for s in slopes])))
    error_variance = np.max(np.abs(by_variance * variance - np.stack([s[1] for s in slopes])))
    print(
        f"C = {num_classes}, {points.__name__} {ratio:g}, {dtype.name}: {error_mean:.1e} by mean, {error_variance:.1e}"
    )
    assert error_mean < limit + rounding
    assert error_variance < limit + rounding


@pytest.mark.parametrize("nodes", [DEFAULT_QUADRATURE_POINTS, PREDICTION_POINTS])
@pytest.mark.parametrize("dtype", [tf.float64, tf.float32])
def test_a_rival_without_variance_is_a_step_and_no_trouble(nodes: int, dtype: tf.DType) -> None:
    shifts = np.linspace(-6, 6, 4001)
    mean = np.stack([shifts, 0 * shifts], axis=1)
    variance = np.tile([1.0, VARIANCE_FLOOR], (len(shifts), 1))
    value, by_mean, _ = evaluated(mean, variance, nodes, dtype=dtype)
    worst = float(np.max(np.abs(value - np.exp(log_ndtr(shifts)))))
    slope = float(np.max(np.abs(by_mean[:, 0] - np.exp(-0.5 * shifts**2) / math.sqrt(2 * math.pi))))
    print(f"{nodes} nodes, rival without variance, {dtype.name}: largest error {worst:.1e}, of the slope {slope:.1e}")
    assert worst < (2e-3 if nodes == DEFAULT_QUADRATURE_POINTS else 1e-6)
    assert slope < 5e-3


@settings(max_examples=60)
@given(
    num_classes=st.integers(2, 26),
    log_variances=st.tuples(st.floats(-12, 6), st.floats(-12, 6)),
    log_distance=st.floats(-8, 5),
    nodes=st.sampled_from([2, 5, 20, 40]),
    dtype=st.sampled_from([tf.float32, tf.float64]),
    seed=st.integers(0, 2**32 - 1),
)
def test_nothing_is_ever_infinite_and_probabilities_are_probabilities(
    num_classes: int,
    log_variances: tuple[float, float],
    log_distance: float,
    nodes: int,
    dtype: tf.DType,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    variance = 10 ** rng.uniform(min(log_variances), max(log_variances), size=(16, num_classes))
    mean = 10**log_distance * rng.normal(size=variance.shape)
    mean[0] = mean[0, 0]  # a tie
    value, by_mean, by_variance = evaluated(mean, variance, nodes, winner=int(rng.integers(num_classes)), dtype=dtype)
    assert np.all((value >= 0) & (value <= 1))
    assert np.all(np.isfinite(by_mean))
    assert np.all(np.isfinite(by_variance))


@settings(max_examples=25)
@given(num_classes=st.integers(3, 26), log_ratio=st.floats(0, 6), seed=st.integers(0, 2**32 - 1))
def test_one_class_wins(num_classes: int, log_ratio: float, seed: int) -> None:
    """The probabilities of all classes add up to one, and so their gradients to nothing."""
    rng = np.random.default_rng(seed)
    variance = 10 ** rng.uniform(-log_ratio, 0, size=(4, num_classes))
    mean = rng.normal(size=variance.shape)
    results = [evaluated(mean, variance, PREDICTION_POINTS, winner=c) for c in range(num_classes)]
    assert_allclose(np.sum([value for value, _, _ in results], axis=0), 1.0, atol=1e-3)
    by_mean = np.sum([by_mean for _, by_mean, _ in results], axis=0)
    assert_allclose(by_mean * np.sqrt(variance), 0.0, atol=1e-2)


@given(num_classes=st.integers(2, 8), seed=st.integers(0, 2**32 - 1))
def test_it_does_not_matter_where_the_winner_stands(num_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(size=(3, num_classes)), rng.gamma(1.0, size=(3, num_classes)) + 0.01
    order = rng.permutation(num_classes)
    value, by_mean, by_variance = evaluated(mean, variance, 20, winner=int(order[0]))
    moved, moved_by_mean, moved_by_variance = evaluated(mean[:, order], variance[:, order], 20, winner=0)
    assert_allclose(moved, value, rtol=1e-12)
    assert_allclose(moved_by_mean, by_mean[:, order], rtol=1e-9, atol=1e-14)
    assert_allclose(moved_by_variance, by_variance[:, order], rtol=1e-9, atol=1e-14)
