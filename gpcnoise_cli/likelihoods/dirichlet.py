"""The Dirichlet-based GP (Milios et al., 2018): classification as regression on transformed labels.

A one-hot label plus α_ε is the parameter of a Dirichlet distribution, that is, of C independent Gamma(α_c, 1) whose
shares are the class probabilities. Each Gamma is matched in mean and variance by a log-normal,

    σ_c² = log(1/α_c + 1),    t_c = log α_c − σ_c²/2,

so that the logarithms are C regressions with targets t_c and known noise variances σ_c², one large and one small. The
expected log density of a point under q(f) is exact and quadratic,

    Σ_c −½ log(2π σ_c²) − ((t_c − b_c − μ_c)² + ν_c)/(2σ_c²),

and with all rows one natural step of size one is the optimum. The offset b_c = log π_c + const, π_c the share of the
class among the training rows, makes the prior predict the shares. Class probabilities are the softmax of f + b,
averaged over q(f) without the noise. The bound is one on the density of the targets, not of the labels: bounds of other
likelihoods do not compare with it.
"""

from __future__ import annotations

import math

import gpflow
import numpy as np
import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.base import TensorType

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.averaged_softmax import mean_softmax
from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood
from gpcnoise_cli.likelihoods.numerics import ValueAndGradients
from gpcnoise_cli.likelihoods.registry import DEFAULT_ALPHA_EPSILON, DEFAULT_PREDICTION_DRAWS
from gpcnoise_cli.predictor.nodes import Array, normal_draws


class DirichletLikelihood(ClassLikelihood):
    """C regressions on the logarithms of Gamma variables; `alpha_epsilon` is what each class has without a label."""

    bound_name = "regression"

    def __init__(
        self,
        num_classes: int,
        alpha_epsilon: float = DEFAULT_ALPHA_EPSILON,
        prediction_draws: int = DEFAULT_PREDICTION_DRAWS,
        seed: int = 0,
    ) -> None:
        if not 0.0 < alpha_epsilon < math.inf:
            raise UsageError(f"alpha_epsilon = {alpha_epsilon:g} is not a positive number; 0.01 is usual.")
        super().__init__(num_classes, num_classes)
        self.target, self.noise = regression_targets(alpha_epsilon)
        self.prediction_draws = prediction_draws
        self.seed = seed
        equal = np.full(num_classes, self._mean_target())
        self.offset = gpflow.Parameter(equal, trainable=False, dtype=tf.float64, name="offset")

    def prepare(self, counts: Array) -> None:
        # A class without rows is taken to have half of one.
        log_shares = np.log(np.maximum(counts, 0.5) / np.sum(counts))
        self.offset.assign(self._mean_target() + log_shares - np.mean(log_shares))

    def _mean_target(self) -> float:
        return float(self.target[0] + (self.target[1] - self.target[0]) / self.num_classes)

    def _expectation_and_gradients(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        target, noise = (
            tf.where(one_hot > 0.0, tf.constant(of[1], Fmu.dtype), tf.constant(of[0], Fmu.dtype))
            for of in (self.target, self.noise)
        )
        error = target - self._offset(Fmu.dtype) - Fmu
        terms = tf.math.log(2.0 * math.pi * noise) + (tf.square(error) + Fvar) / noise
        return -0.5 * tf.reduce_sum(terms, axis=-1), error / noise, -0.5 / noise

    @inherit_check_shapes
    def _log_prob(self, X: TensorType, F: TensorType, Y: TensorType) -> tf.Tensor:
        F = tf.convert_to_tensor(F)
        log_probabilities = tf.nn.log_softmax(F + self._offset(F.dtype))
        return tf.reduce_sum(log_probabilities * self._one_hot(Y, F.dtype), axis=-1)

    def _class_probabilities(self, F: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(F + self._offset(F.dtype))

    def _predictive_probabilities(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        draws = normal_draws(self.prediction_draws, self.num_classes, self.seed)
        return mean_softmax(Fmu + self._offset(Fmu.dtype), Fvar, draws)

    def _offset(self, dtype: tf.DType) -> tf.Tensor:
        return tf.cast(tf.convert_to_tensor(self.offset), dtype)


def regression_targets(alpha_epsilon: float) -> tuple[Array, Array]:
    """t and σ², [2] each: of a class that is not the label, and of the one that is."""
    alpha = np.array([0.0, 1.0]) + alpha_epsilon
    noise = np.log1p(1.0 / alpha)
    return np.log(alpha) - noise / 2, noise
