"""The robustness parameter δ: the probability that a label is wrong although the latent functions are right.

δ enters the robust step likelihoods (eq_robust_step, eq_multiclass_robust_step). It lives in (0, (C − 1)/C): at the
upper end every class is equally likely whatever the latent functions say, and beyond it the labels would be inverted.
A sigmoid scaled to that interval keeps it inside. In mode `free` it is trained by gradient, in `fixed` it stays, and
in `optimal` the trainer assigns its closed-form maximiser δ* = 1 − mean S (the paper's expression in the binary case,
the same with S in the multi-class one), so no gradient is wanted either.
"""

from __future__ import annotations

import gpflow
import tensorflow as tf
import tensorflow_probability as tfp

from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.likelihoods.registry import DELTA_MODES, DELTA_PRIORS

DELTA_MARGIN = 1e-6
"""How far an assigned δ stays from either end of its interval.

Below, a separable batch gives δ* = 0 and log δ = −∞; at 1e-6 one wrong label costs 13.8 nats, and 1 − δ is still a
float32 number other than one. Above, a batch at chance gives δ* = (C − 1)/C, where the slope log((1 − δ)(C − 1)/δ) of
the bound in S is zero and the data would say nothing more; the margin keeps its sign.
"""


def largest_delta(num_classes: int) -> float:
    """The open upper end (C − 1)/C of the interval of δ."""
    return (num_classes - 1) / num_classes


def delta_parameter(num_classes: int, mode: str, value: float, prior: str) -> gpflow.Parameter:
    """δ as a float64 GPflow parameter, whatever GPflow's default precision is."""
    if mode not in DELTA_MODES:
        raise unknown_choice("delta mode", mode, DELTA_MODES)
    if prior not in DELTA_PRIORS:
        raise unknown_choice("delta prior", prior, DELTA_PRIORS)
    if prior != "none" and mode != "free":
        raise UsageError(f"a prior acts on a learned delta only; with delta mode {mode!r} choose prior 'none'.")
    upper = largest_delta(num_classes)
    if not 0.0 < value < upper:
        raise UsageError(
            f"delta = {value:g} is outside (0, {upper:.4g}), the range for {num_classes} classes; "
            "choose a small positive number such as 0.001."
        )
    zero, high = tf.constant(0.0, tf.float64), tf.constant(upper, tf.float64)
    return gpflow.Parameter(
        value,
        transform=tfp.bijectors.Sigmoid(low=zero, high=high),
        prior=_beta_prior() if prior == "beta" else None,
        trainable=mode == "free",
        dtype=tf.float64,
        name="delta",
    )


def clip_delta(value: tf.Tensor, num_classes: int) -> tf.Tensor:
    """`value` as float64, moved into the interval of δ by DELTA_MARGIN where it is outside."""
    upper = largest_delta(num_classes) - DELTA_MARGIN
    return tf.clip_by_value(tf.cast(value, tf.float64), DELTA_MARGIN, upper)


def _beta_prior() -> tfp.distributions.Distribution:
    """Beta(0.2, 5), which the authors' code puts on δ and the paper does not mention."""
    return tfp.distributions.Beta(tf.constant(0.2, tf.float64), tf.constant(5.0, tf.float64))
