"""δ: its range, its three modes, and the closed-form maximiser."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods import DELTA_MODES, build_likelihood
from gpcnoise_cli.likelihoods.delta import DELTA_MARGIN
from gpcnoise_cli.likelihoods.gaussian_noise import GaussianNoise


def gaussian(num_classes: int, **options) -> GaussianNoise:
    likelihood = build_likelihood("probit", num_classes, **options)
    assert isinstance(likelihood, GaussianNoise)
    return likelihood


def batch(likelihood: GaussianNoise) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of which most, not all, are on the right side."""
    rng = np.random.default_rng(0)
    labels = rng.integers(likelihood.num_classes, size=(60, 1))
    signal = np.eye(likelihood.num_classes)[labels[:, 0]] if likelihood.num_latent > 1 else 2 * labels - 1
    mean = 2.0 * signal + rng.normal(size=(60, likelihood.num_latent))
    return mean, rng.uniform(0.1, 1.0, size=mean.shape), labels


@pytest.mark.parametrize("num_classes", [2, 4])
def test_delta_star_maximises_the_bound_over_delta(num_classes: int) -> None:
    likelihood = gaussian(num_classes, delta_mode="optimal")
    data = batch(likelihood)
    star = float(likelihood.delta_star(*data))
    assert 0.01 < star < 0.5

    def bound(delta: float) -> float:
        likelihood.assign_delta(delta)
        return float(tf.reduce_sum(likelihood.variational_expectations(None, *data)))

    grid = np.linspace(1e-3, (num_classes - 1) / num_classes - 1e-3, 40)
    values = [bound(delta) for delta in grid]
    assert bound(star) >= max(values)
    assert abs(grid[int(np.argmax(values))] - star) < 2 * (grid[1] - grid[0])


@pytest.mark.parametrize("num_classes", [2, 4])
def test_the_gradient_by_delta_vanishes_at_delta_star(num_classes: int) -> None:
    likelihood = gaussian(num_classes)
    data = batch(likelihood)
    likelihood.assign_delta(likelihood.delta_star(*data))
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(likelihood.variational_expectations(None, *data))
    assert_allclose(tape.gradient(total, likelihood.delta.unconstrained_variable), 0.0, atol=1e-10)


@pytest.mark.parametrize("num_classes", [2, 4])
def test_the_gradient_by_delta_equals_finite_differences(num_classes: int) -> None:
    likelihood = gaussian(num_classes, delta=0.2)
    data = batch(likelihood)
    variable = likelihood.delta.unconstrained_variable
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(likelihood.variational_expectations(None, *data))
    slope = tape.gradient(total, variable)
    start, step, values = variable.numpy(), 1e-5, []
    for shift in (step, -step):
        variable.assign(start + shift)
        values.append(float(tf.reduce_sum(likelihood.variational_expectations(None, *data))))
    assert_allclose(slope, (values[0] - values[1]) / (2 * step), rtol=1e-6)


def test_assigning_works_inside_a_compiled_function_and_clips() -> None:
    likelihood = gaussian(3, delta_mode="optimal")

    @tf.function
    def assign(value: tf.Tensor) -> None:
        likelihood.assign_delta(value)

    for value, expected in [(0.3, 0.3), (0.0, DELTA_MARGIN), (-1.0, DELTA_MARGIN), (1.0, 2 / 3 - DELTA_MARGIN)]:
        assign(tf.constant(value, tf.float32))
        assert_allclose(likelihood.delta.numpy(), expected, rtol=1e-6)
        values = likelihood.expectation_gradients(*(a.astype(np.float32) for a in batch(likelihood)))
        assert all(np.all(np.isfinite(v)) for v in values)


@pytest.mark.parametrize("mode", DELTA_MODES)
def test_only_a_free_delta_is_trained(mode: str) -> None:
    likelihood = gaussian(3, delta_mode=mode, delta=0.01)
    assert likelihood.delta_mode == mode
    assert_allclose(likelihood.delta.numpy(), 0.01)
    assert len(likelihood.trainable_variables) == (1 if mode == "free" else 0)


def test_the_beta_prior_is_off_unless_asked_for() -> None:
    assert gaussian(2).delta.log_prior_density() == 0.0
    delta = 0.01
    density = (-0.8 * math.log(delta) + 4 * math.log1p(-delta)) - (
        math.lgamma(0.2) + math.lgamma(5.0) - math.lgamma(5.2)
    )
    with_prior = gaussian(2, delta=delta, delta_prior="beta")
    with tf.GradientTape() as tape:
        value = with_prior.delta.log_prior_density()
    assert tape.gradient(value, with_prior.delta.unconstrained_variable) is not None
    assert_allclose(value, density, rtol=1e-9)


@pytest.mark.parametrize(("num_classes", "delta"), [(2, -0.1), (2, 0.0), (2, 0.5), (3, 0.7), (3, math.nan)])
def test_a_delta_outside_its_range_is_one_sentence(num_classes: int, delta: float) -> None:
    with pytest.raises(UsageError, match=r"^delta = .* is outside \(0, .*\.$"):
        gaussian(num_classes, delta=delta)


@pytest.mark.parametrize("mode", ["fixed", "optimal"])
def test_a_prior_on_a_delta_that_is_not_learned_is_refused(mode: str) -> None:
    with pytest.raises(UsageError, match="learned delta"):
        gaussian(2, delta_mode=mode, delta_prior="beta")
