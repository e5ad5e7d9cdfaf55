"""What every classification likelihood here has in common.

A label is a class index 0..C − 1 in one column. A likelihood says two things: what a point adds to the objective under
a Gaussian q(f), with its gradients (`_expectation_and_gradients`), and the class probabilities, given f or given q(f).
GPflow's interface follows from these. The objective is the ELBO, whose term is E_q[log p(y|f)] or a lower bound on it,
or predictive: log E_q[p(y|f)], the log density that a prediction is scored by. That is no smaller, and with it the
whole is no lower bound on the evidence. All arithmetic is done in the dtype of `Fmu`, so that a trainer may hand in
float32 blocks while its parameters are float64.
"""

from __future__ import annotations

import abc

import tensorflow as tf
from check_shapes import check_shapes, inherit_check_shapes
from gpflow.base import MeanAndVariance, TensorType
from gpflow.likelihoods import Likelihood

from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.likelihoods.numerics import ValueAndGradients, with_known_gradients
from gpcnoise_cli.likelihoods.registry import OBJECTIVES
from gpcnoise_cli.predictor.nodes import Array


class ClassLikelihood(Likelihood, abc.ABC):
    """A likelihood of a class label given `num_latent` latent function values."""

    bound_name: str
    """Which bound on the expected log likelihood `variational_expectations` returns, if the objective is the ELBO."""
    delta_mode: str | None = None
    """How δ is treated; None where the likelihood has no δ."""
    concave: bool = False
    """As in its registry line, where the objective is the ELBO; set by whoever builds it."""
    concave_bound: str = "gumbel"
    """The softmax bound that a training step may follow on the same q(f) where it wants a concave one."""

    def __init__(self, num_classes: int, num_latent: int, objective: str = "elbo") -> None:
        if objective not in OBJECTIVES:
            raise unknown_choice("objective", objective, OBJECTIVES)
        if num_classes < 2:
            raise UsageError(f"a classifier needs at least two classes, and the labels have {num_classes}.")
        super().__init__(input_dim=None, latent_dim=num_latent, observation_dim=1)
        self.num_classes = num_classes
        self.num_latent = num_latent
        self.objective = objective

    def prepare(self, counts: Array) -> None:
        """Told before training how many training rows each class has, [C]."""

    @abc.abstractmethod
    def _expectation_and_gradients(self, Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
        """A point's term [...] and its gradients [..., L], for labels one-hot [..., C] of the same batch shape."""

    @abc.abstractmethod
    def _class_probabilities(self, F: tf.Tensor) -> tf.Tensor:
        """p(y = c | f) for all classes, [..., C]."""

    @abc.abstractmethod
    def _predictive_probabilities(self, Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
        """∫ p(y = c | f) q(f) df for all classes, [..., C]."""

    @check_shapes(
        "Fmu: [batch..., latent_dim]",
        "Fvar: [batch..., latent_dim]",
        "return: [batch..., num_classes]",
    )
    def predict_probabilities(self, Fmu: TensorType, Fvar: TensorType) -> tf.Tensor:
        """Class probabilities under q(f) = N(Fmu, diag Fvar); rows sum to one."""
        return self._predictive_probabilities(*self._latent_moments(Fmu, Fvar))

    @check_shapes(
        "Fmu: [broadcast batch..., latent_dim]",
        "Fvar: [broadcast batch..., latent_dim]",
        "Y: [broadcast batch..., observation_dim]",
        "return[0]: [batch...]",
        "return[1]: [batch..., latent_dim]",
        "return[2]: [batch..., latent_dim]",
    )
    def expectation_gradients(self, Fmu: TensorType, Fvar: TensorType, Y: TensorType) -> ValueAndGradients:
        """`variational_expectations` and its gradients by `Fmu` and `Fvar`, in closed form and without a tape."""
        return self._expectation_and_gradients(*self._aligned(Fmu, Fvar, Y))

    @inherit_check_shapes
    def _variational_expectations(self, X: TensorType, Fmu: TensorType, Fvar: TensorType, Y: TensorType) -> tf.Tensor:
        Fmu, Fvar, one_hot = self._aligned(Fmu, Fvar, Y)
        return with_known_gradients(lambda mu, var: self._expectation_and_gradients(mu, var, one_hot), Fmu, Fvar)

    @inherit_check_shapes
    def _log_prob(self, X: TensorType, F: TensorType, Y: TensorType) -> tf.Tensor:
        return self._log_of_observed(self._class_probabilities(tf.convert_to_tensor(F)), Y)

    @inherit_check_shapes
    def _predict_log_density(self, X: TensorType, Fmu: TensorType, Fvar: TensorType, Y: TensorType) -> tf.Tensor:
        Fmu, Fvar, _ = self._aligned(Fmu, Fvar, Y)
        return self._log_of_observed(self._predictive_probabilities(Fmu, Fvar), Y)

    @inherit_check_shapes
    def _conditional_mean(self, X: TensorType, F: TensorType) -> tf.Tensor:
        return self._label_moments(self._class_probabilities(tf.convert_to_tensor(F)))[0]

    @inherit_check_shapes
    def _conditional_variance(self, X: TensorType, F: TensorType) -> tf.Tensor:
        return self._label_moments(self._class_probabilities(tf.convert_to_tensor(F)))[1]

    @inherit_check_shapes
    def _predict_mean_and_var(self, X: TensorType, Fmu: TensorType, Fvar: TensorType) -> MeanAndVariance:
        return self._label_moments(self.predict_probabilities(Fmu, Fvar))

    def _one_hot(self, Y: TensorType, dtype: tf.DType) -> tf.Tensor:
        return tf.one_hot(tf.cast(tf.convert_to_tensor(Y)[..., 0], tf.int32), self.num_classes, dtype=dtype)

    def _latent_moments(self, Fmu: TensorType, Fvar: TensorType) -> tuple[tf.Tensor, tf.Tensor]:
        Fmu = tf.convert_to_tensor(Fmu)
        # A single column would broadcast over the classes without a word.
        Fmu.shape[-1:].assert_is_compatible_with([self.num_latent])
        return Fmu, tf.cast(Fvar, Fmu.dtype)

    def _aligned(self, Fmu: TensorType, Fvar: TensorType, Y: TensorType) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Means, variances and one-hot labels in one dtype and one batch shape."""
        Fmu, Fvar = self._latent_moments(Fmu, Fvar)
        one_hot = self._one_hot(Y, Fmu.dtype)
        latent = tf.broadcast_dynamic_shape(tf.shape(Fmu), tf.shape(Fvar))
        batch = tf.broadcast_dynamic_shape(latent[:-1], tf.shape(one_hot)[:-1])
        latent = tf.concat([batch, [self.num_latent]], axis=0)
        classes = tf.concat([batch, [self.num_classes]], axis=0)
        return tf.broadcast_to(Fmu, latent), tf.broadcast_to(Fvar, latent), tf.broadcast_to(one_hot, classes)

    def _log_of_observed(self, probabilities: tf.Tensor, Y: TensorType) -> tf.Tensor:
        observed = tf.reduce_sum(probabilities * self._one_hot(Y, probabilities.dtype), axis=-1)
        return tf.math.log(tf.maximum(observed, probabilities.dtype.as_numpy_dtype(1e-37)))

    def _label_moments(self, probabilities: tf.Tensor) -> MeanAndVariance:
        """Mean and variance of the class index; of use for two classes, where the mean is p(y = 1)."""
        index = tf.range(self.num_classes, dtype=probabilities.dtype)
        mean = tf.reduce_sum(probabilities * index, axis=-1, keepdims=True)
        variance = tf.reduce_sum(probabilities * tf.square(index - mean), axis=-1, keepdims=True)
        return mean, variance
