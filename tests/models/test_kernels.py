"""Kernels by name with the paper's start values, and the view of a kernel in another precision."""

from __future__ import annotations

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.models.kernels import (
    KERNELS,
    RBF,
    Matern32,
    Matern52,
    PerClass,
    build_kernel,
    covariances,
    in_dtype,
    start_lengthscale,
    tell_apart,
)

CLASSES = {"rbf": RBF, "matern32": Matern32, "matern52": Matern52}


def test_the_papers_start_is_a_tenth_of_the_root_of_d() -> None:
    assert start_lengthscale("paper", np.zeros((3, 16))) == pytest.approx(0.4)


def test_the_data_driven_start_is_the_median_distance() -> None:
    X = np.random.default_rng(0).normal(size=(300, 7))
    distances = np.sqrt(np.square(X[:, None] - X[None]).sum(-1))[np.triu_indices(300, 1)]
    assert start_lengthscale("data", X) == pytest.approx(np.median(distances), rel=1e-10)


def test_a_large_set_is_sampled_the_same_way_every_time() -> None:
    X = np.random.default_rng(0).normal(size=(5000, 3))
    start = start_lengthscale("data", X, seed=3)
    assert start == start_lengthscale("data", X, seed=3)
    assert start == pytest.approx(start_lengthscale("data", X, seed=4), rel=0.1)
    assert start == pytest.approx(start_lengthscale("data", X.astype(np.float32), seed=3), rel=1e-5)


@pytest.mark.parametrize("X", [np.ones((5, 9)), np.ones((1, 9))], ids=["equal rows", "one row"])
def test_where_there_are_no_distances_the_root_of_d_stands_in(X: np.ndarray) -> None:
    assert start_lengthscale("data", X) == pytest.approx(3.0)


@pytest.mark.parametrize("name", CLASSES)
def test_single_kernels_start_at_variance_five(name: str) -> None:
    kernel = build_kernel(name, 4, lengthscale=0.2)
    assert type(kernel) is CLASSES[name]
    assert kernel.variance.numpy() == pytest.approx(5.0)
    assert kernel.lengthscales.numpy() == pytest.approx(0.2)


def test_the_sum_starts_its_smooth_part_at_the_root_of_d() -> None:
    kernel = build_kernel("matern52+rbf", 9, lengthscale=0.3, ard=True)
    rough, smooth = kernel.kernels
    assert (type(rough), type(smooth)) == (Matern52, RBF)
    assert_allclose(rough.lengthscales, np.full(9, 0.3))
    assert_allclose(smooth.lengthscales, np.full(9, 3.0))
    assert rough.variance.numpy() == pytest.approx(5.0)
    assert smooth.variance.numpy() == pytest.approx(5.0)


@pytest.mark.parametrize("name", KERNELS)
def test_ard_gives_each_input_its_own_lengthscale(name: str) -> None:
    shapes = {
        ard: {tuple(p.shape) for key, p in gpflow.utilities.parameter_dict(kernel).items() if "lengthscales" in key}
        for ard in (False, True)
        for kernel in [build_kernel(name, 4, lengthscale=0.2, ard=ard)]
    }
    assert shapes == {False: {()}, True: {(4,)}}


def test_an_unknown_kernel_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'matern52'"):
        build_kernel("matern5", 2, lengthscale=1.0)


