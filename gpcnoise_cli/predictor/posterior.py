"""The latent functions of a trained GP at new rows, from two products.

For whitened q(u) = N(m, S) and K_mm = LLᵀ, A = K L⁻ᵀ gives μ = A m and ν = k + rowsum(A P ∘ A) with P = S − I. With

    W = L⁻ᵀ m,    Q = L⁻ᵀ P L⁻¹,

found once, in float64, these are μ = K W and ν = k + rowsum(K Q ∘ K).
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
    Z: Array  # [m, d]
    W: Array  # [L, m]
    Q: Array  # [L, m, m]

    def marginals(self, X: Array) -> tuple[Array, Array]:
        """(μ, ν), each [n, L], for scaled rows."""
        means, variances = [], []
        for g in range(len(self.kernels)):
            K = self.kernels.between(X, self.Z, g)
            for latent in range(len(self.W)) if len(self.kernels) == 1 else (g,):
                means.append(K @ self.W[latent][:, None])
                quadratic = np.sum((K @ self.Q[latent]) * K, axis=1, keepdims=True)
                variances.append(self.kernels.variance(g) + quadratic)
        return np.concatenate(means, axis=1), np.concatenate(variances, axis=1)


def find_posterior(
    kernels: Kernels, Z: Array, mean: Array, S: Array, jitter: float, said: Callable[[str], object]
) -> Posterior:
    """From m [L, m] and S [L, m, m], with as much jitter as the factorisation takes; `said` is told."""
    while True:
        try:
            roots = [_inverse_root(kernels.between(Z, Z, g), jitter) for g in range(len(kernels))]
            break
        except np.linalg.LinAlgError:
            jitter = more_jitter(jitter, "for the prediction")
            said(f"the kernel matrix is nearly singular: predicted with jitter {jitter:.0e} of the prior variance.")
    W, Q = np.empty_like(mean), np.empty_like(S)
    for latent in range(len(mean)):
        root = roots[latent if len(roots) > 1 else 0]
        W[latent] = root.T @ mean[latent]
        Q[latent] = root.T @ (S[latent] - np.eye(len(Z))) @ root
    return Posterior(kernels, Z, W, Q)


def _inverse_root(K: Array, jitter: float) -> Array:
    """L⁻¹."""
    K[np.diag_indices_from(K)] *= 1 + jitter
    return solve_triangular(np.linalg.cholesky(K), np.eye(len(K)), lower=True)
