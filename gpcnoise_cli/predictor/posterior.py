"""The latent functions of a trained GP at new rows, from two products.

For whitened q(u) = N(m, S) and K_mm = LLᵀ, A = K L⁻ᵀ gives μ = A m and ν = k + rowsum(A P ∘ A) with P = S − I. With

    W = L⁻ᵀ m,    Q = L⁻ᵀ P L⁻¹,

found once, in float64, these are μ = K W and ν = k + rowsum(K Q ∘ K). Points that carry the mean alone (the γ of
`models/orthogonal`, which derives it) come after the others in Z and W, and have no part in Q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.predictor.kernels import Kernels
from gpcnoise_cli.predictor.nodes import Array

LARGEST_JITTER = 1e-2
"""As a part of the prior variance."""


def more_jitter(jitter: float, when: str) -> float:
    """Ten times as much, up to a limit."""
    if 10 * jitter > LARGEST_JITTER:
        raise GpcnoiseError(
            f"the kernel matrix cannot be factorised {when} even with jitter {LARGEST_JITTER:g}; "
            "try fewer inducing points or a smaller --learning-rate."
        )
    return 10 * jitter


@dataclass(frozen=True)
class Posterior:
    """L latent functions, each with its kernel or all with one."""

    kernels: Kernels
    Z: Array  # [m, d], or [m + M, d] with M points for the mean alone
    W: Array  # [L, m] or [L, m + M]
    Q: Array  # [L, m, m]

    def marginals(self, X: Array) -> tuple[Array, Array]:
        """(μ, ν), each [n, L], for scaled rows."""
        means, variances, m = [], [], self.Q.shape[1]
        for g in range(len(self.kernels)):
            K = self.kernels.between(X, self.Z, g)
            for latent in range(len(self.W)) if len(self.kernels) == 1 else (g,):
                means.append(K @ self.W[latent][:, None])
                inner = K if len(self.Z) == m else K[:, :m]
                quadratic = np.sum((inner @ self.Q[latent]) * inner, axis=1, keepdims=True)
                variances.append(self.kernels.variance(g) + quadratic)
        return np.concatenate(means, axis=1), np.concatenate(variances, axis=1)


@dataclass(frozen=True)
class Further:
    """Points γ for the mean alone, with the weights r that were trained: w = L_T⁻ᵀ r."""

    points: Array  # [M, d]
    weights: Array  # [L, M]


def find_posterior(
    kernels: Kernels,
    Z: Array,
    mean: Array,
    S: Array,
    jitter: float,
    said: Callable[[str], object],
    further: Further | None = None,
) -> Posterior:
    """From m [L, m] and S [L, m, m], with as much jitter as the factorisations take; `said` is told."""
    while True:
        try:
            return _posterior(kernels, Z, mean, S, jitter, further)
        except np.linalg.LinAlgError:
            jitter = more_jitter(jitter, "for the prediction")
            said(f"the kernel matrix is nearly singular: predicted with jitter {jitter:.0e} of the prior variance.")


def _posterior(kernels: Kernels, Z: Array, mean: Array, S: Array, jitter: float, further: Further | None) -> Posterior:
    roots = [_inverse_root(kernels.between(Z, Z, g), jitter) for g in range(len(kernels))]
    W, Q, added = np.empty_like(mean), np.empty_like(S), []
    for latent in range(len(mean)):
        g = latent if len(roots) > 1 else 0
        root, m = roots[g], mean[latent]
        if further is not None:
            A = kernels.between(further.points, Z, g) @ root.T
            K = kernels.between(further.points, further.points, g)
            K[np.diag_indices_from(K)] *= 1 + jitter
            w = solve_triangular(np.linalg.cholesky(K - A @ A.T), further.weights[latent], lower=True, trans="T")
            m = m - A.T @ w
            added.append(w)
        W[latent] = root.T @ m
        Q[latent] = root.T @ (S[latent] - np.eye(len(Z))) @ root
    if further is None:
        return Posterior(kernels, Z, W, Q)
    return Posterior(kernels, np.concatenate([Z, further.points]), np.concatenate([W, np.stack(added)], axis=1), Q)


def _inverse_root(K: Array, jitter: float) -> Array:
    """L⁻¹."""
    K[np.diag_indices_from(K)] *= 1 + jitter
    return solve_triangular(np.linalg.cholesky(K), np.eye(len(K)), lower=True)
