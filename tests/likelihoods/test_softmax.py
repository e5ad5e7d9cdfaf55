"""The softmax: its two bounds against sampling and each other, and its prediction against quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, log_softmax, logsumexp, wrightomega

from gpcnoise_cli.likelihoods.softmax import SoftmaxLikelihood
from gpcnoise_cli.likelihoods.tilted_bound import best_alpha
from gpcnoise_cli.predictor.nodes import DRAWS_PER_BLOCK, gauss_hermite, normal_draws


def bound_values(bound: str, mean: np.ndarray, variance: np.ndarray, labels: np.ndarray) -> np.ndarray:
    likelihood = SoftmaxLikelihood(mean.shape[1], bound=bound)
    return likelihood.variational_expectations(None, mean, variance, labels).numpy()


def sampled_expectation(
    mean: np.ndarray, variance: np.ndarray, label: int, draws: int = 100_000
) -> tuple[float, float]:
    """E[log softmax(f)_y] for one point, and the standard error of the estimate."""
    noise = np.random.default_rng(5).normal(size=(draws, len(mean)))
    values = log_softmax(mean + np.sqrt(variance) * noise, axis=1)[:, label]
    return float(values.mean()), float(values.std() / math.sqrt(draws))


def tilted_formula(alpha: np.ndarray, mean: np.ndarray, variance: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The tilted bound of docs/mathematics.md, for any α."""
    observed = np.take_along_axis(mean, labels, axis=1)[:, 0]
    penalty = 0.5 * np.sum(alpha**2 * variance, axis=1)
    return observed - penalty - logsumexp(mean + (1 - 2 * alpha) * variance / 2, axis=1)


def test_gumbel_bound_is_the_paper_s_formula() -> None:
    rng = np.random.default_rng(0)
    mean, variance, labels = rng.normal(size=(30, 4)), rng.uniform(0, 3, size=(30, 4)), rng.integers(4, size=(30, 1))
    y = np.eye(4, dtype=bool)[labels[:, 0]]
    rivals = np.where(y, 0.0, np.exp(variance / 2 + mean)).sum(axis=1)
    P = np.exp(variance / 2 - mean)[y] * rivals
    assert_allclose(bound_values("gumbel", mean, variance, labels), -np.log(P + 1), rtol=1e-12)


def test_gumbel_bound_is_the_tilted_one_at_the_observed_class() -> None:
    rng = np.random.default_rng(0)
    mean, variance, labels = rng.normal(size=(30, 4)), rng.uniform(0, 3, size=(30, 4)), rng.integers(4, size=(30, 1))
    at_label = tilted_formula(np.eye(4)[labels[:, 0]], mean, variance, labels)
    assert_allclose(bound_values("gumbel", mean, variance, labels), at_label, rtol=1e-12)


@pytest.mark.parametrize(("num_classes", "size", "remaining"), [(3, 4.0, 0.25), (26, 2.0, 0.15)])
def test_tilted_closes_most_of_the_gap(num_classes: int, size: float, remaining: float) -> None:
    """Points of the kind of the design's two examples: what is left of the paper's gap to E[log softmax]."""
    rng = np.random.default_rng(6)
    mean = rng.normal(size=(40, num_classes))
    variance = size * rng.uniform(0.8, 1.2, size=mean.shape)
    labels = rng.integers(num_classes, size=(40, 1))
    rows = zip(mean, variance, labels, strict=True)
    truth = np.mean([sampled_expectation(m, v, int(y[0]), 20_000)[0] for m, v, y in rows])
    gumbel, tilted = (bound_values(bound, mean, variance, labels).mean() for bound in ("gumbel", "tilted"))
    print(f"C = {num_classes}, variance ~ {size}: sampled {truth:.2f}, gumbel {gumbel:.2f}, tilted {tilted:.2f}")
    assert gumbel < tilted < truth
    assert truth - tilted < remaining * (truth - gumbel)


