"""Two classes, one latent function: p(y = 1|f) = σ(f), the logistic function.

Its average over q(f) = N(μ, ν) has no closed form. That of the nearest Gaussian CDF has, Φ(μ/√(a + ν)) with a = 2.897,
and what is left, σ(f) − Φ(f/√a), is at most 0.0095: only that is averaged at Gauss–Hermite nodes, so that predictions
are right where ν is so large that the nodes would see σ as a step.
"""

from __future__ import annotations

import abc
import math

import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.base import TensorType

from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood
from gpcnoise_cli.likelihoods.numerics import floored_variance, ndtr
from gpcnoise_cli.predictor.nodes import NEAREST_VARIANCE, PREDICTION_POINTS, gauss_hermite


class BinaryLogit(ClassLikelihood, abc.ABC):
    """The logit of a single latent function; what a point adds to the objective is up to the derived class."""

    def __init__(self) -> None:
        super().__init__(2, 1)

    @inherit_check_shapes
    def _log_prob(self, X: TensorType, F: TensorType, Y: TensorType) -> tf.Tensor:
        F = tf.convert_to_tensor(F)
        return tf.math.log_sigmoid(signs(self._one_hot(Y, F.dtype)) * F)[..., 0]

    def _class_probabilities(self, F: tf.Tensor) -> tf.Tensor:
        return tf.concat([tf.sigmoid(-F), tf.sigmoid(F)], axis=-1)

    def _predictive_probabilities(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        nodes, weights = (tf.constant(each, Fmu.dtype) for each in gauss_hermite(PREDICTION_POINTS))
        variance = floored_variance(Fvar)
        F = Fmu + tf.sqrt(variance) * nodes
        rest = tf.reduce_sum(weights * (tf.sigmoid(F) - ndtr(F / math.sqrt(NEAREST_VARIANCE))), axis=-1, keepdims=True)
        second = ndtr(Fmu * tf.math.rsqrt(NEAREST_VARIANCE + variance)) + rest
        second = tf.clip_by_value(second, 0.0, 1.0)
        return tf.concat([1.0 - second, second], axis=-1)


def signs(one_hot: tf.Tensor) -> tf.Tensor:
    """Labels as ±1, [..., 1]."""
    return one_hot[..., 1:] - one_hot[..., :1]