@pytest.mark.parametrize("name", KERNELS)
def test_a_view_in_float32_computes_there_and_its_gradients_reach_the_parameters(name: str) -> None:
    kernel = build_kernel(name, 2, lengthscale=0.7, ard=True)
    X = np.random.default_rng(0).normal(size=(5, 2))

    def gradients(kernel_in_use: gpflow.kernels.Kernel, inputs: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        value = kernel_in_use(inputs)
        return value, tf.reduce_sum(value * tf.cast(tf.range(25), value.dtype)[:, None, None][:5, :, 0])

    with tf.GradientTape(persistent=True) as tape:
        exact, weighted = gradients(kernel, tf.constant(X))
        low, weighted_low = gradients(in_dtype(kernel, tf.float32), tf.constant(X, tf.float32))
    assert low.dtype == tf.float32
    assert_allclose(low, exact, rtol=1e-5, atol=1e-6)
    expected = tape.gradient(weighted, kernel.trainable_variables)
    reached = tape.gradient(weighted_low, kernel.trainable_variables)
    for ours, theirs in zip(reached, expected, strict=True):
        assert ours.dtype == tf.float64
        assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_view_leaves_the_kernel_as_it_was() -> None:
    kernel = build_kernel("matern52+rbf", 2, lengthscale=0.7)
    before = gpflow.utilities.read_values(kernel)
    in_dtype(kernel, tf.float32)(tf.ones([2, 2]))
    assert gpflow.utilities.read_values(kernel) == before
    assert all(isinstance(part.variance, gpflow.Parameter) for part in kernel.kernels)
    assert {v.dtype for v in kernel.trainable_variables} == {tf.float64}


@pytest.mark.parametrize("lengthscales", [0.7, [0.7], [0.4, 1.5, 3.0]], ids=["one", "one in a list", "ard"])
@pytest.mark.parametrize("second", [True, False], ids=["two sets", "one set"])
def test_our_rbf_is_gpflows_with_every_gradient(lengthscales: float | list[float], second: bool) -> None:
    rng = np.random.default_rng(0)
    X, Z = tf.constant(rng.normal(size=(6, 4))), tf.constant(rng.normal(size=(5, 4)))
    weights = tf.constant(rng.normal(size=(6, 5 if second else 6)))
    found = []
    for kind in (RBF, gpflow.kernels.RBF):
        kernel = kind(variance=2.5, lengthscales=lengthscales, active_dims=[0, 1, 3] if lengthscales != [0.7] else None)
        with tf.GradientTape() as tape:
            tape.watch([X, Z])
            K = kernel(X, Z) if second else kernel(X)
            value = tf.reduce_sum(weights * K)
        inputs = [X, Z] if second else [X]
        found.append([K, *tape.gradient(value, [*inputs, *kernel.trainable_variables])])
    for ours, theirs in zip(*found, strict=True):
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def test_our_rbf_takes_several_sets_of_rows_as_gpflows_does() -> None:
    X = tf.constant(np.random.default_rng(2).normal(size=(2, 5, 3)))
    ours, theirs = (kind(variance=2.5, lengthscales=[0.4, 1.5, 3.0]) for kind in (RBF, gpflow.kernels.RBF))
    assert_allclose(ours(X), theirs(X), rtol=1e-12)
    assert_allclose(ours(X, X[0, :2]), theirs(X, X[0, :2]), rtol=1e-12)


def test_our_rbf_in_float32_stays_close_where_the_inputs_are_far_from_zero() -> None:
    """The exponent is a small difference of large numbers: at |x| = 10 lengthscales float32 leaves about 1e-5."""
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(2, 40, 4)) * 3 + 5
    kernel = build_kernel("rbf", 4, lengthscale=1.0, variance=2.0)
    low = in_dtype(kernel, tf.float32)(tf.constant(X, tf.float32), tf.constant(Z, tf.float32))
    assert low.dtype == tf.float32
    assert_allclose(low, kernel(X, Z), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_short_lengthscales_cost_no_digits_in_float32(name: str) -> None:
    """One feature, far from zero and close together in lengthscales: |x|² is 1e8 times |x − z|²."""
    kernel = build_kernel(name, 1, lengthscale=1e-3, variance=2.0)
    X = 5.0 + 1e-3 * np.random.default_rng(0).normal(size=(40, 1))
    exact = kernel(tf.constant(X), tf.constant(X[:7])).numpy()
    low = covariances(kernel, tf.constant(X), tf.constant(X[:7]), tf.float32)[0].numpy()
    assert low.dtype == np.float32
    assert_allclose(low, exact, rtol=0, atol=2.0 * 2e-6 if "matern" in name else 2.0 * 2e-7)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("ard", [False, True])
def test_a_stack_of_kernels_is_each_of_them(name: str, ard: bool) -> None:
    rng = np.random.default_rng(0)
    stack = PerClass(build_kernel(name, 2, lengthscale=0.7, ard=ard), 3)
    for parameter in gpflow.utilities.parameter_dict(stack).values():
        parameter.assign(rng.uniform(0.5, 2.0, size=parameter.shape))
    X, Z = tf.constant(rng.normal(size=(5, 2))), tf.constant(rng.normal(size=(4, 2)))
    together = covariances(stack, X, Z, tf.float64)
    assert together.shape == (3, 5, 4)
    for one, kernel in zip(together, stack.latent_kernels, strict=True):
        assert_allclose(one, kernel(X, Z), rtol=1e-13)
    assert stack.num_latent_gps == 3
    assert len({float(tf.reduce_sum(one)) for one in together}) == 3


def test_gpflow_sees_separate_kernels_in_a_stack() -> None:
    stack = PerClass(build_kernel("rbf", 2, lengthscale=0.7), 3)
    names = gpflow.utilities.parameter_dict(stack)
    assert set(names) == {".stack.variance", ".stack.lengthscales"}
    assert len(stack.trainable_variables) == 2
    X = np.random.default_rng(0).normal(size=(4, 2))
    assert_allclose(stack(X, full_cov=False, full_output_cov=False), np.full((4, 3), 5.0))


@pytest.mark.parametrize("name", ["rbf", "matern52+rbf"])
def test_inputs_of_one_column_share_a_lengthscale(name: str) -> None:
    """Their gradient is that of the single lengthscale, so that they stay equal; other inputs are as without."""
    rng = np.random.default_rng(0)
    X = tf.constant(rng.normal(size=(6, 4)))
    columns = ("state", "size", "state", "state")
    tied = build_kernel(name, 4, lengthscale=0.8, ard=True, columns=columns)
    free = build_kernel(name, 4, lengthscale=0.8, ard=True)
    stack = PerClass(tied, 2)
    found = []
    for kernel in (tied, free, stack):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(covariances(kernel, X, X[:3], tf.float64)))
        part = getattr(kernel, "stack", kernel)
        part = getattr(part, "kernels", [part])[0]
        found.append(tape.gradient(loss, part.lengthscales.unconstrained_variable).numpy())
    of_tied, of_free, of_stack = found
    together = of_free[[0, 2, 3]].sum()
    assert_allclose(of_tied, [together, of_free[1], together, together])
    assert_allclose(of_stack, np.tile(of_tied, (2, 1)))


def test_tied_lengthscales_start_apart_together() -> None:
    stack = PerClass(build_kernel("matern52+rbf", 4, lengthscale=0.8, ard=True, columns=tuple("abaa")), 2)
    tell_apart(stack, 0.1, seed=0)
    for part in stack.stack.kernels:
        values = part.lengthscales.numpy()
        assert_allclose(values[:, 2:], values[:, :1] * np.ones((1, 2)))
        assert np.all(values[:, 0] != values[:, 1])
        assert np.all(values[0] != values[1])


def test_columns_of_one_feature_each_tie_nothing() -> None:
    assert build_kernel("rbf", 2, lengthscale=1.0, ard=True, columns=("a", "b")).ties is None
    assert build_kernel("rbf", 2, lengthscale=1.0, ard=False, columns=("a", "a")).ties is None
