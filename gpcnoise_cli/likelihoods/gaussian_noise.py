"""Step, probit and logit as one family: the label is a step function of g = f + ε with Gaussian noise ε ~ N(0, a).

With a = 0 this is the step likelihood (GPC-I), with a = 1 the probit (GPC-II), and with a = 2.897 a logit up to 0.009
in its CDF (GPC-III). Given the labels, all that matters of q(g) = N(μ, a + ν) is S, the probability that g points to
the observed class: Φ(±μ/√(a + ν)) for one latent function and two classes, a one-dimensional integral over the
winner's g for one latent function per class. The bound (eq_elbo_binary, eq_elbo_multiclass) and the prediction are
linear in S, and the binary ones are the multi-class ones at C = 2, so they are written once. The predictive objective
takes the logarithm of the prediction instead.
"""

from __future__ import annotations

import abc
import math

import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.base import TensorType

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood
from gpcnoise_cli.likelihoods.delta import clip_delta, delta_parameter
from gpcnoise_cli.likelihoods.numerics import ValueAndGradients, floored_variance, ndtr, with_known_gradients
from gpcnoise_cli.likelihoods.registry import DEFAULT_QUADRATURE_POINTS
from gpcnoise_cli.likelihoods.squashed import squashed_win_probability
from gpcnoise_cli.likelihoods.win_probability import win_probability
from gpcnoise_cli.predictor.nodes import PREDICTION_POINTS


