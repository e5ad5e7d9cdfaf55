"""The SVGP of Hensman et al. (2015): E_q(f)[log p(y|f)] itself, by quadrature or at fixed draws, and no bound on it.

This is what users of GPflow and GPyTorch run: probit or logit for two classes with one latent function, by
Gauss–Hermite nodes, and the softmax for more classes, by sampling. The probit is Φ itself; GPflow's is squeezed into
[0.001, 0.999], which keeps its nll below 6.9 and makes every one a little different. The draws of the softmax are nodes
that are the same for all rows and steps (`symmetric_nodes`), so that training is repeatable.

With g the logarithm of p(y|·) along the nodes f_k = μ + √ν x_k, ∂/∂μ = E[g′], and for ν there are two forms that agree
under the integral: ½ E[g′ x]/√ν, which divides by √ν, and ½ E[g″] (Price's theorem), which at large ν sees only the
few nodes where g bends. As in `averaged_softmax`, the first gets the weight ν/(1 + ν). For log-concave p and one latent
function neither is positive, whatever the nodes, so natural steps need no care; the sampled one is kept from it.
"""

from __future__ import annotations

import abc

import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.base import TensorType

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.averaged_softmax import softmax_at_nodes, symmetric_nodes
from gpcnoise_cli.likelihoods.binary_logit import BinaryLogit, signs
from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood
from gpcnoise_cli.likelihoods.numerics import (
    ValueAndGradients,
    floored_variance,
    log_ndtr,
    log_ndtr_and_hazard,
    ndtr,
)
from gpcnoise_cli.likelihoods.registry import DEFAULT_QUADRATURE_POINTS
from gpcnoise_cli.likelihoods.softmax import SoftmaxLikelihood
from gpcnoise_cli.predictor.nodes import gauss_hermite

Derivatives = tuple[tf.Tensor, tf.Tensor, tf.Tensor]


class GaussHermite(ClassLikelihood, abc.ABC):
    """Two classes, one latent function, p(y|f) = π(±f) with log π concave."""

    bound_name = "quadrature"
    quadrature_points: int

    @abc.abstractmethod
    def _log_link(self, margin: tf.Tensor) -> Derivatives:
        """log π with its first and second derivative."""

    def _expectation_and_gradients(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        nodes, weights = (tf.constant(each, Fmu.dtype) for each in gauss_hermite(self.quadrature_points))
        scale, sign = tf.sqrt(tf.maximum(Fvar, 0.0)), signs(one_hot)
        # The nodes are symmetric, so that those of y f serve.
        value, slope, bend = self._log_link(sign * Fmu + scale * nodes)
        by_mean, tilt, bend = (
            tf.reduce_sum(weights * each, axis=-1, keepdims=True) for each in (slope, slope * nodes, bend)
        )
        by_variance = 0.5 * (scale * tilt + bend) / (1.0 + tf.square(scale))
        return tf.reduce_sum(weights * value, axis=-1), sign * by_mean, by_variance


class ProbitQuadrature(GaussHermite):
    """π = Φ, whose prediction is closed form: Φ(μ/√(1 + ν))."""

    def __init__(self, quadrature_points: int = DEFAULT_QUADRATURE_POINTS) -> None:
        super().__init__(2, 1)
        self.quadrature_points = _enough(quadrature_points)

    def _log_link(self, margin: tf.Tensor) -> Derivatives:
        log_cdf, hazard = log_ndtr_and_hazard(margin)
        # Between −1 and 0, but far out a difference of large numbers.
        return log_cdf, hazard, tf.clip_by_value(-hazard * (hazard + margin), -1.0, 0.0)

    @inherit_check_shapes
    def _log_prob(self, X: TensorType, F: TensorType, Y: TensorType) -> tf.Tensor:
        F = tf.convert_to_tensor(F)
        return log_ndtr(signs(self._one_hot(Y, F.dtype)) * F)[..., 0]

    def _class_probabilities(self, F: tf.Tensor) -> tf.Tensor:
        return tf.concat([ndtr(-F), ndtr(F)], axis=-1)

    def _predictive_probabilities(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        return self._class_probabilities(Fmu * tf.math.rsqrt(1.0 + floored_variance(Fvar)))


class LogitQuadrature(GaussHermite, BinaryLogit):
    """π = σ, the logistic function."""

    def __init__(self, quadrature_points: int = DEFAULT_QUADRATURE_POINTS) -> None:
        BinaryLogit.__init__(self)
        self.quadrature_points = _enough(quadrature_points)

    def _log_link(self, margin: tf.Tensor) -> Derivatives:
        wrong = tf.sigmoid(-margin)
        return tf.math.log_sigmoid(margin), wrong, -wrong * (1.0 - wrong)


class SoftmaxSampled(SoftmaxLikelihood):
    """More classes: E[log softmax(f)_y] at fixed draws; probabilities and predictions are the softmax's."""

    def __init__(self, num_classes: int, prediction_draws: int, seed: int) -> None:
        super().__init__(num_classes, prediction_draws=prediction_draws, seed=seed)
        self.bound_name = "sampled"

    def _expectation_and_gradients(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        nodes = symmetric_nodes(self.num_classes)
        z, scale, p, log_observed = softmax_at_nodes(Fmu, Fvar, one_hot, nodes)
        value = tf.reduce_mean(log_observed, axis=-1)
        tilt = -tf.reduce_mean(p * z, axis=-1)  # the label's share has none: the nodes have mean zero
        bend = -tf.reduce_mean(p * (1.0 - p), axis=-1)
        by_variance = 0.5 * tf.minimum(scale * tilt + bend, 0.0) / (1.0 + tf.square(scale))
        return value, one_hot - tf.reduce_mean(p, axis=-1), by_variance


def _enough(points: int) -> int:
    if points < 2:
        raise UsageError(f"{points} quadrature points are too few; use about 20.")
    return points
