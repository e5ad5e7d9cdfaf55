"""An SVGP on two orthogonally decoupled bases (Salimbeni et al., 2018): β for mean and covariance, γ for the mean.

β is the usual basis of inducing points Z with its features a(x) = L⁻¹k_β(x). Of γ, only what β cannot express counts:
the residual R(x) = k_γ(x) − A_γᵀa(x) with A_γ = L⁻¹K_βγ, whose Gram matrix is the Schur complement T = K_γγ − A_γᵀA_γ.
For each latent function

    μ(x) = a(x)ᵀm + R(x)ᵀw,    ν(x) = k(x, x) − aᵀa + aᵀSa,    KL = KL(N(m, S) ‖ N(0, I)) + ½ wᵀT w.

So γ never enters a variance, and thousands of γ points cost no covariance. Written as μ = aᵀ(m − A_γ w) + k_γᵀw, the
first part is the fused conditional with another mean. The weights are trained as r, w = L_T⁻ᵀr with L_T L_Tᵀ = T: then
their KL is ½ rᵀr, and near-copies among the points of both bases do no harm. That changes the path of training, and
not where it leads.
"""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.kernels import Kernel

from gpcnoise_cli.models.conditional import by_class, by_kernel, product, unwhitened_weights, whitened_features
from gpcnoise_cli.models.kernels import covariances
from gpcnoise_cli.models.svgp import FurtherMean, FusedSVGP


class OrthogonalSVGP(FusedSVGP):
    """With γ points [M_γ, d] that the classes share, and weights r [M_γ, C] that start at zero."""

    def __init__(
        self,
        kernel: Kernel,
        likelihood: gpflow.likelihoods.Likelihood,
        Z: np.ndarray,
        gamma: np.ndarray,
        **options: Any,
    ) -> None:
        super().__init__(kernel, likelihood, Z, **options)
        self.gamma = gpflow.Parameter(tf.cast(gamma, self.exact))
        self.weights = gpflow.Parameter(np.zeros((len(gamma), self.num_latent_gps)))

    def state(self) -> dict[str, Any]:
        return {**super().state(), "gamma": self.gamma.shape[0]}

    @property
    def points(self) -> list[tf.Variable]:
        return [*super().points, *self.gamma.trainable_variables]

    @property
    def further_weights(self) -> list[tf.Variable]:
        return list(self.weights.trainable_variables)

    def further_mean(self, X: tf.Tensor, K_mm: tf.Tensor, work: tf.DType | None = None) -> FurtherMean:
        work = work or self.work
        A, T = self.residual_covariance(K_mm)
        w = unwhitened_weights(T, by_kernel(tf.convert_to_tensor(self.weights), T.shape[0]))
        added = product(covariances(self.kernel, X, self.gamma, work), tf.cast(w, work))
        return FurtherMean(-by_class(product(A, w, transpose_a=True)), by_class(added), self._weights_kl())

    def residual_covariance(self, K_mm: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """A_γ [G, M_γ, m] and T with jitter [G, M_γ, M_γ], in the exact dtype."""
        A = whitened_features(K_mm, covariances(self.kernel, self.gamma, self.Z, self.exact))
        K = covariances(self.kernel, self.gamma, None, self.exact)
        T = K - product(A, A, transpose_b=True)
        return A, tf.linalg.set_diag(T, tf.linalg.diag_part(T) + self.jitter * tf.linalg.diag_part(K))

    def kernel_factors(self) -> list[tf.Tensor]:
        _, T = self.residual_covariance(self.inducing_covariance())
        return [*super().kernel_factors(), tf.linalg.cholesky(T)]

    def _weights_kl(self) -> tf.Tensor:
        return tf.nn.l2_loss(tf.convert_to_tensor(self.weights))

    @inherit_check_shapes
    def prior_kl(self) -> tf.Tensor:
        return super().prior_kl() + self._weights_kl()

    @inherit_check_shapes
    def predict_f(
        self, Xnew: tf.Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        mu, nu = super().predict_f(Xnew, full_cov=full_cov, full_output_cov=full_output_cov)
        # GPflow's own conditional, which a full covariance comes from, knows of the first basis only.
        return tf.cast(self.marginals(Xnew)[0], mu.dtype) if full_cov or full_output_cov else mu, nu
