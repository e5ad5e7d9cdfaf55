"""The marginals of q(f) for all classes at once, with a hand-written adjoint.

For whitened q(u^c) = N(m^c, S^c) and A = L⁻¹K_mn (L the Cholesky factor of K_mm), the marginals of eq_qf_qg_multiclass
are μ^c = Aᵀm^c and ν^c = k + colsum(A ∘ P_c A) with P_c = S^c − I. In the code the rows of the minibatch come before
the inducing points: its A is the transpose of the one written here.

There are G kernels, and each serves C/G classes: one serves them all, or each class has its own. Every array that
depends on the kernel has G in front, so both are the same batched products; where G is one, the P_c are stacked and
the C classes cost one large product.

The adjoint keeps P_c A: it yields ∂A without a further product, and A diag(∂ν^c) Aᵀ, which is both the gradient in S^c
and the curvature that a natural-gradient step needs. Where a kernel serves a single class, L⁻ᵀP_c A is kept instead:
ν^c = k + colsum(K_mn ∘ L⁻ᵀP_c A), and ∂K_mn is known without a further product. Nothing is differentiated through the
Cholesky factor: ∂K_mm = L⁻ᵀ Φ(−∂A Aᵀ) L⁻¹, Φ taking the lower triangle and halving the diagonal; K_mm being symmetric,
only the symmetric part of that counts.

What K_mm's condition amplifies is done in the dtype of K_mm (its factor, the inverse, the solve by Lᵀ), all else in
the dtype of K_nm; `mixed` precision is float64 for the first and float32 for the second. docs/engine.md derives the
formulas.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

# Blocks of fewer rows are not worth the calls.
SMALLEST_HALF = 32


class Marginals(NamedTuple):
    """What the forward pass found, and what the adjoint reuses."""

    mu: tf.Tensor  # [B, C]
    nu: tf.Tensor  # [B, C]
    A: tf.Tensor  # [G, B, m]: the transpose of the paper's A
    P: tf.Tensor  # [C, m, m]
    PA: tf.Tensor  # [G, B, C/G, m]; L⁻ᵀP_c A where a kernel serves a single class
    L: tf.Tensor  # [G, m, m], in the dtype of K_mm
    L_inverse: tf.Tensor  # [G, m, m]


class Adjoints(NamedTuple):
    """Derivatives of a scalar, given its derivatives in μ and ν."""

    K_mm: tf.Tensor  # [G, m, m]; only its symmetric part counts
    K_nm: tf.Tensor  # [G, B, m]
    k_diag: tf.Tensor  # [G, B]
    q_mu: tf.Tensor  # [m, C], in the dtype of K_nm
    S: tf.Tensor  # [C, m, m]: A diag(∂ν^c) Aᵀ, in the dtype of K_nm


def inverse_of_triangular(L: tf.Tensor) -> tf.Tensor:
    """L⁻¹ for a (batch of) lower triangular L."""
    return tf.linalg.triangular_solve(L, tf.eye(tf.shape(L)[-1], batch_shape=tf.shape(L)[:-2], dtype=L.dtype))


def inverse_cholesky(K: tf.Tensor) -> tf.Tensor:
    """L⁻¹ for a (batch of) positive definite K = LLᵀ.

    TensorFlow factorises and solves without the processor's widest instructions, which its float32 products use, but
    not its float64 ones. So halves are worth it in float32, where they turn most of the work into products.
    """
    h = K.shape[-1] // 2
    if h < SMALLEST_HALF or K.dtype == tf.float64:
        return inverse_of_triangular(tf.linalg.cholesky(K))
    upper = inverse_of_triangular(tf.linalg.cholesky(K[..., :h, :h]))
    left = product(K[..., h:, :h], upper, transpose_b=True)  # the lower left block of L
    lower = inverse_of_triangular(tf.linalg.cholesky(K[..., h:, h:] - product(left, left, transpose_b=True)))
    corner = -product(lower, product(left, upper))
    above = tf.concat([upper, tf.zeros_like(tf.linalg.matrix_transpose(corner))], axis=-1)
    return tf.concat([above, tf.concat([corner, lower], axis=-1)], axis=-2)


def covariance_offset(q_sqrt: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """P_c = S^c − I from the Cholesky factors of S^c, in `dtype`."""
    root = tf.cast(q_sqrt, dtype)
    S = tf.matmul(root, root, transpose_b=True)
    return tf.linalg.set_diag(S, tf.linalg.diag_part(S) - 1)


def marginals(K_mm: tf.Tensor, K_nm: tf.Tensor, k_diag: tf.Tensor, q_mu: tf.Tensor, P: tf.Tensor) -> Marginals:
    """Means and variances of every class at every row; P is [C, m, m] in the dtype of K_nm."""
    work, kernels = K_nm.dtype, K_nm.shape[0]
    L = tf.linalg.cholesky(K_mm)
    L_inverse = tf.cast(inverse_of_triangular(L), work)
    A = product(K_nm, L_inverse, transpose_b=True)
    served, m = P.shape[0] // kernels, P.shape[1]
    mu = by_class(product(A, by_kernel(tf.cast(q_mu, work), kernels)))
    if served == 1:
        PA = product(A, product(P, L_inverse))[:, :, None, :]
        nu = k_diag[:, :, None] + _rowsums(PA, K_nm)
    else:
        stacked = tf.reshape(P, [kernels, served * m, m])
        PA = tf.reshape(product(A, stacked, transpose_b=True), [kernels, -1, served, m])
        nu = k_diag[:, :, None] + _rowsums(PA, A)
    return Marginals(mu, by_class(nu), A, P, PA, L, L_inverse)


def adjoint(forward: Marginals, q_mu: tf.Tensor, d_mu: tf.Tensor, d_nu: tf.Tensor) -> Adjoints:
    """Pull [B, C] derivatives in μ and ν back to the kernel matrices and to q(u)."""
    A, PA, L_inverse = forward.A, forward.PA, forward.L_inverse
    kernels = A.shape[0]
    mean = by_kernel(tf.cast(q_mu, A.dtype), kernels)
    d_mu, d_nu = by_kernel(d_mu, kernels), by_kernel(d_nu, kernels)
    d_S = weighted_squares(A, d_nu)
    d_mean = tf.linalg.matrix_transpose(product(d_mu, A, transpose_a=True))  # the small factor first is faster
    if PA.shape[2] == 1:
        d_K_nm = 2 * d_nu * tf.squeeze(PA, 2) + d_mu * product(mean, L_inverse, transpose_a=True)
        d_A_times_A = _gradient_times_transpose(forward, mean, d_S, d_mean)
    else:
        d_A = tf.squeeze(tf.matmul(2 * d_nu[:, :, None, :], PA), 2) + product(d_mu, mean, transpose_b=True)
        d_K_nm = product(d_A, L_inverse)
        few = d_A.shape[1] is not None and PA.shape[2] * PA.shape[3] < d_A.shape[1]
        d_A_times_A = (
            _gradient_times_transpose(forward, mean, d_S, d_mean) if few else product(d_A, A, transpose_a=True)
        )
    d_K_mm = _through_cholesky(d_A_times_A, forward.L, L_inverse)
    return Adjoints(d_K_mm, d_K_nm, tf.reduce_sum(d_nu, axis=2), by_class(d_mean), d_S)


def weighted_squares(A: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Aᵀ diag(w^c) A for every column w^c of `weights` [G, B, C/G]: [C, m, m].

    Where a kernel serves many classes, the block above the diagonal is that below, mirrored.
    """
    kernels, _, m = A.shape
    if weights.shape[2] == 1:
        return product(A * weights, A, transpose_a=True)
    rows, served, h = tf.shape(A)[1], weights.shape[2], m // 2
    above, below = (
        tf.reshape(part[:, :, None, :] * weights[:, :, :, None], [kernels, rows, served * part.shape[2]])
        for part in (A[:, :, :h], A[:, :, h:])
    )
    upper_left = tf.reshape(product(above, A[:, :, :h], transpose_a=True), [kernels * served, h, h])
    lower = tf.reshape(product(below, A, transpose_a=True), [kernels * served, m - h, m])
    upper = tf.concat([upper_left, tf.linalg.matrix_transpose(lower[:, :, :h])], axis=2)
    return tf.concat([upper, lower], axis=1)


