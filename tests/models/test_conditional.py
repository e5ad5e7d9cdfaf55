"""The fused marginals and their hand-written adjoint, against plain formulas differentiated by the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gpcnoise_cli.models.conditional import (
    adjoint,
    covariance_offset,
    fused_marginals,
    inverse_cholesky,
    inverse_of_triangular,
    marginals,
    whitened_features,
)


class Inputs(NamedTuple):
    K_mm: tf.Tensor
    K_nm: tf.Tensor
    k_diag: tf.Tensor
    q_mu: tf.Tensor
    q_sqrt: tf.Tensor


def draw(seed: int, m: int, rows: int, classes: int, per_class: bool = False) -> tuple[Inputs, tf.Tensor, tf.Tensor]:
    """Matrices of one real kernel or of one per class, a random q(u), and random derivatives in μ and ν."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(m + rows, 2))
    lengthscales = 1.0 + 0.2 * np.arange(classes if per_class else 1)
    K = 2.0 * np.exp(-0.5 * np.square(points[:, None] - points[None]).sum(-1) / lengthscales[:, None, None] ** 2)
    K[:, :m, :m] += 0.05 * np.eye(m)
    q_sqrt = np.tril(0.4 * rng.normal(size=(classes, m, m))) + np.eye(m)
    diagonal = np.diagonal(K, axis1=1, axis2=2)[:, m:]
    arrays = K[:, :m, :m], K[:, m:, :m], diagonal, rng.normal(size=(m, classes)), q_sqrt
    d_mu, d_nu = rng.normal(size=(2, rows, classes))
    return Inputs(*(tf.constant(array) for array in arrays)), tf.constant(d_mu), tf.constant(d_nu)


def naive_marginals(x: Inputs) -> tuple[tf.Tensor, tf.Tensor]:
    """Eq. of q(f) for whitened q(u), class by class, nothing shared: μ = Aᵀm, ν = k − Aᵀ(I − S)A."""
    mu, nu = [], []
    for c in range(x.q_sqrt.shape[0]):
        k = c if x.K_mm.shape[0] > 1 else 0
        A = tf.linalg.triangular_solve(tf.linalg.cholesky(x.K_mm[k]), tf.transpose(x.K_nm[k]))
        root = tf.linalg.band_part(x.q_sqrt[c], -1, 0)
        covariance = tf.transpose(A) @ (root @ tf.transpose(root) - tf.eye(A.shape[0], dtype=A.dtype)) @ A
        mu.append(tf.linalg.matvec(A, x.q_mu[:, c], transpose_a=True))
        nu.append(x.k_diag[k] + tf.linalg.diag_part(covariance))
    return tf.stack(mu, axis=1), tf.stack(nu, axis=1)


def tape_gradients(function: Callable, x: Inputs, d_mu: tf.Tensor, d_nu: tf.Tensor) -> list[tf.Tensor]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        mu, nu = function(x)
        value = tf.reduce_sum(mu * d_mu) + tf.reduce_sum(nu * d_nu)
    return tape.gradient(value, list(x))


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**31),
        "m": st.integers(1, 7),
        "rows": st.sampled_from([1, 2, 6, 30]),  # fewer and more than m times the classes: two ways to one result
        "classes": st.integers(1, 4),
        "per_class": st.booleans(),
    }
)


@settings(max_examples=25)
@given(shape=shapes)
def test_marginals_and_adjoint_equal_the_plain_formulas_under_the_tape(shape: dict) -> None:
    x, d_mu, d_nu = draw(**shape)
    for ours, plain in zip(fused_marginals(*x), naive_marginals(x), strict=True):
        assert_allclose(ours, plain, rtol=1e-10, atol=1e-12)
    by_hand = tape_gradients(lambda x: fused_marginals(*x), x, d_mu, d_nu)
    automatic = tape_gradients(naive_marginals, x, d_mu, d_nu)
    # Of a gradient in the symmetric K_mm only the symmetric part counts; TensorFlow's is symmetric already.
    by_hand[0] = (by_hand[0] + tf.linalg.matrix_transpose(by_hand[0])) / 2
    for name, ours, theirs in zip(Inputs._fields, by_hand, automatic, strict=True):
        size = np.max(np.abs(theirs))
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11 * size, err_msg=name)


@settings(max_examples=10)
@given(shape=shapes)
def test_the_adjoint_equals_finite_differences(shape: dict) -> None:
    """Along one random direction of all inputs at once; the error of a central difference at 1e-5 is about 1e-9."""
    x, d_mu, d_nu = draw(**shape)
    rng = np.random.default_rng(shape["seed"] + 1)
    direction = [tf.constant(rng.normal(size=t.shape)) for t in x]
    direction[0] = direction[0] + tf.linalg.matrix_transpose(direction[0])
    direction[4] = tf.linalg.band_part(direction[4], -1, 0)

    def value(step: float) -> float:
        mu, nu = fused_marginals(*(t + 1e-3 * step * s for t, s in zip(x, direction, strict=True)))
        return float(tf.reduce_sum(mu * d_mu) + tf.reduce_sum(nu * d_nu))

    slopes = tape_gradients(lambda x: fused_marginals(*x), x, d_mu, d_nu)
    expected = 1e-3 * sum(float(tf.reduce_sum(g * s)) for g, s in zip(slopes, direction, strict=True))
    terms = 1e-3 * sum(float(tf.reduce_sum(tf.abs(g * s))) for g, s in zip(slopes, direction, strict=True))
    assert_allclose((value(1e-2) - value(-1e-2)) / 2e-2, expected, rtol=1e-6, atol=1e-6 * terms)


