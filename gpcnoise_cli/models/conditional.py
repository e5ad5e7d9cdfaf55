"""The marginals of q(f) for all classes at once, with a hand-written adjoint.

For whitened q(u^c) = N(m^c, S^c) and A = L⁻¹K_mn (L the Cholesky factor of K_mm), the marginals of eq_qf_qg_multiclass
are μ^c = Aᵀm^c and ν^c = k + colsum(A ∘ P_c A) with P_c = S^c − I. All P_c are stacked, so the C classes cost one
matrix product. The adjoint keeps P_c A: it yields ∂A without a further product, and A diag(∂ν^c) Aᵀ, which is both the
gradient in S^c and the curvature that a natural-gradient step needs. Nothing is differentiated through the Cholesky
factor: with ∂A known, ∂K_mm = sym(L⁻ᵀ Φ(−∂A Aᵀ) L⁻¹), Φ taking the lower triangle and halving the diagonal.

The m×m work is done in the dtype of K_mm, the m×B work in the dtype of K_mn; `mixed` precision is float64 for the
first and float32 for the second. docs/performance.md derives the formulas.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf


class Marginals(NamedTuple):
    """What the forward pass found, and what the adjoint reuses."""

    mu: tf.Tensor  # [C, B]
    nu: tf.Tensor  # [C, B]
    A: tf.Tensor  # [m, B]
    P: tf.Tensor  # [C, m, m]
    PA: tf.Tensor  # [C, m, B]
    L_inverse: tf.Tensor  # [m, m], in the dtype of K_mm


class Adjoints(NamedTuple):
    """Derivatives of a scalar, given its derivatives in μ and ν."""

    K_mm: tf.Tensor  # [m, m]
    K_mn: tf.Tensor  # [m, B]
    k_diag: tf.Tensor  # [B]
    q_mu: tf.Tensor  # [m, C], in the dtype of K_mn
    S: tf.Tensor  # [C, m, m]: A diag(∂ν^c) Aᵀ, in the dtype of K_mn


def inverse_of_triangular(L: tf.Tensor) -> tf.Tensor:
    """L⁻¹ for a (batch of) lower triangular L."""
    return tf.linalg.triangular_solve(L, tf.eye(tf.shape(L)[-1], batch_shape=tf.shape(L)[:-2], dtype=L.dtype))


def covariance_offset(q_sqrt: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """P_c = S^c − I from the Cholesky factors of S^c, in `dtype`."""
    root = tf.cast(q_sqrt, dtype)
    S = tf.matmul(root, root, transpose_b=True)
    return tf.linalg.set_diag(S, tf.linalg.diag_part(S) - 1)


def marginals(K_mm: tf.Tensor, K_mn: tf.Tensor, k_diag: tf.Tensor, q_mu: tf.Tensor, P: tf.Tensor) -> Marginals:
    """Means and variances of every class at every column of K_mn; P is [C, m, m] in the dtype of K_mn."""
    work = K_mn.dtype
    L = tf.linalg.cholesky(K_mm)
    L_inverse = inverse_of_triangular(L)
    # In float64 the solve is as fast as the product and loses no digit; in float32 the product wins by far.
    A = tf.linalg.triangular_solve(L, K_mn) if work == K_mm.dtype else tf.matmul(tf.cast(L_inverse, work), K_mn)
    num_classes, m = tf.shape(P)[0], tf.shape(P)[1]
    PA = tf.reshape(tf.matmul(tf.reshape(P, [num_classes * m, m]), A), [num_classes, m, -1])
    mu = tf.matmul(tf.cast(q_mu, work), A, transpose_a=True)
    nu = k_diag + tf.reduce_sum(A * PA, axis=1)
    return Marginals(mu, nu, A, P, PA, L_inverse)


def adjoint(forward: Marginals, q_mu: tf.Tensor, d_mu: tf.Tensor, d_nu: tf.Tensor) -> Adjoints:
    """Pull [C, B] derivatives in μ and ν back to the kernel matrices and to q(u)."""
    A, PA, L_inverse = forward.A, forward.PA, forward.L_inverse
    work, exact = A.dtype, L_inverse.dtype
    num_classes, m = tf.shape(PA)[0], tf.shape(PA)[1]
    d_A = 2 * tf.reduce_sum(PA * d_nu[:, None, :], axis=0) + tf.matmul(tf.cast(q_mu, work), d_mu)
    weighted = tf.reshape(A * d_nu[:, None, :], [num_classes * m, -1])
    d_S = tf.reshape(tf.matmul(weighted, A, transpose_b=True), [num_classes, m, m])
    d_K_mn = tf.matmul(tf.cast(L_inverse, work), d_A, transpose_a=True)
    d_q_mu = tf.matmul(A, d_mu, transpose_b=True)
    inner = _lower_half(-tf.cast(_gradient_times_transpose(forward, q_mu, d_A, d_S, d_q_mu), exact))
    outer = tf.matmul(tf.matmul(L_inverse, inner, transpose_a=True), L_inverse)
    d_K_mm = (outer + tf.transpose(outer)) / 2
    return Adjoints(d_K_mm, d_K_mn, tf.reduce_sum(d_nu, axis=0), d_q_mu, d_S)


def _gradient_times_transpose(
    forward: Marginals, q_mu: tf.Tensor, d_A: tf.Tensor, d_S: tf.Tensor, d_q_mu: tf.Tensor
) -> tf.Tensor:
    """∂A Aᵀ; with few classes from m×m products alone, since ∂A Aᵀ = 2 Σ_c P_c (A diag(∂ν^c) Aᵀ) + m (A ∂μᵀ)ᵀ."""
    num_classes, m = forward.P.shape[0], forward.P.shape[1]
    batch_size = d_A.shape[1]
    if batch_size is None or num_classes * m >= batch_size:
        return tf.matmul(d_A, forward.A, transpose_b=True)
    through_mean = tf.matmul(tf.cast(q_mu, d_A.dtype), d_q_mu, transpose_b=True)
    return 2 * tf.reduce_sum(tf.matmul(forward.P, d_S), axis=0) + through_mean


def _lower_half(M: tf.Tensor) -> tf.Tensor:
    """Φ: the lower triangle with its diagonal halved."""
    lower = tf.linalg.band_part(M, -1, 0)
    return tf.linalg.set_diag(lower, tf.linalg.diag_part(lower) / 2)


@tf.custom_gradient
def fused_marginals(K_mm: tf.Tensor, K_mn: tf.Tensor, k_diag: tf.Tensor, q_mu: tf.Tensor, q_sqrt: tf.Tensor) -> Any:
    """(μ, ν), each [C, B], as a differentiable function of the kernel matrices and of q(u)."""
    work = K_mn.dtype
    forward = marginals(K_mm, K_mn, k_diag, q_mu, covariance_offset(q_sqrt, work))

    def gradient(d_mu: tf.Tensor, d_nu: tf.Tensor) -> tuple[tf.Tensor, ...]:
        back = adjoint(forward, q_mu, d_mu, d_nu)
        d_root = 2 * tf.linalg.band_part(tf.matmul(back.S, tf.cast(q_sqrt, work)), -1, 0)
        return back.K_mm, back.K_mn, back.k_diag, tf.cast(back.q_mu, q_mu.dtype), tf.cast(d_root, q_sqrt.dtype)

    return (forward.mu, forward.nu), gradient


@tf.custom_gradient
def whitened_kl(q_mu: tf.Tensor, q_sqrt: tf.Tensor) -> Any:
    """Σ_c KL(q(u^c) ‖ N(0, I)) for lower triangular q_sqrt; its gradient is one pass over q_sqrt."""
    diagonal = tf.linalg.diag_part(q_sqrt)
    size = tf.cast(tf.size(q_mu), q_mu.dtype)
    squares = tf.reduce_sum(tf.square(q_mu)) + tf.reduce_sum(tf.square(q_sqrt))
    value = (squares - size) / 2 - tf.reduce_sum(tf.math.log(tf.abs(diagonal)))

    def gradient(d_value: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return d_value * q_mu, d_value * tf.linalg.set_diag(q_sqrt, diagonal - 1 / diagonal)

    return value, gradient