def product(a: tf.Tensor, b: tf.Tensor, **transposed: bool) -> tf.Tensor:
    """tf.matmul, where a batch of one is no batch: the plain product is the faster one."""
    if a.shape.rank == b.shape.rank == 3 and a.shape[0] == b.shape[0] == 1:
        return tf.matmul(tf.squeeze(a, 0), tf.squeeze(b, 0), **transposed)[None]
    return tf.matmul(a, b, **transposed)


def by_kernel(columns: tf.Tensor, kernels: int) -> tf.Tensor:
    """[n, C] as [G, n, C/G]."""
    if kernels == 1:
        return columns[None]
    served = columns.shape[1] // kernels
    return tf.transpose(tf.reshape(columns, [-1, kernels, served]), [1, 0, 2])


def by_class(blocks: tf.Tensor) -> tf.Tensor:
    """[G, n, C/G] as [n, C]."""
    kernels, _, served = blocks.shape
    if kernels == 1:
        return tf.squeeze(blocks, 0)
    return tf.reshape(tf.transpose(blocks, [1, 0, 2]), [-1, kernels * served])


def _rowsums(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Sums over m of the products of [G, B, C/G, m] and [G, B, m]: [G, B, C/G]."""
    if left.shape[2] == 1:  # a thousand products of two vectors: the sum is faster
        return tf.reduce_sum(tf.squeeze(left, 2) * right, axis=2, keepdims=True)
    # One product of a matrix and a vector per row: a single pass over `left`, where the products' sum would be three.
    return tf.squeeze(tf.matmul(left, right[..., None]), 3)


def _gradient_times_transpose(forward: Marginals, mean: tf.Tensor, d_S: tf.Tensor, d_mean: tf.Tensor) -> tf.Tensor:
    """∂A Aᵀ from m×m products alone: 2 Σ_c P_c (A diag(∂ν^c) Aᵀ) + m (A ∂μᵀ)ᵀ."""
    kernels, m = forward.A.shape[0], forward.A.shape[2]
    through_covariance = tf.reshape(tf.matmul(forward.P, d_S), [kernels, -1, m, m])
    return 2 * tf.reduce_sum(through_covariance, axis=1) + product(mean, d_mean, transpose_b=True)


def _through_cholesky(M: tf.Tensor, L: tf.Tensor, L_inverse: tf.Tensor) -> tf.Tensor:
    """L⁻ᵀ Φ(−M) L⁻¹ in the dtype of L, Φ(−M) being minus the lower triangle with half of the diagonal.

    An error E of the product Φ L⁻¹ reaches a kernel's gradient as ⟨L⁻ᵀE, dK⟩ = ⟨E, L⁻¹dK⟩, where L⁻¹ amplifies it once,
    to a size that float32 can afford. One of the whole would be amplified twice, so the solve has the dtype of L.
    """
    m = M.shape[-1]
    right = product(M * tf.constant(np.eye(m) / 2 - np.tri(m), M.dtype), L_inverse)
    return tf.linalg.triangular_solve(L, tf.cast(right, L.dtype), adjoint=True)


def _gradient_in_root(d_S: tf.Tensor, root: tf.Tensor) -> tf.Tensor:
    """2 tril(∂S^c R_c): [C, m, m] for lower triangular R_c."""
    return 2 * tf.linalg.band_part(tf.matmul(d_S, root), -1, 0)


@tf.custom_gradient
def fused_marginals(K_mm: tf.Tensor, K_nm: tf.Tensor, k_diag: tf.Tensor, q_mu: tf.Tensor, q_sqrt: tf.Tensor) -> Any:
    """(μ, ν), each [B, C], as a differentiable function of the kernel matrices and of q(u)."""
    work = K_nm.dtype
    forward = marginals(K_mm, K_nm, k_diag, q_mu, covariance_offset(q_sqrt, work))

    def gradient(d_mu: tf.Tensor, d_nu: tf.Tensor) -> tuple[tf.Tensor, ...]:
        back = adjoint(forward, q_mu, d_mu, d_nu)
        d_root = _gradient_in_root(back.S, tf.cast(q_sqrt, work))
        return back.K_mm, back.K_nm, back.k_diag, tf.cast(back.q_mu, q_mu.dtype), tf.cast(d_root, q_sqrt.dtype)

    return (forward.mu, forward.nu), gradient


@tf.custom_gradient
def whitened_features(K_mm: tf.Tensor, K_nm: tf.Tensor) -> Any:
    """A [G, B, m], for whoever needs more of it than the marginals; differentiable."""
    L = tf.linalg.cholesky(K_mm)
    L_inverse = inverse_of_triangular(L)
    A = product(K_nm, L_inverse, transpose_b=True)

    def gradient(d_A: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        d_A_times_A = product(d_A, A, transpose_a=True)
        return _through_cholesky(d_A_times_A, L, L_inverse), product(d_A, L_inverse)

    return A, gradient


@tf.custom_gradient
def unwhitened_weights(K: tf.Tensor, r: tf.Tensor) -> Any:
    """L⁻ᵀr [G, m, C/G] for K = LLᵀ; differentiable, with one m×m product besides the inverse of L."""
    L = tf.linalg.cholesky(K)
    L_inverse = inverse_of_triangular(L)

    def gradient(d_w: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        d_r = product(L_inverse, d_w)
        return _through_cholesky(product(r, d_r, transpose_b=True), L, L_inverse), d_r

    return product(L_inverse, r, transpose_a=True), gradient


@tf.custom_gradient
def whitened_kl(q_mu: tf.Tensor, q_sqrt: tf.Tensor) -> Any:
    """Σ_c KL(q(u^c) ‖ N(0, I)) for lower triangular q_sqrt; its gradient is one pass over q_sqrt."""
    diagonal = tf.linalg.diag_part(q_sqrt)
    size = tf.cast(tf.size(q_mu), q_mu.dtype)
    squares = tf.nn.l2_loss(q_mu) + tf.nn.l2_loss(q_sqrt)  # half the sums of squares, in one pass each
    value = squares - size / 2 - tf.reduce_sum(tf.math.log(tf.abs(diagonal)))

    def gradient(d_value: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return d_value * q_mu, d_value * tf.linalg.set_diag(q_sqrt, diagonal - 1 / diagonal)

    return value, gradient
