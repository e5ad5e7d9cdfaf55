"""What GPCep learns: kernels, inducing points and label noise, with the posterior of the inducing variables.

The posterior of the whitened inducing variables v of each latent function is N(m, S) with Λ = S⁻¹ = I + Σ τ a aᵀ and
η = Λ m = Σ κ a, sums over the sites. Λ and η are not parameters: they follow from the sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.utilities import parameter_dict, positive
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.likelihoods.numerics import floored_variance, ndtr
from gpcnoise_cli.likelihoods.win_probability import win_probability
from gpcnoise_cli.methods.base import Arrays
from gpcnoise_cli.models.build import Layout, precision_context
from gpcnoise_cli.models.conditional import (
    by_kernel,
    inverse_cholesky,
    marginals,
    product,
    weighted_squares,
    whitened_features,
)
from gpcnoise_cli.models.kernels import PerClass, build_kernel, covariances, prior_variances
from gpcnoise_cli.models.sharing import shares_kernel
from gpcnoise_cli.predictor.nodes import PREDICTION_POINTS
from gpcnoise_cli.predictor.restored import LEAST_NOISE

# Where the variance of the label noise starts; two classes have the probit's unit variance besides.
NOISE_START, BINARY_NOISE_START = 1.0, 1e-3
# The sums over the rows, which a checkpoint holds but an earlier fit does not hand on.
POSTERIOR = ("precision", "shift")


class EPModel(tf.Module):
    """All in float64: a difference of sites is a small part of Λ."""

    def __init__(
        self,
        config: TrainConfig,
        Z: NDArray[np.floating],
        num_classes: int,
        lengthscale: float = 1.0,
        layout: Layout | None = None,
    ) -> None:
        super().__init__()
        (m, d), self.num_classes = Z.shape, num_classes
        self.num_latent = 1 if num_classes == 2 else num_classes
        options, layout = config.kernel, layout or Layout()
        with precision_context("float64"):
            kernel = build_kernel(
                options.name,
                d,
                lengthscale=lengthscale,
                variance=options.variance,
                ard=options.ard,
                log_scale=options.log_scale,
                units=layout.units,
                columns=layout.columns if options.ard_by == "column" else None,
            )
            self.kernel = (
                kernel if shares_kernel(config, num_classes, self.num_latent) else PerClass(kernel, num_classes)
            )
            self.Z = gpflow.Parameter(np.asarray(Z, np.float64))
            start = BINARY_NOISE_START if num_classes == 2 else NOISE_START
            self.noise = gpflow.Parameter(np.full(self.num_latent, start), transform=positive(lower=LEAST_NOISE))
        self.jitter = tf.Variable(config.runtime.jitter, dtype=tf.float64, trainable=False)
        eye = tf.eye(m, batch_shape=[self.num_latent], dtype=tf.float64)
        self.precision = tf.Variable(eye, trainable=False)  # Λ
        self.shift = tf.Variable(tf.zeros([self.num_latent, m], tf.float64), trainable=False)  # η

    def inducing_covariance(self) -> tf.Tensor:
        K_mm = covariances(self.kernel, self.Z, None, tf.float64)
        return tf.linalg.set_diag(K_mm, (1 + self.jitter) * tf.linalg.diag_part(K_mm))

    def features(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """a of every row, [G, B, m] for G kernels, and s with the label noise in it, [B, L]."""
        A = whitened_features(self.inducing_covariance(), covariances(self.kernel, X, self.Z, tf.float64))
        left = prior_variances(self.kernel, X, tf.float64) - tf.reduce_sum(tf.square(A), axis=2)
        return A, tf.transpose(tf.maximum(left, 0.0)) + tf.convert_to_tensor(self.noise)

    def posterior(self) -> tuple[tf.Tensor, tf.Tensor]:
        """m [L, m] and S [L, m, m]."""
        root = inverse_cholesky(tf.convert_to_tensor(self.precision))
        S = product(root, root, transpose_a=True)
        return tf.linalg.matvec(S, self.shift), S

    def add_sites(self, A: tf.Tensor, tau: tf.Tensor, kappa: tf.Tensor) -> None:
        """Add sites (or differences of them) of some rows to Λ and η; tau and kappa are [B, L]."""
        kernels = A.shape[0]
        self.precision.assign_add(weighted_squares(A, by_kernel(tau, kernels)))
        shift = product(A, by_kernel(kappa, kernels), transpose_a=True)
        self.shift.assign_add(tf.reshape(tf.linalg.matrix_transpose(shift), tf.shape(self.shift)))

    def forget(self) -> None:
        """The prior: no sites."""
        self.precision.assign(tf.eye(self.precision.shape[-1], batch_shape=[self.num_latent], dtype=tf.float64))
        self.shift.assign(tf.zeros_like(self.shift))

    def probabilities(self, X: tf.Tensor, mean: tf.Tensor, S: tf.Tensor) -> tf.Tensor:
        """[B, C] for what `posterior` gave."""
        K_nm, k_diag = covariances(self.kernel, X, self.Z, tf.float64), prior_variances(self.kernel, X, tf.float64)
        P = tf.linalg.set_diag(S, tf.linalg.diag_part(S) - 1)
        found = marginals(self.inducing_covariance(), K_nm, k_diag, tf.transpose(mean), P)
        mu, nu = found.mu, tf.maximum(found.nu, 0.0) + tf.convert_to_tensor(self.noise)
        if self.num_classes == 2:
            z = mu * tf.math.rsqrt(1 + nu)
            return tf.concat([ndtr(-z), ndtr(z)], axis=1)
        columns = []
        for winner in tf.unstack(tf.eye(self.num_classes, dtype=tf.float64)):
            winners = tf.broadcast_to(winner, tf.shape(mu))
            columns.append(win_probability(mu, floored_variance(nu), winners, PREDICTION_POINTS)[0])
        wins = tf.stack(columns, axis=1)
        return wins / tf.reduce_sum(wins, axis=1, keepdims=True)

    def arrays(self) -> Arrays:
        return {name: variable.numpy() for name, variable in self._by_name().items()}

    def fill(self, arrays: Mapping[str, NDArray[Any]], posterior: bool = True) -> None:
        """Take over arrays; without the posterior, only what was learned by gradients."""
        variables = self._by_name()
        shapes = {name: tuple(variable.shape) for name, variable in variables.items()}
        if shapes != {name: np.shape(value) for name, value in arrays.items()}:
            raise ValueError("the parameters are not those of the configuration")
        for name, variable in variables.items():
            if posterior or name not in POSTERIOR:
                variable.assign(arrays[name])

    def _by_name(self) -> dict[str, tf.Variable]:
        return {
            name.lstrip("."): getattr(parameter, "unconstrained_variable", parameter)
            for name, parameter in parameter_dict(self).items()
        }
