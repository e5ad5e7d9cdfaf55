"""Numerics shared by the likelihoods: normal tails, and gradients known in closed form.

Everything here rests on the scaled complementary error function erfcx(x) = exp(x²) erfc(x). One evaluation of it gives
both log Φ(z) and the ratio φ(z)/Φ(z), its derivative, without cancellation at either end: for z < 0 the exponential
factor is taken out by hand, so neither underflows however far out z lies. TensorFlow has no vectorised erfcx, so
(1 + 2x) erfcx(x), which is smooth and bounded on [0, ∞), is interpolated by a polynomial in (x − k)/(x + k), of a
degree chosen for the precision at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import tensorflow as tf

from gpcnoise_cli.predictor.nodes import ERFCX_MAP_SCALE, VARIANCE_FLOOR, erfcx_coefficients

_DEGREE = {tf.float32: 10, tf.float64: 24}


def _erfcx_of_nonnegative(x: tf.Tensor) -> tf.Tensor:
    u = 1.0 - 2.0 * ERFCX_MAP_SCALE / (x + ERFCX_MAP_SCALE)
    *rest, result = erfcx_coefficients(_DEGREE[x.dtype])
    for coefficient in reversed(rest):
        result = result * u + coefficient
    return result / (1.0 + 2.0 * x)


def log_ndtr_and_hazard(z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """log Φ(z) and its derivative φ(z)/Φ(z), in the dtype of `z` (float32 or float64)."""
    half_square = 0.5 * tf.square(z)
    gauss = tf.exp(-half_square)
    scaled_tail = 0.5 * _erfcx_of_nonnegative(tf.abs(z) * math.sqrt(0.5))
    tail = scaled_tail * gauss  # Φ(−|z|)
    below = z < 0.0
    log_cdf = tf.where(below, tf.math.log(scaled_tail) - half_square, tf.math.log1p(-tail))
    hazard = tf.where(below, 1.0 / scaled_tail, gauss / (1.0 - tail)) * (1.0 / math.sqrt(2.0 * math.pi))
    return log_cdf, hazard


@tf.custom_gradient
def log_ndtr(z: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """log Φ(z), differentiable once."""
    log_cdf, hazard = log_ndtr_and_hazard(z)
    return log_cdf, lambda upstream: upstream * hazard


def ndtr(z: tf.Tensor) -> tf.Tensor:
    """Φ(z), with full relative accuracy in the lower tail."""
    return 0.5 * tf.math.erfc(z * -math.sqrt(0.5))


def floored_variance(variance: tf.Tensor) -> tf.Tensor:
    """`variance`, kept away from zero by VARIANCE_FLOOR."""
    return tf.maximum(variance, tf.cast(VARIANCE_FLOOR, variance.dtype))


ValueAndGradients = tuple[tf.Tensor, tf.Tensor, tf.Tensor]
"""A per-point value [...], its gradient by the means [..., L] and by the variances [..., L]."""


def with_known_gradients(
    function: Callable[[tf.Tensor, tf.Tensor], ValueAndGradients], Fmu: tf.Tensor, Fvar: tf.Tensor
) -> tf.Tensor:
    """The value that `function` computes, with the gradients it computes beside it put on the tape.

    The tape then keeps two [..., L] blocks instead of every temporary of the computation. The gradients themselves are
    not differentiable again.
    """

    @tf.custom_gradient
    def evaluate(
        Fmu: tf.Tensor, Fvar: tf.Tensor
    ) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]]:
        value, by_mean, by_variance = function(Fmu, Fvar)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return upstream[..., None] * by_mean, upstream[..., None] * by_variance

        return value, gradient

    return evaluate(Fmu, Fvar)
