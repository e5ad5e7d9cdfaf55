"""What holds for any likelihood in the registry, whichever it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.likelihoods.augmented import AugmentedSoftmax
from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood
from gpcnoise_cli.likelihoods.dirichlet import DirichletLikelihood
from gpcnoise_cli.likelihoods.gaussian_noise import MulticlassGaussianNoise
from gpcnoise_cli.likelihoods.softmax import SoftmaxLikelihood

Points = Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]


def tape_gradients(
    likelihood: ClassLikelihood, mean: np.ndarray, variance: np.ndarray, labels: np.ndarray
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    mean, variance = tf.constant(mean), tf.constant(variance)
    with tf.GradientTape() as tape:
        tape.watch([mean, variance])
        value = likelihood.variational_expectations(None, mean, variance, labels)
    return (value, *tape.gradient(value, [mean, variance]))


def by_variance(likelihood: ClassLikelihood, exact: dict[str, float]) -> dict[str, float]:
    """Tolerances for gradients by ν: averages over nodes have those of the integral, not of their sum."""
    averaged = likelihood.objective == "predictive" and likelihood.delta_mode is None
    averaged = averaged or likelihood.bound_name in ("quadrature", "sampled")
    return {"atol": 0.05} if averaged else exact


def test_no_likelihood_class_is_missing_from_the_cases(every_likelihood: list[ClassLikelihood]) -> None:
    def concrete(parent: type) -> Iterator[type]:
        for child in parent.__subclasses__():
            if not inspect.isabstract(child):
                yield child
            yield from concrete(child)

    assert set(concrete(ClassLikelihood)) == {type(likelihood) for likelihood in every_likelihood}


def test_expectations_come_per_point_and_in_the_precision_of_the_means(
    likelihood: ClassLikelihood, points: Points
) -> None:
    for dtype, kind in ((np.float32, np.float64), (np.float64, np.float32), (np.float32, np.int64)):
        mean, variance, labels = points(likelihood, 5, dtype)
        labels = labels.astype(kind)
        value, by_mean, by_variance = likelihood.expectation_gradients(mean, variance, labels)
        expected = likelihood.variational_expectations(None, mean, variance, labels)
        log_density = likelihood.predict_log_density(None, mean, variance, labels)
        log_prob = likelihood.log_prob(None, mean, labels)
        probabilities = likelihood.predict_probabilities(mean, variance)
        assert value.shape == expected.shape == log_density.shape == log_prob.shape == (5,)
        assert by_mean.shape == by_variance.shape == mean.shape
        assert probabilities.shape == (5, likelihood.num_classes)
        everything = (value, by_mean, by_variance, expected, log_density, log_prob, probabilities)
        assert {tensor.dtype for tensor in everything} == {tf.as_dtype(dtype)}


def test_float32_agrees_with_float64(likelihood: ClassLikelihood, points: Points) -> None:
    single = likelihood.expectation_gradients(*points(likelihood, 40, np.float32))
    double = likelihood.expectation_gradients(*points(likelihood, 40, np.float64))
    for low, high in zip(single, double, strict=True):
        assert_allclose(low, high, rtol=2e-4, atol=2e-5)


def test_it_compiles_with_an_unknown_number_of_rows(likelihood: ClassLikelihood, points: Points) -> None:
    rows = tf.TensorSpec([None, likelihood.num_latent], tf.float32)

    @tf.function(input_signature=[rows, rows, tf.TensorSpec([None, 1], tf.int64)], autograph=False)
    def compiled(mean: tf.Tensor, variance: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        return likelihood.variational_expectations(None, mean, variance, labels)

    mean, variance, labels = points(likelihood, 6, np.float32)
    expected = likelihood.variational_expectations(None, mean, variance, labels)
    assert_allclose(compiled(mean, variance, labels.astype(np.int64)), expected, rtol=1e-5, atol=1e-6)


def test_batches_add_up(likelihood: ClassLikelihood, points: Points) -> None:
    mean, variance, labels = points(likelihood)
    whole = likelihood.variational_expectations(None, mean, variance, labels)
    parts = [
        likelihood.variational_expectations(None, mean[part], variance[part], labels[part])
        for part in (slice(0, 13), slice(13, 14), slice(14, None))
    ]
    assert_allclose(tf.concat(parts, axis=0), whole, rtol=1e-12)


def test_leading_batch_shapes_broadcast(likelihood: ClassLikelihood, points: Points) -> None:
    mean, variance, labels = points(likelihood, 4)
    stacked = np.stack([mean, mean + 1])
    value = likelihood.variational_expectations(None, stacked, variance, labels)
    assert value.shape == (2, 4)
    assert_allclose(value[1], likelihood.variational_expectations(None, mean + 1, variance, labels), rtol=1e-12)
    assert likelihood.log_prob(None, stacked, labels).shape == (2, 4)


def test_a_wrong_number_of_latent_functions_is_refused(likelihood: ClassLikelihood, points: Points) -> None:
    mean, variance, labels = points(likelihood, 4)
    wrong = np.concatenate([mean, mean], axis=1)
    with pytest.raises(ValueError, match="incompatible"):
        likelihood.variational_expectations(None, wrong, np.concatenate([variance, variance], axis=1), labels)


def test_closed_form_gradients_equal_those_of_the_tape(likelihood: ClassLikelihood, points: Points) -> None:
    mean, variance, labels = points(likelihood)
    given_value, by_mean, by_variance = likelihood.expectation_gradients(mean, variance, labels)
    value, tape_mean, tape_variance = tape_gradients(likelihood, mean, variance, labels)
    assert_allclose(given_value, value, rtol=1e-14)
    assert_allclose(by_mean, tape_mean, rtol=1e-12)
    assert_allclose(by_variance, tape_variance, rtol=1e-12)


def take_enough_nodes(likelihood: ClassLikelihood) -> None:
    """The nodes of S move with the parameters, but its gradients are the integral's: equal where the rule is exact."""
    if isinstance(likelihood, MulticlassGaussianNoise):
        likelihood.quadrature_points = 100


