"""What a configuration asks for is what the model is."""

from __future__ import annotations

from collections.abc import Callable

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.models.build import build_model, precision_context, shares_kernel
from gpcnoise_cli.models.inducing import start_inducing_points
from gpcnoise_cli.models.kernels import start_lengthscale


def test_a_whitened_model_with_a_standard_normal_q_on_the_centres(split: Callable[..., Split]) -> None:
    data = split(3)
    model = build_model(compose(["likelihood=softmax", "inducing=6", "seed=3"]), data.X_train, 3)
    assert isinstance(model, gpflow.models.SVGP)
    assert model.whiten
    assert model.num_data == data.n_train
    assert_array_equal(model.Z, start_inducing_points(data.X_train, 6, seed=3))
    assert_array_equal(model.q_mu, np.zeros((6, 3)))
    assert_array_equal(model.q_sqrt, np.tile(np.eye(6), (3, 1, 1)))
    assert float(model.prior_kl()) == 0.0


@pytest.mark.parametrize(
    ("likelihood", "classes", "latent"), [("step", 2, 1), ("probit", 3, 3), ("softmax", 2, 2), ("softmax", 3, 3)]
)
def test_two_classes_under_gaussian_noise_need_one_latent_function(
    split: Callable[..., Split], likelihood: str, classes: int, latent: int
) -> None:
    model = build_model(compose([f"likelihood={likelihood}", "inducing=4"]), split(classes).X_train, classes)
    assert model.num_latent_gps == latent


def test_lengthscale_starts(split: Callable[..., Split]) -> None:
    X = split(3).X_train
    starts = {
        "paper": 0.1 * np.sqrt(2),
        "data": start_lengthscale("data", X),
    }
    for start, expected in starts.items():
        model = build_model(compose([f"kernel.lengthscale_start={start}", "kernel.shared=true", "inducing=4"]), X, 3)
        assert_allclose(model.kernel.lengthscales, expected)
    options = ["kernel.lengthscale=0.77", "kernel.variance=3", "kernel.shared=true", "inducing=4"]
    explicit = build_model(compose(options), X, 3)
    assert_allclose(explicit.kernel.lengthscales, 0.77)
    assert_allclose(explicit.kernel.variance, 3.0)


def test_one_kernel_or_one_per_class(split: Callable[..., Split]) -> None:
    X = split(3).X_train
    shared = build_model(compose(["likelihood=softmax", "inducing=4", "kernel.shared=true"]), X, 3)
    separate = build_model(compose(["likelihood=softmax", "inducing=4", "kernel.shared=false"]), X, 3)
    binary = build_model(compose(["likelihood=probit", "inducing=4", "kernel.shared=false"]), split(2).X_train, 2)
    assert shared.shares_kernel
    assert not separate.shares_kernel
    assert len(separate.kernel.latent_kernels) == 3
    assert separate.kernel.stack.lengthscales.shape == (3, 2)
    assert binary.shares_kernel
    assert_allclose(separate.elbo((X, split(3).y_train[:, None])), shared.elbo((X, split(3).y_train[:, None])))


@pytest.mark.parametrize(
    ("precision", "exact", "work"),
    [("mixed", tf.float64, tf.float32), ("float64", tf.float64, tf.float64), ("float32", tf.float32, tf.float32)],
)
def test_precisions(split: Callable[..., Split], precision: str, exact: tf.DType, work: tf.DType) -> None:
    model = build_model(compose([f"runtime.precision={precision}", "inducing=4"]), split(3).X_train, 3)
    assert {v.dtype for v in model.trainable_variables} == {exact}
    with precision_context(precision):
        assert {t.dtype for t in model.marginals(tf.constant(split(3).X_test))} == {work}
    assert gpflow.default_float() == np.float64


def test_delta_and_noise_come_from_the_configuration(split: Callable[..., Split]) -> None:
    options = ["likelihood=probit", "likelihood.noise_variance=0.7", "delta=fixed", "delta.value=0.05", "inducing=4"]
    model = build_model(compose(options), split(3).X_train, 3)
    assert model.likelihood.noise_variance == 0.7
    assert model.delta_value() == pytest.approx(0.05, rel=1e-12)
    assert not model.likelihood.trainable_variables
    assert build_model(compose(["likelihood=softmax", "inducing=4"]), split(3).X_train, 3).delta_value() is None