@pytest.mark.parametrize("bound", ["gumbel", "tilted"])
@pytest.mark.parametrize("num_classes", [2, 3, 10, 26])
def test_bounds_are_below_the_sampled_expectation(bound: str, num_classes: int) -> None:
    rng = np.random.default_rng(num_classes)
    for size in (0.01, 0.5, 5.0, 50.0):
        mean, variance = 2 * rng.normal(size=num_classes), size * rng.gamma(2.0, 0.5, size=num_classes)
        label = int(rng.integers(num_classes))
        truth, error = sampled_expectation(mean, variance, label)
        assert bound_values(bound, mean[None], variance[None], np.array([[label]]))[0] <= truth + 4 * error


@given(
    seed=st.integers(0, 2**31),
    num_classes=st.integers(2, 30),
    log_size=st.floats(-12.0, 6.0),
    spread=st.sampled_from([0.1, 3.0, 100.0, 1000.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_tilted_is_never_below_gumbel(seed: int, num_classes: int, log_size: float, spread: float, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    mean = (spread * rng.normal(size=(8, num_classes))).astype(dtype)
    variance = (10.0**log_size * rng.gamma(0.5, 1.0, size=mean.shape)).astype(dtype)
    labels = rng.integers(num_classes, size=(8, 1))
    tilted, gumbel = (bound_values(bound, mean, variance, labels) for bound in ("tilted", "gumbel"))
    assert np.all(np.isfinite(tilted))
    assert np.all(tilted >= gumbel)


@pytest.mark.parametrize("bound", ["gumbel", "tilted"])
def test_without_variance_the_bound_is_the_log_likelihood(bound: str) -> None:
    rng = np.random.default_rng(7)
    mean, labels = 5 * rng.normal(size=(30, 6)), rng.integers(6, size=(30, 1))
    exact = np.take_along_axis(log_softmax(mean, axis=1), labels, axis=1)[:, 0]
    assert_allclose(bound_values(bound, mean, 0 * mean, labels), exact, rtol=1e-10, atol=1e-12)
    assert_allclose(SoftmaxLikelihood(6).log_prob(None, mean, labels), exact, rtol=1e-12)


def best_bound(mean: np.ndarray, variance: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The tilted bound at its exact maximiser, by bisection on the level λ."""
    low, high = np.full((len(mean), 1), -3e6), np.full((len(mean), 1), 3e6)
    for _ in range(120):
        level = (low + high) / 2
        alpha = wrightomega(mean + variance / 2 + np.log(variance) - level) / variance
        above = alpha.sum(axis=1, keepdims=True) > 1
        low, high = np.where(above, level, low), np.where(above, high, level)
    return tilted_formula(alpha, mean, variance, labels)


@pytest.mark.parametrize(("size", "tolerance"), [(0.01, 1e-9), (1.0, 1e-9), (10.0, 1e-9), (30.0, 1e-4)])
@pytest.mark.parametrize("num_classes", [2, 3, 10, 26])
def test_the_weights_are_the_best_ones(num_classes: int, size: float, tolerance: float) -> None:
    rng = np.random.default_rng(8)
    mean = rng.normal(size=(200, num_classes)) * rng.choice([0.3, 2.0, 10.0, 100.0], size=(200, 1))
    variance = np.maximum(size * rng.gamma(1.0, 1.0, size=mean.shape), 1e-12)
    labels = rng.integers(num_classes, size=(200, 1))
    alpha = best_alpha(tf.constant(mean), tf.constant(variance)).numpy()
    assert_allclose(alpha.sum(axis=1), 1.0, rtol=1e-12)
    best = best_bound(mean, variance, labels)
    shortfall = np.max((best - tilted_formula(alpha, mean, variance, labels)) / (1 + np.abs(best)))
    print(f"C = {num_classes}, variance ~ {size}: largest relative shortfall of the tilted bound {shortfall:.1e}")
    assert shortfall < tolerance


@pytest.mark.parametrize("size", [1e3, 1e6])
@pytest.mark.parametrize("num_classes", [3, 26])
def test_huge_variances_still_close_most_of_the_gap(num_classes: int, size: float) -> None:
    """Six rounds need not converge here; what they leave of the gap between the paper's bound and the best one."""
    rng = np.random.default_rng(8)
    mean = rng.normal(size=(500, num_classes)) * rng.choice([0.3, 2.0, 10.0, 100.0], size=(500, 1))
    variance = np.maximum(size * rng.gamma(1.0, 1.0, size=mean.shape), 1e-12)
    labels = rng.integers(num_classes, size=(500, 1))
    gumbel, tilted = (bound_values(bound, mean, variance, labels) for bound in ("gumbel", "tilted"))
    best = best_bound(mean, variance, labels)
    left = (best - tilted) / (best - gumbel)
    print(f"C = {num_classes}, variance ~ {size:g}: gap left {left.mean():.1e} (mean), {left.max():.1e} (most)")
    assert left.mean() < 0.01
    assert left.max() < 0.15


def test_prediction_for_two_classes_equals_quadrature() -> None:
    rng = np.random.default_rng(9)
    mean, variance = rng.normal(size=(20, 2)), rng.uniform(0.1, 4.0, size=(20, 2))
    nodes, weights = gauss_hermite(100)
    difference = (mean[:, 1] - mean[:, 0])[:, None] + np.sqrt(variance.sum(axis=1))[:, None] * nodes
    predicted = SoftmaxLikelihood(2).predict_probabilities(mean, variance)
    assert_allclose(predicted[:, 1], expit(difference) @ weights, atol=2e-3)


@pytest.mark.parametrize("num_classes", [3, 26])
def test_quasi_random_draws_beat_a_thousand_random_ones(num_classes: int) -> None:
    rng = np.random.default_rng(10)
    mean = 2 * rng.normal(size=(48, num_classes))
    variance = 4 * rng.gamma(2.0, 0.5, size=mean.shape)
    exact = SoftmaxLikelihood(num_classes, prediction_draws=2**14, seed=99).predict_probabilities(mean, variance)

    def error(probabilities: np.ndarray) -> float:
        return float(np.sqrt(np.mean((probabilities - exact) ** 2)))

    random = np.mean(tf.nn.softmax(mean + np.sqrt(variance) * rng.normal(size=(1000, 1, num_classes))), axis=0)
    errors = {
        draws: error(SoftmaxLikelihood(num_classes, prediction_draws=draws).predict_probabilities(mean, variance))
        for draws in (64, 128, 256, 512, 1024)
    }
    table = ", ".join(f"{draws}: {value:.1e}" for draws, value in errors.items())
    print(f"C = {num_classes}, rms error by Sobol draws {table}; by 1000 random draws {error(random):.1e}")
    assert errors[512] < 0.6 * error(random)
    assert errors[512] < 2e-3


def test_prediction_repeats_exactly_and_depends_on_the_seed() -> None:
    mean, variance = np.zeros((2, 3)), np.ones((2, 3))
    mean[:, 0] = 1.0
    first = SoftmaxLikelihood(3, seed=0).predict_probabilities(mean, variance)
    assert_array_equal(first, SoftmaxLikelihood(3, seed=0).predict_probabilities(mean, variance))
    assert np.any(first != SoftmaxLikelihood(3, seed=1).predict_probabilities(mean, variance))


def test_draws_are_rounded_up_to_a_power_of_two() -> None:
    assert [len(normal_draws(count, 2, 0)) for count in (1, 2, 3, 1000)] == [1, 2, 4, 1024]
    assert len(normal_draws(1000, 2, 0)) % DRAWS_PER_BLOCK == 0
    draws = normal_draws(1024, 5, 0)
    assert_allclose(draws.mean(axis=0), 0.0, atol=5e-3)
    assert_allclose(draws.std(axis=0), 1.0, atol=1e-2)