def test_closed_form_gradients_equal_automatic_ones(likelihood: ClassLikelihood, points: Points) -> None:
    """Differentiate the value formula itself, past the gradients that are attached to it."""
    take_enough_nodes(likelihood)
    mean, variance, one_hot = likelihood._aligned(*points(likelihood))
    with tf.GradientTape() as tape:
        tape.watch([mean, variance])
        value, by_mean, of_variance = likelihood._expectation_and_gradients(mean, variance, one_hot)
    automatic_mean, automatic_variance = tape.gradient(value, [mean, variance])
    assert_allclose(by_mean, automatic_mean, rtol=1e-8, atol=1e-12)
    assert_allclose(of_variance, automatic_variance, **by_variance(likelihood, {"rtol": 1e-8, "atol": 1e-12}))


def test_gradients_equal_finite_differences(likelihood: ClassLikelihood, points: Points) -> None:
    take_enough_nodes(likelihood)
    mean, variance, labels = points(likelihood)
    _, by_mean, of_variance = likelihood.expectation_gradients(mean, variance, labels)
    step = 1e-5
    for latent in range(likelihood.num_latent):
        shift = np.zeros_like(mean)
        shift[:, latent] = step

        def value(m: np.ndarray, v: np.ndarray) -> np.ndarray:
            return likelihood.variational_expectations(None, m, v, labels).numpy()

        by_mean_here = (value(mean + shift, variance) - value(mean - shift, variance)) / (2 * step)
        by_variance_here = (value(mean, variance + shift) - value(mean, variance - shift)) / (2 * step)
        assert_allclose(by_mean[:, latent], by_mean_here, atol=2e-8)
        assert_allclose(of_variance[:, latent], by_variance_here, **by_variance(likelihood, {"atol": 2e-8}))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_overflows_at_extreme_means_and_variances(likelihood: ClassLikelihood, dtype: type) -> None:
    rng = np.random.default_rng(3)
    shape = (400, likelihood.num_latent)
    mean = rng.choice([-1000.0, -1.0, 0.0, 1e-3, 1000.0], size=shape).astype(dtype)
    variance = rng.choice([-1e-8, 0.0, 1e-12, 1e-6, 1.0, 1e6], size=shape).astype(dtype)
    labels = rng.integers(likelihood.num_classes, size=(400, 1))
    for tensor in tape_gradients(likelihood, mean, variance, labels):
        assert np.all(np.isfinite(tensor))
    assert np.all(np.isfinite(likelihood.predict_log_density(None, mean, variance, labels)))
    assert np.all(np.isfinite(likelihood.log_prob(None, mean, labels)))
    probabilities = likelihood.predict_probabilities(mean, variance)
    assert np.all(np.isfinite(probabilities))
    assert_allclose(tf.reduce_sum(probabilities, axis=1), 1.0, rtol=2e-6)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), spread=st.floats(0.0, 1000.0), size=st.floats(1e-12, 1e6))
