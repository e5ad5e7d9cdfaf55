"""GPCaug: the logit (two classes) and the logistic-softmax (more), with bounds in closed form by augmentation.

After Wenzel et al. (2019) and Galy-Fajou et al. (2020). With a Pólya-Gamma variable ω, log σ(f) is quadratic in f, and
with the best q(ω) = PG(1, c), c = √(μ² + ν), what is left of the bound on E[log σ(−f)] is

    log χ = −μ/2 − log 2 cosh(c/2),    ∂ log χ/∂μ = −k = −½ (1 + tanh(c/2) μ/c),    ∂ log χ/∂ν = −tanh(c/2)/(4c).

That is all for two classes and one latent function: the bound on E[log σ(±f)] is log χ at ∓μ.

The logistic-softmax is p(y|f) = σ(f_y)/Σ σ(f_j). Its denominator is 1/x = ∫ e^{−λx} dλ, and e^{−λσ(f)} is e^{−λ} times
a sum over counts n of λⁿ σ(−f)ⁿ/n!. Two bounds, both with log χ(−μ_y) for the numerator:

- `mean-field` (the paper's baseline): λ and the counts are independent, q(λ) = Gamma(α, C), q(n_j) = Poisson(γ_j). With
  s = Σ χ_j/C it adds max_α −log C + s e^{ψ(α)} + log Γ(α) + (1 − α) ψ(α), whose maximiser solves α = 1 + s e^{ψ(α)};
- `collapsed`: they are summed out together, which adds −log(C − Σ χ_j). It is never below the other, and at ν = 0,
  where χ = σ(−μ), it is exact.

Both depend on the means and variances only through χ: ∂/∂ log χ_j is γ_j = e^{ψ(α)} χ_j/C, or χ_j/(C − Σ χ). α is
held constant in that, since the bound is valid for any α and stationary at the best one.

∂ν ≤ 0 for both, and a natural step of size one with all rows is the coordinate ascent of the authors, which cannot
lower the bound: natural steps need no care, though the logistic-softmax is not log-concave.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.base import TensorType

from gpcnoise_cli.likelihoods.averaged_softmax import mean_softmax
from gpcnoise_cli.likelihoods.binary_logit import BinaryLogit, signs
from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood
from gpcnoise_cli.likelihoods.numerics import ValueAndGradients, floored_variance
from gpcnoise_cli.likelihoods.registry import DEFAULT_PREDICTION_DRAWS
from gpcnoise_cli.predictor.nodes import normal_draws

ROUNDS = 6
"""Of the fixed point for α; each gains one to two digits, and more where α is large."""
LEAST = 1e-20
"""Of C − Σ χ, which is less only if all means are below −46 and certain; a larger value gives a lower bound still."""
# Where the series in 1/α take over; Γ and ψ would cancel in their sums.
SERIES_FROM = 16.0


class Chi(NamedTuple):
    """log χ and its gradients, of the shape of the means."""

    log: tf.Tensor
    by_mean: tf.Tensor
    """−k, between −1 and 0."""
    by_variance: tf.Tensor


class AugmentedLogit(BinaryLogit):
    """Two classes: the Pólya-Gamma bound (which is Jaakkola and Jordan's). λ and n do not occur, both bounds are it."""

    def __init__(self, bound: str) -> None:
        super().__init__()
        self.bound_name = bound

    def _expectation_and_gradients(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        against = -signs(one_hot)
        chi = log_chi(against * Fmu, Fvar)
        return chi.log[..., 0], against * chi.by_mean, chi.by_variance


class AugmentedSoftmax(ClassLikelihood):
    """More classes: p(y|f) = σ(f_y)/Σ σ(f_j), the softmax of log σ(f)."""

    def __init__(
        self, num_classes: int, bound: str, prediction_draws: int = DEFAULT_PREDICTION_DRAWS, seed: int = 0
    ) -> None:
        super().__init__(num_classes, num_classes)
        self.bound_name = bound
        self.prediction_draws = prediction_draws
        self.seed = seed

    def _expectation_and_gradients(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        observed, chi = log_chi(-Fmu, Fvar), log_chi(Fmu, Fvar)
        of_rest = _mean_field if self.bound_name == "mean-field" else _collapsed
        rest, gamma = of_rest(chi.log)
        value = tf.reduce_sum(one_hot * observed.log, axis=-1) + rest
        by_mean = gamma * chi.by_mean - one_hot * observed.by_mean
        return value, by_mean, (gamma + one_hot) * chi.by_variance

    @inherit_check_shapes
    def _log_prob(self, X: TensorType, F: TensorType, Y: TensorType) -> tf.Tensor:
        log_probabilities = tf.nn.log_softmax(tf.math.log_sigmoid(F))
        return tf.reduce_sum(log_probabilities * self._one_hot(Y, log_probabilities.dtype), axis=-1)

    def _class_probabilities(self, F: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(tf.math.log_sigmoid(F))

    def _predictive_probabilities(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        draws = normal_draws(self.prediction_draws, self.num_classes, self.seed)
        return mean_softmax(Fmu, Fvar, draws, logits=tf.math.log_sigmoid)


def log_chi(mean: tf.Tensor, variance: tf.Tensor) -> Chi:
    """log χ, without a difference of large numbers wherever the mean is."""
    variance = floored_variance(variance)
    size = tf.abs(mean)
    c = tf.sqrt(tf.square(mean) + variance)
    gap = variance / (c + size)  # c − |μ|
    log = -0.5 * tf.where(mean < 0.0, gap, c + size) - tf.math.log1p(tf.exp(-c))
    small = 0.5 * gap / c + size / c * tf.sigmoid(-c)  # k at −|μ|
    k = tf.where(mean < 0.0, small, 1.0 - small)
    return Chi(log, -k, -0.25 * tf.tanh(0.5 * c) / c)


def _collapsed(log_chis: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """−log(C − Σ χ), and its derivatives by log χ_j."""
    left = _left(log_chis)
    return -tf.math.log(left)[..., 0], tf.exp(log_chis) / left


def _mean_field(log_chis: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The same for independent λ and n: the value at the best α, and γ."""
    classes = tf.cast(tf.shape(log_chis)[-1], log_chis.dtype)
    left = _left(log_chis) / classes  # 1 − s
    alpha = tf.stop_gradient(best_alpha(left))
    exp_digamma = alpha - shortfall(alpha)
    # s e^{ψ(α)} − (α − 1), zero at the best α, and what is then left of the rest.
    value = 1.0 - left * alpha - (1.0 - left) * shortfall(alpha) + entropy(alpha) - tf.math.log(classes)
    return value[..., 0], exp_digamma * tf.exp(log_chis) / classes


def _left(log_chis: tf.Tensor) -> tf.Tensor:
    """C − Σ χ, [..., 1]."""
    return tf.maximum(tf.reduce_sum(-tf.math.expm1(log_chis), axis=-1, keepdims=True), LEAST)


def best_alpha(left: tf.Tensor) -> tf.Tensor:
    """The α with α = 1 + s e^{ψ(α)}, given 1 − s.

    e^{ψ(α)} = α − q with q between 0.43 and 0.5, so α = (1 − s q)/(1 − s), which moves very little with q.
    """
    alpha = (0.5 + 0.5 * left) / left
    for _ in range(ROUNDS):
        alpha = (1.0 - (1.0 - left) * shortfall(alpha)) / left
    return alpha


def shortfall(alpha: tf.Tensor) -> tf.Tensor:
    """q = α − e^{ψ(α)}; by its series in 1/(α − ½) where α is large."""
    inverse = 1.0 / (tf.maximum(alpha, SERIES_FROM) - 0.5)
    square = tf.square(inverse)
    series = 0.5 - inverse * (1 / 24 - square * (37 / 5760 - square * (10313 / 2903040)))
    return tf.where(alpha < SERIES_FROM, alpha - tf.exp(tf.math.digamma(tf.minimum(alpha, SERIES_FROM))), series)


def entropy(alpha: tf.Tensor) -> tf.Tensor:
    """log Γ(α) + (1 − α) ψ(α) + α − 1; by Stirling's series where α is large."""
    few, many = tf.minimum(alpha, SERIES_FROM), tf.maximum(alpha, SERIES_FROM)
    direct = tf.math.lgamma(few) + (1.0 - few) * tf.math.digamma(few) + few - 1.0
    inverse = 1.0 / many
    tail = inverse * (1 / 3 + inverse * (1 / 12 + inverse * (1 / 90 - inverse * (1 / 120 + inverse / 210))))
    series = 0.5 * tf.math.log(2.0 * math.pi * many) - 0.5 - tail
    return tf.where(alpha < SERIES_FROM, direct, series)