@pytest.mark.parametrize("name", ["rbf", "matern32", "matern52", "matern52+rbf"])
def test_on_the_log_scale_a_step_is_a_part_of_the_value(split: Callable[..., Split], name: str) -> None:
    X = split(3).X_train
    for log_scale in (True, False):
        overrides = ["likelihood=probit", f"kernel={name}", "inducing=4", f"kernel.log_scale={log_scale}"]
        for parameter in build_model(compose([*overrides, "kernel.variance=50"]), X, 3).kernel.trainable_parameters:
            before = parameter.numpy()
            parameter.unconstrained_variable.assign(parameter.unconstrained_variable + 0.1)
            moved = before * np.exp(0.1) if log_scale else np.logaddexp(0, np.log(np.expm1(before)) + 0.1)
            assert_allclose(parameter.numpy(), moved)


def test_where_nothing_is_said_few_classes_have_a_kernel_each_and_many_share_one() -> None:
    auto = ["kernel.shared=null", "kernel.few_classes=4"]
    assert [shares_kernel(compose(auto), classes) for classes in (2, 4, 5)] == [False, False, True]
    assert shares_kernel(compose([*auto, "likelihood=step"]), 2)  # a single latent function


def test_only_the_fast_softmax_moves_its_kernel_by_logarithms() -> None:
    def log_scale(preset: str, likelihood: str) -> bool:
        return compose([f"preset={preset}", f"likelihood={likelihood}"]).kernel.log_scale

    assert log_scale("fast", "softmax")
    assert not any(log_scale(*pair) for pair in (("paper", "softmax"), ("fast", "step"), ("fast", "probit")))


@pytest.mark.parametrize("bound", ["gumbel", "tilted"])
def test_equal_kernels_of_two_classes_would_stay_equal_so_they_start_apart(
    split: Callable[..., Split], bound: str
) -> None:
    data = split(2)

    def gradients(apart: float) -> np.ndarray:
        options = ["likelihood=softmax", f"likelihood.bound={bound}", "kernel.shared=false", "kernel.ard=true"]
        config = compose([*options, f"kernel.apart={apart}", "inducing=6", "runtime.precision=float64"])
        with precision_context("float64"):
            model = build_model(config, data.X_train, 2)
            mean = np.random.default_rng(0).normal(size=6)
            model.q_mu.assign(np.stack([mean, -mean], axis=1))  # as every step leaves it
            with tf.GradientTape() as tape:
                elbo = model.elbo((tf.constant(data.X_train, tf.float64), tf.constant(data.y_train[:, None])))
            return tape.gradient(elbo, model.kernel.stack.lengthscales.unconstrained_variable).numpy()

    equal, apart = gradients(0.0), gradients(0.1)
    assert_allclose(equal[0], equal[1], rtol=1e-9)
    assert np.all(np.abs(apart[0] - apart[1]) > 1e-3 * np.abs(apart[0]))


def test_only_two_classes_with_a_kernel_each_start_apart(split: Callable[..., Split]) -> None:
    def lengthscales(classes: int, *options: str) -> np.ndarray:
        config = compose(["preset=fast", "inducing=4", "kernel.lengthscale=2", *options])
        kernel = build_model(config, split(classes).X_train, classes).kernel
        return np.asarray(getattr(kernel, "stack", kernel).lengthscales)

    two = lengthscales(2)
    assert_allclose(two[0] * two[1], 4.0)
    assert 0 < np.max(np.abs(np.log(two / 2))) < 1.5
    assert_array_equal(two, lengthscales(2))
    assert np.all(two != lengthscales(2, "seed=1"))
    for other in (lengthscales(3), lengthscales(2, "kernel.shared=true"), lengthscales(2, "preset=paper")):
        assert_allclose(other, 2.0)