def test_probabilities_are_probabilities(
    every_likelihood: list[ClassLikelihood], seed: int, spread: float, size: float
) -> None:
    rng = np.random.default_rng(seed)
    likelihood = every_likelihood[seed % len(every_likelihood)]
    mean = spread * rng.normal(size=(6, likelihood.num_latent))
    variance = size * rng.uniform(size=mean.shape)
    given_f = likelihood._class_probabilities(tf.constant(mean))
    for probabilities in (likelihood.predict_probabilities(mean, variance), given_f):
        assert np.all(probabilities >= 0.0)
        assert np.all(probabilities <= 1.0 + 1e-12)
        assert_allclose(tf.reduce_sum(probabilities, axis=1), 1.0, rtol=1e-12)


def draws_in(likelihood: ClassLikelihood) -> bool:
    """Whether draws take part, which are not the same for all classes."""
    return isinstance(likelihood, SoftmaxLikelihood | DirichletLikelihood | AugmentedSoftmax)


def test_renaming_the_classes_renames_everything(likelihood: ClassLikelihood, points: Points) -> None:
    mean, variance, labels = points(likelihood)
    labels = labels.astype(int)
    order = np.random.default_rng(1).permutation(likelihood.num_classes)
    renamed = np.argsort(order)[labels]
    if likelihood.num_latent == 1:  # the lead of the second class
        order, renamed, other = np.array([1, 0]), 1 - labels, -mean
        latent, sign = np.array([0]), -1
    else:
        latent, sign, other = order, 1, mean[:, order]
    sampled = likelihood.bound_name == "sampled" or (likelihood.objective == "predictive" and draws_in(likelihood))
    value, by_mean, of_variance = likelihood.expectation_gradients(mean, variance, labels)
    again = likelihood.expectation_gradients(other, variance[:, latent], renamed)
    tolerance = {"atol": 0.05} if sampled else {"rtol": 1e-9, "atol": 1e-10}
    assert_allclose(again[0], value, **tolerance)
    assert_allclose(again[1], sign * by_mean.numpy()[:, latent], **tolerance)
    assert_allclose(again[2], of_variance.numpy()[:, latent], **tolerance)
    predicted = likelihood.predict_probabilities(mean, variance).numpy()[:, order]
    found = likelihood.predict_probabilities(other, variance[:, latent])
    assert_allclose(found, predicted, atol=0.01 if draws_in(likelihood) else 1e-9)


def test_latent_functions_that_say_nothing_give_every_class_its_share(likelihood: ClassLikelihood) -> None:
    shape = (3, likelihood.num_latent)
    variance = np.broadcast_to([[1e-6], [1.0], [20.0]], shape)
    found = likelihood.predict_probabilities(np.zeros(shape), variance)
    assert_allclose(found, 1 / likelihood.num_classes, atol=0.01 if draws_in(likelihood) else 1e-6)


