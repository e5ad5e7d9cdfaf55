"""What one training step does: Adam on everything (the paper's), or natural gradients for q(u) with Adam on the rest.

An optimizer's `step` is graph code, called inside the compiled loop: it takes a minibatch, moves the model, and returns
the loss it found before moving. A loss that is not finite moves nothing; the trainer sees it and decides.
"""

from __future__ import annotations

import abc
from collections.abc import Callable

import tensorflow as tf

from gpcnoise_cli.config.schema import OptimizerConfig
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training.adam import Adam
from gpcnoise_cli.training.batches import Minibatch
from gpcnoise_cli.training.replicas import sum_of_parts
from gpcnoise_cli.training.schedule import Schedule

# While nothing is learned δ* is near chance, (C − 1)/C, and there the bound no longer sees the data: a minibatch whose
# optimum is beyond this part of it moves δ nowhere.
CHANCE = 0.95
# δ follows closely only when the other rates are nearly nothing.
SETTLING_POWER = 4


class Optimizer(abc.ABC):
    """A way to move a model; `variables` is all it must remember between steps."""

    def __init__(
        self, model: FusedSVGP, config: OptimizerConfig, schedule: Schedule, majority_error: float | None = None
    ) -> None:
        self.model = model
        self.config = config
        self.schedule = schedule
        # The error of always naming the largest class of the training rows; by default that of equal classes.
        error = 1 - 1 / model.likelihood.num_classes if majority_error is None else majority_error
        self.majority_error = tf.Variable(error, dtype=tf.float64, trainable=False)

    @property
    @abc.abstractmethod
    def variables(self) -> list[tf.Variable]: ...

    @abc.abstractmethod
    def step(self, batch: Minibatch, step: tf.Tensor) -> tf.Tensor:
        """Move the model by a minibatch; the loss before the move."""

    def marginals(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """(μ, ν) at X as a step computes them."""
        return self.model.marginals(X)

    def settle(self) -> None:  # noqa: B027 (most optimizers have nothing to do here)
        """Bring the model's own parameters up to date, where the optimizer keeps q(u) in another form."""

    def soften(self) -> bool:
        """After a failed step: take smaller ones. False when there is nothing left to soften."""
        return False

    def delta_star(self, mu: tf.Tensor, nu: tf.Tensor, Y: tf.Tensor) -> tf.Tensor | None:
        """Mode `optimal`: where δ is to go for the sake of these rows."""
        likelihood = self.model.likelihood
        return likelihood.delta_star(mu, nu, Y) if likelihood.delta_mode == "optimal" else None

    def track_delta(self, best: tf.Tensor | None, step: tf.Tensor) -> None:
        """Mode `optimal`: let δ follow its closed-form maximiser.

        A large δ weakens the labels, and rows that could have been fitted, those of rare classes first, are called
        noise. So it starts low, moves slowly while rows are fitted, and follows closely when the other rates have
        fallen, so that it ends at the optimum for what was learned.
        """
        likelihood = self.model.likelihood
        if best is not None:
            delta, best = tf.cast(likelihood.delta, tf.float64), tf.cast(best, tf.float64)
            highest = self.config.delta_start * self.majority_error
            best = tf.where(step < self.config.warm_up, tf.minimum(best, highest), best)
            learned = best < CHANCE * (likelihood.num_classes - 1) / likelihood.num_classes
            rate = self.delta_rate(step) * tf.cast(learned, tf.float64)
            likelihood.assign_delta(delta + rate * (best - delta))

    def delta_rate(self, step: tf.Tensor) -> tf.Tensor:
        """The part of the way to its optimum that δ goes at `step`."""
        slow, quick = self.config.delta_rate, self.config.delta_settling
        settled = (1 - self.schedule.factor(step) / self.schedule.scale) ** SETTLING_POWER
        return tf.where(step < self.config.warm_up, tf.constant(quick, tf.float64), slow + (quick - slow) * settled)


def when_finite(value: tf.Tensor, loss: tf.Tensor, move: Callable[[], None]) -> tf.Tensor:
    """Run `move` only if `value` is a finite number; `loss` if it was run, else NaN, so that no failure goes unseen."""

    def moved() -> tf.Tensor:
        move()
        return tf.identity(loss)

    return tf.cond(tf.math.is_finite(value), moved, lambda: tf.constant(float("nan"), loss.dtype))


class AdamOptimizer(Optimizer):
    """Adam on all trainable parameters."""

    def __init__(
        self, model: FusedSVGP, config: OptimizerConfig, schedule: Schedule, majority_error: float | None = None
    ) -> None:
        super().__init__(model, config, schedule, majority_error)
        self.adam = Adam(model.trainable_variables, config.beta_2)
        self.root = model.q_sqrt.unconstrained_variable  # lower triangular, and so is its gradient

    @property
    def variables(self) -> list[tf.Variable]:
        return [self.majority_error, *self.adam.variables]

    def step(self, batch: Minibatch, step: tf.Tensor) -> tf.Tensor:
        model = self.model
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self.adam.parameters)
            mu, nu = model.marginals(batch.X)
            loss = -(model.elbo_given(mu, nu, batch.Y) + model.log_prior_density())
        gradients = tape.gradient(loss, self.adam.parameters)
        root = [2 + i for i, variable in enumerate(self.adam.parameters) if variable is self.root]
        loss, delta, *gradients = sum_of_parts(
            batch.part, [loss, self.delta_star(mu, nu, batch.Y), *gradients], triangular=root
        )

        def move() -> None:
            self.adam.apply(gradients, step, self.config.learning_rate * self.schedule.factor(step))
            self.track_delta(delta, step)

        return when_finite(loss, loss, move)


def build_optimizer(
    model: FusedSVGP, config: OptimizerConfig, schedule: Schedule, majority_error: float | None = None
) -> Optimizer:
    """The optimizer `config` names; natural gradients need the fused conditional."""
    from gpcnoise_cli.training.natgrad import NaturalOptimizer

    registry: dict[str, type[Optimizer]] = {"adam": AdamOptimizer, "natgrad": NaturalOptimizer}
    return registry[config.name](model, config, schedule, majority_error)
