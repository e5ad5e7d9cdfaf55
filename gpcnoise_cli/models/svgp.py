"""A GPflow SVGP whose marginals come from the fused conditional.

It is a `gpflow.models.SVGP` in every respect, so GPflow's own tools (parameter tables, optimizers, posteriors) work on
it; only `predict_f` without a full covariance, and with it `elbo`, take the fast path. A full covariance goes through
GPflow's own conditional.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gpflow
import numpy as np
import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.kernels import Kernel, MultioutputKernel

from gpcnoise_cli.models.conditional import fused_marginals, whitened_kl
from gpcnoise_cli.models.kernels import covariances, prior_variances

# Rounding in float32 can push a vanishing variance below zero; the floor is relative to the prior variance.
VARIANCE_FLOOR = 1e-6


class FurtherMean(NamedTuple):
    """What a second basis brings: μ = Aᵀ(m + shift) + added, and its own part of the KL divergence."""

    shift: tf.Tensor  # [m, C], exact dtype
    added: tf.Tensor  # [N, C], work dtype
    kl: tf.Tensor


class FusedSVGP(gpflow.models.SVGP):
    """Whitened SVGP on inducing points that the classes share, in `precision` mixed, float64 or float32."""

    def __init__(
        self,
        kernel: Kernel,
        likelihood: gpflow.likelihoods.Likelihood,
        Z: np.ndarray,
        *,
        num_data: int,
        precision: str = "float64",
        jitter: float = 1e-6,
    ) -> None:
        self.exact = tf.float32 if precision == "float32" else tf.float64
        self.work = tf.float64 if precision == "float64" else tf.float32
        inducing = gpflow.inducing_variables.InducingPoints(tf.cast(Z, self.exact))
        if isinstance(kernel, MultioutputKernel):
            inducing = gpflow.inducing_variables.SharedIndependentInducingVariables(inducing)
        num_latent = likelihood.latent_dim or 1  # GPflow leaves it open for scalar likelihoods
        super().__init__(
            kernel,
            likelihood,
            inducing,
            num_latent_gps=num_latent,
            q_mu=np.zeros((len(Z), num_latent)),
            whiten=True,
            num_data=num_data,
        )
        # No triangular packing: the adjoint only ever writes the lower triangle, and packing costs a pass per step.
        self.q_sqrt = gpflow.Parameter(np.tile(np.eye(len(Z)), (num_latent, 1, 1)))
        self.jitter = tf.Variable(jitter, dtype=self.exact, trainable=False, name="jitter")

    @property
    def shares_kernel(self) -> bool:
        """Whether one kernel serves all classes."""
        return not isinstance(self.kernel, MultioutputKernel)

    @property
    def Z(self) -> gpflow.Parameter:
        """The inducing points, [m, d]."""
        points = self.inducing_variable
        return points.Z if self.shares_kernel else points.inducing_variable.Z

    def delta_value(self) -> float | None:
        """The likelihood's δ; None where it has none."""
        return None if self.likelihood.delta_mode is None else float(self.likelihood.delta.numpy())

    def state(self) -> dict[str, Any]:
        """What a result reports of the model itself."""
        return {"delta": self.delta_value(), "jitter": float(self.jitter.numpy())}

    @property
    def points(self) -> list[tf.Variable]:
        """All that lies in the space of the inputs and is trained."""
        return list(self.inducing_variable.trainable_variables)

    @property
    def further_weights(self) -> list[tf.Variable]:
        """Those of a second basis, of which there is none here."""
        return []

    def further_mean(self, X: tf.Tensor, K_mm: tf.Tensor, work: tf.DType | None = None) -> FurtherMean | None:
        """What a second basis adds to the mean at X; None without one."""
        return None

    def kernel_factors(self) -> list[tf.Tensor]:
        """The Cholesky factors that training needs: that of K_mm, one per kernel."""
        return [tf.linalg.cholesky(self.inducing_covariance())]

    def inducing_covariance(self) -> tf.Tensor:
        """K_mm with jitter, in the exact dtype: [G, m, m].

        Jitter is a part of the prior variance, so that K_mm keeps its condition whatever the variance.
        """
        K_mm = covariances(self.kernel, self.Z, None, self.exact)
        return tf.linalg.set_diag(K_mm, (1 + self.jitter) * tf.linalg.diag_part(K_mm))

    def kernel_matrices(self, X: tf.Tensor, work: tf.DType | None = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """K_mm with jitter (exact dtype), and K_nm and diag K_nn (work dtype), each with the kernels in front."""
        work = work or self.work
        return (
            self.inducing_covariance(),
            covariances(self.kernel, X, self.Z, work),
            prior_variances(self.kernel, X, work),
        )

    def marginals(self, X: tf.Tensor, work: tf.DType | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        """(μ, ν), each [N, C], in the work dtype or the one given."""
        K_mm, K_nm, k_diag = self.kernel_matrices(X, work)
        q_mu, q_sqrt = tf.convert_to_tensor(self.q_mu), tf.convert_to_tensor(self.q_sqrt)
        further = self.further_mean(X, K_mm, work)
        mu, nu = fused_marginals(K_mm, K_nm, k_diag, q_mu if further is None else q_mu + further.shift, q_sqrt)
        return mu if further is None else mu + further.added, self.floor_variance(nu, k_diag)

    def floor_variance(self, nu: tf.Tensor, k_diag: tf.Tensor) -> tf.Tensor:
        """Keep float32 rounding from turning a variance negative; float64 is left alone."""
        return nu if nu.dtype == tf.float64 else tf.maximum(nu, VARIANCE_FLOOR * tf.transpose(k_diag))

    def data_scale(self, batch_size: tf.Tensor) -> tf.Tensor:
        """n / B: how many rows each row of a minibatch stands for."""
        return tf.cast(self.num_data, self.exact) / tf.cast(batch_size, self.exact)

    def elbo_given(self, mu: tf.Tensor, nu: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
        """The bound of a minibatch whose marginals [B, C] are known already."""
        no_inputs = tf.zeros([tf.shape(mu)[0], 0], dtype=mu.dtype)  # the likelihoods do not look at X
        expectations = self.likelihood.variational_expectations(no_inputs, mu, nu, Y)
        total = tf.cast(tf.reduce_sum(expectations), self.exact)
        return total * self.data_scale(tf.shape(mu)[0]) - self.prior_kl()

    @inherit_check_shapes
    def prior_kl(self) -> tf.Tensor:
        return whitened_kl(tf.convert_to_tensor(self.q_mu), tf.convert_to_tensor(self.q_sqrt))

    @inherit_check_shapes
    def log_prior_density(self) -> tf.Tensor:
        # GPflow's own sum wants one dtype; δ stays in float64 in any precision.
        densities = [tf.cast(one.log_prior_density(), self.exact) for one in self.trainable_parameters]
        return tf.add_n(densities) if densities else tf.zeros([], self.exact)

    @inherit_check_shapes
    def elbo(self, data: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        X, Y = data
        return self.elbo_given(*self.marginals(X), Y)

    @inherit_check_shapes
    def predict_f(
        self, Xnew: tf.Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        if full_cov or full_output_cov:
            return super().predict_f(tf.cast(Xnew, self.exact), full_cov=full_cov, full_output_cov=full_output_cov)
        mu, nu = self.marginals(Xnew)
        return tf.cast(mu, self.exact), tf.cast(nu, self.exact)
