"""The softmax likelihood (GPCsm): the label is the argmax of f + Gumbel noise, p(y|f) = exp f_y / Σ_c exp f_c (eq_sm).

E_q(f)[log p(y|f)] has no closed form, but two lower bounds do. The paper's (`gumbel`, eq_ELBO_sm) comes from the
noise: −log(1 + P) with P = exp(ν_y/2 − μ_y) Σ_{c≠y} exp(μ_c + ν_c/2). The tighter one (`tilted`) optimises a weight
vector α of which the paper's bound is the special case α = onehot(y); see `tilted_bound`. Prediction averages the
softmax over a fixed set of quasi-random normal draws, the same for every row; so does the predictive objective, over
fewer (`averaged_softmax`).
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.base import TensorType

from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.likelihoods.averaged_softmax import averaged_softmax, mean_softmax, symmetric_nodes
from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood
from gpcnoise_cli.likelihoods.numerics import ValueAndGradients
from gpcnoise_cli.likelihoods.registry import DEFAULT_PREDICTION_DRAWS, LIKELIHOODS
from gpcnoise_cli.likelihoods.tilted_bound import tilted_bound
from gpcnoise_cli.predictor.nodes import normal_draws


class SoftmaxLikelihood(ClassLikelihood):
    """p(y|f) = softmax(f)_y, one latent function per class.

    `variational_expectations` is a lower bound on E_q(f)[log p(y|f)], with equality at zero variance; if the objective
    is predictive, it is log E_q(f)[p(y|f)].
    """

    def __init__(
        self,
        num_classes: int,
        bound: str = "gumbel",
        objective: str = "elbo",
        prediction_draws: int = DEFAULT_PREDICTION_DRAWS,
        seed: int = 0,
    ) -> None:
        offered = LIKELIHOODS["softmax"].bounds
        if bound not in offered:
            raise unknown_choice("bound", bound, offered)
        if prediction_draws < 1:
            raise UsageError(f"{prediction_draws} prediction draws are too few; use a power of two such as 512.")
        super().__init__(num_classes, num_classes, objective)
        self.bound_name = self.concave_bound = bound
        self.prediction_draws = prediction_draws
        self.seed = seed

    def _expectation_and_gradients(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        if self.objective == "predictive":
            return averaged_softmax(Fmu, Fvar, one_hot, symmetric_nodes(self.num_classes))
        gumbel = gumbel_bound(Fmu, Fvar, one_hot)
        if self.bound_name == "gumbel":
            return gumbel
        tilted = tilted_bound(Fmu, Fvar, one_hot)
        # α is optimal only up to a few rounds of iteration: the better of two valid bounds is a valid bound.
        better = tilted[0] > gumbel[0]
        return (
            tf.where(better, tilted[0], gumbel[0]),
            tf.where(better[..., None], tilted[1], gumbel[1]),
            tf.where(better[..., None], tilted[2], gumbel[2]),
        )

    @inherit_check_shapes
    def _log_prob(self, X: TensorType, F: TensorType, Y: TensorType) -> tf.Tensor:
        log_probabilities = tf.nn.log_softmax(F)
        return tf.reduce_sum(log_probabilities * self._one_hot(Y, log_probabilities.dtype), axis=-1)

    def _class_probabilities(self, F: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(F)

    def _predictive_probabilities(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        draws = normal_draws(self.prediction_draws, self.num_classes, self.seed)
        return mean_softmax(Fmu, Fvar, draws)


def gumbel_bound(Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
    """eq_ELBO_sm per point, as −softplus(logsumexp_{c≠y}(μ_c + ν_c/2) + ν_y/2 − μ_y), and its gradients.

    The product of exponentials in the paper overflows; this form does not.
    """
    observed_mean = tf.reduce_sum(one_hot * Fmu, axis=-1, keepdims=True)
    observed_variance = tf.reduce_sum(one_hot * Fvar, axis=-1, keepdims=True)
    exponents = tf.where(one_hot > 0.0, tf.constant(-np.inf, Fmu.dtype), Fmu + 0.5 * Fvar)
    log_rivals = tf.reduce_logsumexp(exponents, axis=-1, keepdims=True)
    log_p = log_rivals + 0.5 * observed_variance - observed_mean
    wrong = tf.sigmoid(log_p)
    shares = wrong * tf.exp(exponents - log_rivals)
    value = -tf.nn.softplus(log_p)[..., 0]
    return value, one_hot * wrong - shares, -0.5 * (one_hot * wrong + shares)