class GaussianNoise(ClassLikelihood, abc.ABC):
    """The robust likelihood p(y|g) = 1 − δ if g points to class y, else δ/(C − 1), with g = f + N(0, a).

    `variational_expectations` is E_q(g)[log p(y|g)], the bound of the noisy model. For a > 0 it is not
    E_q(f)[log p(y|f)] but, by Jensen's inequality over the noise, a lower bound on it; at a = 0 the two are equal. With
    the predictive objective it is log E_q(g)[p(y|g)] instead, which is no smaller; at S = 0 and S = 1 they are equal.
    """

    bound_name = "gaussian"

    def __init__(
        self,
        num_classes: int,
        num_latent: int,
        noise_variance: float,
        objective: str,
        delta_mode: str,
        delta: float,
        delta_prior: str,
    ) -> None:
        if not 0.0 <= noise_variance < math.inf:
            raise UsageError(f"noise variance {noise_variance:g} is not a number from 0 up; use 0, 1 or 2.897.")
        super().__init__(num_classes, num_latent, objective)
        self.noise_variance = float(noise_variance)
        self.delta_mode = delta_mode
        self.delta = delta_parameter(num_classes, delta_mode, delta, delta_prior)

    @abc.abstractmethod
    def _agreement(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        """S, the probability under q(g) that g points to the observed class, and its gradients."""

    @abc.abstractmethod
    def _agreement_of_all(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        """S for every class, [..., C], summing to one."""

    def delta_star(self, Fmu: TensorType, Fvar: TensorType, Y: TensorType) -> tf.Tensor:
        """The δ to go towards, for the sake of this batch (not clipped).

        For the ELBO its maximiser, 1 − mean S. The predictive objective has none in closed form; there it is the mean
        probability that a label is noise given the present δ, one step of EM. No part of the way there lowers the
        objective, and the way ends at its maximiser, in minibatches too, since a mean over rows is what is followed.
        """
        agreement, _, _ = self._agreement(*self._aligned(Fmu, Fvar, Y))
        if self.objective == "predictive":
            right, wrong = self._right_and_wrong(agreement.dtype)
            by_noise = wrong * (1.0 - agreement)
            return tf.reduce_mean(by_noise / (right * agreement + by_noise))
        return 1.0 - tf.reduce_mean(agreement)

    def assign_delta(self, value: TensorType) -> None:
        """Set δ, clipped into its open interval; may be called inside a tf.function."""
        self.delta.assign(clip_delta(value, self.num_classes))

    def _right_and_wrong(self, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
        """p(y|g) for g that points to class y and for g that does not: 1 − δ and δ/(C − 1)."""
        delta = tf.convert_to_tensor(self.delta)
        return tf.cast(1.0 - delta, dtype), tf.cast(delta / (self.num_classes - 1), dtype)

    def _log_right_and_wrong(self, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
        """log(1 − δ) and log(δ/(C − 1)), taken in float64 since δ may be tiny."""
        delta = tf.convert_to_tensor(self.delta)
        right, wrong = tf.math.log1p(-delta), tf.math.log(delta / (self.num_classes - 1))
        return tf.cast(right, dtype), tf.cast(wrong, dtype)

    def _term(self, agreement: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """What a point adds to the objective, given its S, and the derivative of that by S."""
        if self.objective == "predictive":
            right, wrong = self._right_and_wrong(agreement.dtype)
            probability = right * agreement + wrong * (1.0 - agreement)
            return tf.math.log(probability), (right - wrong) / probability
        right, wrong = self._log_right_and_wrong(agreement.dtype)
        return right * agreement + wrong * (1.0 - agreement), right - wrong

    def _expectation_and_gradients(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        agreement, by_mean, by_variance = self._agreement(Fmu, Fvar, one_hot)
        value, slope = self._term(agreement)
        return value, slope[..., None] * by_mean, slope[..., None] * by_variance

    @inherit_check_shapes
    def _variational_expectations(self, X: TensorType, Fmu: TensorType, Fvar: TensorType, Y: TensorType) -> tf.Tensor:
        # Only S has closed-form gradients; δ is differentiated by the tape.
        Fmu, Fvar, one_hot = self._aligned(Fmu, Fvar, Y)
        agreement = with_known_gradients(lambda mu, var: self._agreement(mu, var, one_hot), Fmu, Fvar)
        return self._term(agreement)[0]

    def _predictive_probabilities(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        agreement = self._agreement_of_all(Fmu, Fvar)
        delta = tf.cast(tf.convert_to_tensor(self.delta), Fmu.dtype)
        return (1.0 - delta) * agreement + delta / (self.num_classes - 1) * (1.0 - agreement)

    def _class_probabilities(self, F: tf.Tensor) -> tf.Tensor:
        # p(y|f) is the prediction for a q(f) without variance; at a = 0, ties are shared evenly.
        return self._predictive_probabilities(F, tf.zeros_like(F))


class BinaryGaussianNoise(GaussianNoise):
    """Two classes, one latent function: S = Φ(±μ/√(a + ν)) in closed form (eq_elbo_binary)."""

    def __init__(
        self,
        noise_variance: float,
        *,
        objective: str = "elbo",
        delta_mode: str = "free",
        delta: float = 1e-3,
        delta_prior: str = "none",
    ) -> None:
        super().__init__(2, 1, noise_variance, objective, delta_mode, delta, delta_prior)

    def _agreement(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        sign = one_hot[..., 1:] - one_hot[..., :1]
        variance = floored_variance(self.noise_variance + Fvar)
        scale = sign * tf.math.rsqrt(variance)
        z = scale * Fmu
        density = tf.exp(-0.5 * tf.square(z)) / math.sqrt(2.0 * math.pi)
        return ndtr(z)[..., 0], density * scale, -0.5 * density * z / variance

    def _agreement_of_all(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        z = Fmu * tf.math.rsqrt(floored_variance(self.noise_variance + Fvar))
        return tf.concat([ndtr(-z), ndtr(z)], axis=-1)


class MulticlassGaussianNoise(GaussianNoise):
    """One latent function per class: S is the probability that the observed class has the largest g.

    S is taken by quadrature over the winner's g (eq_elbo_multiclass). `quadrature_points` nodes serve the
    bound; prediction takes at least PREDICTION_POINTS and normalises S over the classes. `squash` is a habit of the
    authors' code.
    """

    def __init__(
        self,
        num_classes: int,
        noise_variance: float,
        *,
        objective: str = "elbo",
        delta_mode: str = "free",
        delta: float = 1e-3,
        delta_prior: str = "none",
        quadrature_points: int = DEFAULT_QUADRATURE_POINTS,
        squash: float = 0.0,
    ) -> None:
        if quadrature_points < 2:
            raise UsageError(f"{quadrature_points} quadrature points are too few; use about 20.")
        super().__init__(num_classes, num_classes, noise_variance, objective, delta_mode, delta, delta_prior)
        self.quadrature_points = quadrature_points
        self.squash = squash

    def _win_probability(
        self, Fmu: tf.Tensor, variance: tf.Tensor, winner: tf.Tensor, points: int
    ) -> ValueAndGradients:
        if self.squash > 0.0:
            return squashed_win_probability(Fmu, variance, winner, points, self.squash)
        return win_probability(Fmu, variance, winner, points)

    def _agreement(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        variance = floored_variance(self.noise_variance + Fvar)
        return self._win_probability(Fmu, variance, one_hot, self.quadrature_points)

    def _agreement_of_all(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        variance = floored_variance(self.noise_variance + Fvar)
        points = max(self.quadrature_points, PREDICTION_POINTS)
        # One class at a time keeps the memory at one [..., C, Q] block.
        columns = []
        for winner in tf.unstack(tf.eye(self.num_classes, dtype=Fmu.dtype)):
            value, _, _ = self._win_probability(Fmu, variance, tf.broadcast_to(winner, tf.shape(Fmu)), points)
            columns.append(value)
        agreement = tf.stack(columns, axis=-1)
        return agreement / tf.reduce_sum(agreement, axis=-1, keepdims=True)
