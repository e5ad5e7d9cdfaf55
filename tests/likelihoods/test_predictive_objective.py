"""The predictive objective: the logarithm of what is predicted, its gradients, and the δ that goes with it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_less
from scipy.special import log_softmax, softmax

from gpcnoise_cli.likelihoods import LIKELIHOODS, build_likelihood
from gpcnoise_cli.likelihoods.averaged_softmax import averaged_softmax, symmetric_nodes
from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood
from gpcnoise_cli.likelihoods.gaussian_noise import GaussianNoise
from gpcnoise_cli.predictor.nodes import gauss_hermite, normal_draws

PREDICTIVE = [name for name, spec in LIKELIHOODS.items() if "predictive" in spec.objectives]
GAUSSIAN = [name for name, spec in LIKELIHOODS.items() if spec.has_delta]
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def pair(name: str, classes: int, delta: float = 0.05) -> tuple[ClassLikelihood, ClassLikelihood]:
    """The same likelihood with either objective, the predictive one first."""
    return tuple(
        build_likelihood(name, classes, objective=objective, bound=LIKELIHOODS[name].bounds[-1], delta=delta)
        for objective in ("predictive", "elbo")
    )


def rows_for(likelihood: ClassLikelihood, seed: int, size: float = 1.0, count: int = 40) -> Rows:
    rng = np.random.default_rng(seed)
    mean = 2 * rng.normal(size=(count, likelihood.num_latent))
    return mean, size * rng.gamma(2.0, 0.5, size=mean.shape), rng.integers(likelihood.num_classes, size=(count, 1))


def averaged(mean: np.ndarray, variance: np.ndarray, labels: np.ndarray, nodes: np.ndarray) -> list[np.ndarray]:
    one_hot = tf.constant(np.eye(mean.shape[1])[labels[:, 0]])
    return [part.numpy() for part in averaged_softmax(tf.constant(mean), tf.constant(variance), one_hot, nodes)]


def dense_log_average(mean: np.ndarray, variance: np.ndarray, labels: np.ndarray, points: int = 24) -> np.ndarray:
    """log E[softmax(f)_y] by a product of Gauss–Hermite rules."""
    nodes, weights = gauss_hermite(points)
    classes = mean.shape[1]
    grid = np.array(list(itertools.product(nodes, repeat=classes)))
    mass = np.prod(np.array(list(itertools.product(weights, repeat=classes))), axis=1)
    found = []
    for m, v, y in zip(mean, variance, labels[:, 0], strict=True):
        found.append(np.log(mass @ softmax(m + np.sqrt(v) * grid, axis=1)[:, y]))
    return np.array(found)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", PREDICTIVE)
def test_a_point_adds_the_log_density_that_its_prediction_is_scored_by(name: str, classes: int) -> None:
    likelihood, _ = pair(name, classes)
    rows = rows_for(likelihood, seed=0)
    # Predictions take more nodes, and under Gaussian noise they are normalised.
    tolerance = {"rtol": 0.02, "atol": 0.01} if name == "softmax" else {"atol": 0.01}
    trained, scored = (
        method(None, *rows) for method in (likelihood.variational_expectations, likelihood.predict_log_density)
    )
    assert_allclose(trained, scored, **tolerance)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    name=st.sampled_from(GAUSSIAN),
    classes=st.sampled_from([2, 3, 7]),
    log_delta=st.floats(-6.0, -0.5),
    size=st.floats(1e-6, 100.0),
)
def test_with_gaussian_noise_it_is_never_below_the_elbo(
    seed: int, name: str, classes: int, log_delta: float, size: float
) -> None:
    predictive, elbo = pair(name, classes, delta=10.0**log_delta)
    rows = rows_for(predictive, seed, size)
    above, below = (likelihood.variational_expectations(None, *rows) for likelihood in (predictive, elbo))
    assert np.all(above >= below - 1e-9)


@pytest.mark.parametrize("classes", [3, 26])
def test_with_the_softmax_it_is_above_the_tilted_bound(classes: int) -> None:
    predictive, elbo = pair("softmax", classes)
    rows = rows_for(predictive, seed=1)
    above, below = (likelihood.variational_expectations(None, *rows) for likelihood in (predictive, elbo))
    assert np.all(above > below)


@pytest.mark.parametrize("classes", [2, 5])
def test_where_nothing_is_uncertain_it_is_the_elbo(classes: int) -> None:
    """S = 1 for the largest mean and 0 for the others, up to the quadrature; the softmax at zero variance."""
    for name in ("step", "softmax"):
        predictive, elbo = pair(name, classes, delta=0.01)
        mean = 10.0 * np.random.default_rng(0).normal(size=(30, predictive.num_latent))
        labels = np.random.default_rng(1).integers(classes, size=(30, 1))
        ours, theirs = (one.variational_expectations(None, mean, 0 * mean, labels) for one in (predictive, elbo))
        assert_allclose(ours, theirs, rtol=1e-9, atol=5e-6 if name == "step" and classes > 2 else 1e-12)


def test_only_the_softmax_bounds_are_concave() -> None:
    for name, classes in itertools.product(PREDICTIVE, (2, 3)):
        predictive, elbo = pair(name, classes)
        assert not predictive.concave
        assert elbo.concave == (name == "softmax")


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**31), classes=st.sampled_from([2, 3]), size=st.floats(0.01, 1.0))
def test_the_averaged_softmax_equals_dense_quadrature(seed: int, classes: int, size: float) -> None:
    """Value and gradients; those of the dense rule by differences."""
    rng = np.random.default_rng(seed)
    mean, variance = 2 * rng.normal(size=(4, classes)), size * rng.gamma(2.0, 0.5, size=(4, classes)) + 0.01
    labels = rng.integers(classes, size=(4, 1))
    value, by_mean, by_variance = averaged(mean, variance, labels, symmetric_nodes(classes))
    assert_allclose(value, dense_log_average(mean, variance, labels), atol=0.06)
    shift, step = np.eye(classes)[0], 1e-3
    up, down = (dense_log_average(mean + s * shift, variance, labels) for s in (step, -step))
    assert_allclose(by_mean[:, 0], (up - down) / (2 * step), atol=0.06)
    up, down = (dense_log_average(mean, variance + s * shift, labels) for s in (step, -step))
    assert_allclose(by_variance[:, 0], (up - down) / (2 * step), atol=0.06)


@pytest.mark.parametrize(("classes", "limit"), [(3, 0.01), (26, 0.03)])
def test_the_error_of_the_nodes_is_small_beside_that_of_a_scaled_softmax(classes: int, limit: float) -> None:
    """Points whose labels are as likely as the model says, at ν ≈ 1, against 8,192 nodes."""
    rng = np.random.default_rng(2)
    mean = rng.normal(size=(60, classes))
    mean[np.arange(60), rng.integers(classes, size=60)] += 3
    variance = rng.gamma(2.0, 0.5, size=mean.shape)
    noisy = mean + np.sqrt(variance) * rng.normal(size=mean.shape) + rng.gumbel(size=mean.shape)
    labels = noisy.argmax(axis=1)[:, None]
    half = normal_draws(2**12, classes, seed=99)
    truth = averaged(mean, variance, labels, np.concatenate([half, -half]))
    ours = averaged(mean, variance, labels, symmetric_nodes(classes))
    scaled = log_softmax(mean / np.sqrt(1 + np.pi * variance / 8), axis=1)[np.arange(60), labels[:, 0]]
    errors = [np.sqrt(np.mean((a - b) ** 2)) for a, b in zip(ours, truth, strict=True)]
    closed = np.sqrt(np.mean((scaled - truth[0]) ** 2))
    print(
        f"C = {classes}, {len(symmetric_nodes(classes))} nodes: rms error of log p {errors[0]:.1e}, by mean "
        f"{errors[1]:.1e}, by variance {errors[2]:.1e}; of a scaled softmax {closed:.1e}"
    )
    assert errors[0] < limit < closed / 5
    assert max(errors[1:]) < limit


def test_the_gradient_by_a_vanishing_variance_is_half_the_second_derivative() -> None:
    rng = np.random.default_rng(3)
    mean, labels = 2 * rng.normal(size=(30, 4)), rng.integers(4, size=(30, 1))
    p, one_hot = softmax(mean, axis=1), np.eye(4)[labels[:, 0]]
    expected = ((one_hot - p) ** 2 - p * (1 - p)) / 2
    nodes = symmetric_nodes(4)
    exact, _, by_variance = averaged(mean, 0 * mean, labels, nodes)
    assert_allclose(by_variance, expected, atol=1e-12)
    assert_allclose(exact, log_softmax(mean, axis=1)[np.arange(30), labels[:, 0]], rtol=1e-12)
    # The value rises as the gradients say: its nodes have the covariance they should.
    small = 1e-5
    assert_allclose(
        (averaged(mean, small + 0 * mean, labels, nodes)[0] - exact) / small, expected.sum(axis=1), atol=1e-4
    )


@pytest.mark.parametrize("size", [0.1, 3.0, 300.0])
def test_both_gradients_by_the_variance_agree_with_many_nodes(size: float) -> None:
    """What is returned, a mean of two forms, against the derivative of the value itself."""
    rng = np.random.default_rng(4)
    mean, variance = 3 * rng.normal(size=(20, 3)), size * rng.gamma(2.0, 0.5, size=(20, 3)) + 0.01
    labels = rng.integers(3, size=(20, 1))
    half = normal_draws(2**14, 3, seed=1)
    nodes = np.concatenate([half, -half])
    _, _, by_variance = averaged(mean, variance, labels, nodes)
    scale = tf.constant(variance)
    with tf.GradientTape() as tape:
        tape.watch(scale)
        one_hot = tf.constant(np.eye(3)[labels[:, 0]])
        value, _, _ = averaged_softmax(tf.constant(mean), scale, one_hot, nodes)
    assert_allclose(by_variance, tape.gradient(value, scale), atol=3e-3)


@pytest.mark.parametrize("dimension", [2, 26, 70])
def test_nodes_are_symmetric_with_unit_covariance(dimension: int) -> None:
    nodes = symmetric_nodes(dimension)
    assert len(nodes) >= max(128, 4 * dimension)
    assert_allclose(nodes.mean(axis=0), 0.0, atol=1e-14)
    assert_allclose(nodes.T @ nodes / len(nodes), np.eye(dimension), atol=1e-12)


def noisy_batch(likelihood: GaussianNoise) -> Rows:
    """A fifth of the labels are wrong, and the latent functions are sure of what is right."""
    rng = np.random.default_rng(0)
    truth = rng.integers(likelihood.num_classes, size=100)
    labels = np.where(rng.random(100) < 0.2, rng.integers(likelihood.num_classes, size=100), truth)
    signal = np.eye(likelihood.num_classes)[truth] if likelihood.num_latent > 1 else 2.0 * truth[:, None] - 1
    mean = 4.0 * signal + rng.normal(size=signal.shape)
    return mean, rng.uniform(0.1, 2.0, size=mean.shape), labels[:, None]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("start", [1e-3, 0.3])
@pytest.mark.parametrize("part", [0.5, 1.0])
def test_following_delta_star_never_lowers_the_objective_and_ends_at_its_maximum(
    classes: int, start: float, part: float
) -> None:
    likelihood = build_likelihood("probit", classes, objective="predictive", delta=start)
    assert isinstance(likelihood, GaussianNoise)
    rows = noisy_batch(likelihood)

    def objective() -> float:
        return float(tf.reduce_sum(likelihood.variational_expectations(None, *rows)))

    values = [objective()]
    for _ in range(int(20 / part)):
        delta = likelihood.delta.numpy()
        likelihood.assign_delta(delta + part * (likelihood.delta_star(*rows) - delta))
        values.append(objective())
    assert_array_less(-1e-9, np.diff(values))
    assert 0.02 < likelihood.delta.numpy() < 0.3
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(likelihood.variational_expectations(None, *rows))
    assert_allclose(tape.gradient(total, likelihood.delta.unconstrained_variable), 0.0, atol=0.05)


@pytest.mark.parametrize("classes", [2, 5])
def test_while_nothing_is_learned_delta_stays_where_it_is(classes: int) -> None:
    likelihood = build_likelihood("probit", classes, objective="predictive", delta=0.03)
    assert isinstance(likelihood, GaussianNoise)
    mean = np.zeros((20, likelihood.num_latent))
    labels = np.arange(20)[:, None] % classes
    assert_allclose(likelihood.delta_star(mean, 1 + mean, labels), 0.03, rtol=1e-3)