def test_the_upper_triangle_of_the_factor_gets_no_gradient() -> None:
    x, d_mu, d_nu = draw(3, 6, 5, 3)
    slope = tape_gradients(lambda x: fused_marginals(*x), x, d_mu, d_nu)[4]
    assert np.all(np.triu(slope, 1) == 0.0)


def test_the_curvature_is_the_gradient_by_the_covariance() -> None:
    """`Adjoints.S` is ∂/∂S_c, what a natural-gradient step needs: A diag(∂ν^c) Aᵀ."""
    x, d_mu, d_nu = draw(4, 5, 7, 3)
    forward = marginals(x.K_mm, x.K_nm, x.k_diag, x.q_mu, covariance_offset(x.q_sqrt, tf.float64))
    back = adjoint(forward, x.q_mu, d_mu, d_nu)
    A = np.linalg.solve(np.linalg.cholesky(x.K_mm[0]), tf.transpose(x.K_nm[0]))
    for c in range(3):
        assert_allclose(back.S[c], A @ np.diag(d_nu[:, c]) @ A.T, rtol=1e-9, atol=1e-12)


def test_float32_blocks_beside_a_float64_kernel_matrix_come_close_to_float64() -> None:
    x, d_mu, d_nu = draw(5, 6, 8, 3)
    single = x._replace(K_nm=tf.cast(x.K_nm, tf.float32), k_diag=tf.cast(x.k_diag, tf.float32))
    mu, nu = fused_marginals(*single)
    assert mu.dtype == nu.dtype == tf.float32
    for low, high in zip((mu, nu), fused_marginals(*x), strict=True):
        assert_allclose(low, high, rtol=2e-5, atol=2e-5)
    slopes = tape_gradients(lambda x: fused_marginals(*x), single, tf.cast(d_mu, tf.float32), tf.cast(d_nu, tf.float32))
    assert [g.dtype for g in slopes] == [tf.float64, tf.float32, tf.float32, tf.float64, tf.float64]
    for low, high in zip(slopes, tape_gradients(lambda x: fused_marginals(*x), x, d_mu, d_nu), strict=True):
        assert_allclose(low, high, rtol=1e-3, atol=1e-4 * np.max(np.abs(high)))


def test_a_badly_conditioned_kernel_matrix_does_not_spoil_the_gradient_in_mixed_precision() -> None:
    """By the variance, with a condition of 1e7: off by less than 2e-4, where a solve in float32 is off by 1e-3."""

    def parts(seed: int, work: tf.DType) -> np.ndarray:
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(500, 2))
        K = np.exp(-0.5 * np.square(points[:, None] - points[:200]).sum(-1))[None]
        K_mm, K_nm = tf.constant(K[:, :200] + 1e-6 * np.eye(200)), tf.constant(K[:, 200:], work)
        root = tf.constant(np.tril(0.02 * rng.normal(size=(1, 200, 200))) + 0.5 * np.eye(200))
        mean = tf.constant(rng.normal(size=(200, 1)))
        d_mu, d_nu = tf.constant(10 * rng.normal(size=(300, 1)), work), tf.constant(-5 * rng.random((300, 1)), work)
        forward = marginals(K_mm, K_nm, tf.ones([1, 300], work), mean, covariance_offset(root, work))
        back = adjoint(forward, mean, d_mu, d_nu)
        slopes = (back.K_mm, K[:, :200]), (back.K_nm, K[:, 200:]), (back.k_diag, 1.0)
        return np.array([np.sum(np.asarray(slope, np.float64) * by) for slope, by in slopes])

    errors = []
    for seed in range(4):
        mixed, exact = parts(seed, tf.float32), parts(seed, tf.float64)
        errors.append(abs(np.sum(mixed - exact)) / np.sum(np.abs(exact)))
    assert np.mean(errors) < 2e-4


@pytest.mark.parametrize("m", [1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_the_inverse_of_a_cholesky_factor_by_halves(batch: tuple[int, ...], m: int) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(*batch, m, 3))
    K = np.exp(-0.5 * np.square(points[..., :, None, :] - points[..., None, :, :]).sum(-1)) + 1e-4 * np.eye(m)
    found = inverse_cholesky(tf.constant(K)).numpy()
    assert_allclose(found, np.linalg.inv(np.linalg.cholesky(K)), rtol=1e-9, atol=1e-9)
    assert np.all(np.triu(found, 1) == 0.0)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_the_inverse_of_a_triangular_matrix(batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    L = np.tril(rng.normal(size=(*batch, 5, 5))) + 3 * np.eye(5)
    assert_allclose(inverse_of_triangular(tf.constant(L)) @ L, np.broadcast_to(np.eye(5), L.shape), atol=1e-14)


@pytest.mark.parametrize("per_class", [False, True])
def test_features_and_their_gradients_are_those_of_the_plain_formula(per_class: bool) -> None:
    x, _, _ = draw(0, m=7, rows=9, classes=3, per_class=per_class)
    upstream = tf.constant(np.random.default_rng(1).normal(size=x.K_nm.shape))

    def plain(K_mm: tf.Tensor, K_nm: tf.Tensor) -> tf.Tensor:
        L = tf.linalg.cholesky(K_mm)
        return tf.linalg.matrix_transpose(tf.linalg.triangular_solve(L, tf.linalg.matrix_transpose(K_nm)))

    found = []
    for function in (whitened_features, plain):
        with tf.GradientTape() as tape:
            tape.watch([x.K_mm, x.K_nm])
            A = function(x.K_mm, x.K_nm)
        by_mm, by_nm = tape.gradient(A, [x.K_mm, x.K_nm], upstream)
        found.append((A, by_mm + tf.linalg.matrix_transpose(by_mm), by_nm))  # only the symmetric part counts
    for ours, theirs in zip(*found, strict=True):
        assert_allclose(ours, theirs, atol=1e-9)
