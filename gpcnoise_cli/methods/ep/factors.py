"""One factor of the likelihood and its site: cavity, tilted moments, new site, evidence and its slopes.

Given the inducing variables v, FITC makes the rows independent, and a factor is Φ of a signed sum over its sides,

    Φ( Σ_sides ± aᵀv / √V ),   V = (probit noise) + Σ_sides s,

where a is the whitened feature of the row under the latent function of that side and s what v leaves of its variance,
label noise included. Two classes: one factor a row with one side, y f, and unit probit noise. C classes: the event that
class y has the largest f is replaced by the product of the pairwise events f^y > f^c, so a row has a factor for each
rival c with the sides f^y and −f^c; the column c = y is empty. The product is no normalised likelihood, so the evidence
of the multi-class model compares with no other model's.

The site of a side is exp(−½ τ (aᵀv)² + κ aᵀv). Everything is per row and of the shape [B, sides, F], F the number of
factors of a row, so that both models are the same code. [B, L] is one value for each latent function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

from gpcnoise_cli.likelihoods.numerics import floored_variance, log_ndtr_and_hazard

# Below it, 1 − τ aᵀSa is rounding: the posterior cannot contain the site that is to be taken out of it.
LEAST_REMAINING = 1e-6


class Sites(NamedTuple):
    """[B, sides, F] each; both are zero before a row is first seen."""

    tau: tf.Tensor
    kappa: tf.Tensor


class Cavity(NamedTuple):
    """Mean and variance of aᵀv without the factor's own site, and 1 − τ aᵀSa, which must be positive."""

    mean: tf.Tensor
    variance: tf.Tensor
    remaining: tf.Tensor


class Tilted(NamedTuple):
    """What a factor makes of its cavity."""

    log_mass: tf.Tensor  # log Φ(β), [B, 1, F]
    sites: Sites  # those whose product with the cavity has the moments of cavity times factor
    by_mean: tf.Tensor  # ∂ log Φ(β) by the cavity means, [B, sides, F]
    by_variance: tf.Tensor  # by V, and so by every variance in it, [B, 1, F]


@dataclass(frozen=True)
class Factors:
    """The factors of some rows, of which `one_hot` [B, C] are the labels."""

    one_hot: tf.Tensor

    @property
    def is_binary(self) -> bool:
        return int(self.one_hot.shape[1]) == 2

    @property
    def present(self) -> tf.Tensor:
        """1 where there is a factor, 0 in the column of the row's own class: [B, 1, F]."""
        if self.is_binary:
            return tf.ones_like(self.one_hot[:, None, :1])
        return 1 - self.one_hot[:, None, :]

    @property
    def signs(self) -> tf.Tensor:
        """[B, 1, 1] or [1, 2, 1]"""
        if self.is_binary:
            return (self.one_hot[:, 1:] - self.one_hot[:, :1])[:, None, :]
        return tf.constant([[[1.0], [-1.0]]], self.one_hot.dtype)

    def at_sides(self, latent: tf.Tensor) -> tf.Tensor:
        """The values of the latent functions [B, L] that the sides are about: [B, sides, F]."""
        if self.is_binary:
            return latent[:, None, :]
        own = tf.reduce_sum(self.one_hot * latent, axis=1, keepdims=True)
        return tf.stack([tf.broadcast_to(own, tf.shape(latent)), latent], axis=1)

    def by_latent(self, sides: tf.Tensor) -> tf.Tensor:
        """Sums over the sides that are about the same latent function, the adjoint of `at_sides`: [B, L]."""
        if self.is_binary:
            return sides[:, 0, :]
        sides *= self.present
        return self.one_hot * tf.reduce_sum(sides[:, 0, :], axis=1, keepdims=True) + sides[:, 1, :]

    def cavity(self, mean: tf.Tensor, variance: tf.Tensor, sites: Sites) -> Cavity:
        """The posterior's aᵀm and aᵀSa [B, L], without the sites."""
        mean, variance = self.at_sides(mean), self.at_sides(variance)
        remaining = 1 - sites.tau * variance
        return Cavity((mean - variance * sites.kappa) / remaining, variance / remaining, remaining)

    def tilted(self, cavity: Cavity, residual: tf.Tensor) -> Tilted:
        """With the residual variances s of the latent functions, [B, L]."""
        signs, h = self.signs, cavity.variance
        noise = tf.reduce_sum(self.at_sides(residual), axis=1, keepdims=True) + (1.0 if self.is_binary else 0.0)
        V = floored_variance(noise + tf.reduce_sum(h, axis=1, keepdims=True))
        beta = tf.reduce_sum(signs * cavity.mean, axis=1, keepdims=True) * tf.math.rsqrt(V)
        log_mass, hazard = log_ndtr_and_hazard(beta)
        slope = hazard * tf.math.rsqrt(V)
        # r(r + β) lies in (0, 1); far out on the left the sum loses digits.
        curvature = tf.clip_by_value(hazard * (hazard + beta), 0.0, 1.0)
        # b/(1 − bh) with b = r(r + β)/V, without the difference of almost equal numbers where V is almost h.
        tau = curvature / floored_variance((V - h) + (1 - curvature) * h)
        kappa = signs * slope + tau * (cavity.mean + h * signs * slope)
        return Tilted(log_mass, Sites(tau, kappa), signs * slope, -0.5 * beta * hazard / V)


def site_normaliser(cavity: Cavity, sites: Sites) -> tf.Tensor:
    """The logarithm of the cavity's expectation of the site, which the evidence takes from log Φ(β)."""
    (mean, h, _), (tau, kappa) = cavity, sites
    grown = 1 + tau * h
    return -0.5 * tf.math.log(grown) + 0.5 * (kappa**2 * h + 2 * mean * kappa - tau * mean**2) / grown