def test_full_natural_steps_end_where_the_bound_has_no_slope(likelihood: ClassLikelihood) -> None:
    """Where the bound is concave, Λ = I + Σ w a aᵀ and Λ m = Σ (g + w μ) a have a fixed point: its maximum in m."""
    if not likelihood.concave:
        pytest.skip("its natural steps need care")
    rng = np.random.default_rng(2)
    L, C = likelihood.num_latent, likelihood.num_classes
    A, labels = 0.4 * rng.normal(size=(5, 40)), rng.integers(C, size=(40, 1)).astype(float)
    m, S, left = np.zeros((5, L)), np.tile(np.eye(5), (L, 1, 1)), 0.3

    for _ in range(40):
        variance = left + np.einsum("in,cij,jn->nc", A, S, A)
        _, by_mean, of_variance = likelihood.expectation_gradients(A.T @ m, variance, labels)
        g, w, before = by_mean.numpy(), -2 * of_variance.numpy(), (m, S)
        S = np.linalg.inv(np.eye(5) + np.einsum("in,nc,jn->cij", A, w, A))
        m = np.einsum("cij,jn,nc->ic", S, A, g + w * (A.T @ m))
    assert_allclose(A @ g - before[0], 0.0, atol=1e-5)
    assert_allclose(m, before[0], atol=1e-5)
    assert_allclose(S, before[1], atol=1e-5)


def test_log_densities_are_the_logarithms_of_the_probabilities(likelihood: ClassLikelihood, points: Points) -> None:
    mean, variance, labels = points(likelihood)
    rows, index = np.arange(len(labels)), labels[:, 0].astype(int)
    predicted = likelihood.predict_probabilities(mean, variance).numpy()[rows, index]
    assert_allclose(likelihood.predict_log_density(None, mean, variance, labels), np.log(predicted), rtol=1e-12)
    given_f = likelihood._class_probabilities(tf.constant(mean)).numpy()[rows, index]
    assert_allclose(likelihood.log_prob(None, mean, labels), np.log(given_f), rtol=1e-10)


def test_without_variance_the_prediction_is_the_likelihood(likelihood: ClassLikelihood, points: Points) -> None:
    mean, variance, labels = points(likelihood)
    predicted = likelihood.predict_log_density(None, mean, 0 * variance, labels)
    assert_allclose(predicted, likelihood.log_prob(None, mean, labels), atol=1e-5)


def test_label_moments_are_those_of_the_class_index(likelihood: ClassLikelihood, points: Points) -> None:
    mean, variance, _ = points(likelihood)
    label_mean, label_variance = likelihood.predict_mean_and_var(None, mean, variance)
    probabilities = likelihood.predict_probabilities(mean, variance).numpy()
    index = np.arange(likelihood.num_classes)
    assert_allclose(label_mean[:, 0], probabilities @ index)
    assert_allclose(label_variance[:, 0], probabilities @ index**2 - (probabilities @ index) ** 2)
    assert_array_equal(likelihood.conditional_mean(None, mean).shape, (len(mean), 1))
    assert_array_equal(likelihood.conditional_variance(None, mean).shape, (len(mean), 1))


def test_a_gpflow_svgp_takes_it(likelihood: ClassLikelihood) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 2)), rng.integers(likelihood.num_classes, size=(20, 1)).astype(float)
    model = gpflow.models.SVGP(
        gpflow.kernels.SquaredExponential(), likelihood, X[:5].copy(), num_latent_gps=likelihood.num_latent
    )

    with tf.GradientTape() as tape:
        loss = model.training_loss((X, Y))
    slopes = tape.gradient(loss, model.trainable_variables)
    assert np.isfinite(loss)
    assert all(np.all(np.isfinite(slope)) for slope in slopes)
    assert model.predict_log_density((X, Y)).shape == (20,)
