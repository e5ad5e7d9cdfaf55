"""Natural gradients for q(u), in closed form from what the adjoint already computed.

In the whitened space a natural-gradient step of size ρ moves the precision Λ_c = S_c⁻¹ towards
I − 2 A diag(∂ν^c) Aᵀ and then the mean by ρ S_c (A ∂μ^c − m^c), where ∂μ, ∂ν are the gradients of the scaled expected
log likelihood; A diag(∂ν) Aᵀ is `Adjoints.S`. One Cholesky factor of Λ_c per class gives S_c, log det and trace.

The softmax bounds have ∂ν ≤ 0, so Λ stays positive definite for any ρ ≤ 1. The Gaussian-noise family does not: a
misclassified point has ∂ν > 0. There the step is bent to Λ + ρG + ½ρ² G S G = ½Λ + ½(Λ + ρG) S (Λ + ρG), which agrees
to first order, has the same fixed points, and cannot leave the positive definite matrices.

That family's bound is also flat wherever q(f) is sure of itself, so a start from nothing may end with every row in the
largest class. The first steps therefore follow the softmax bound, which is concave, on the same q(f); the family's own
bound takes over from a q(f) that already knows the classes.

The predictive objective is bent and started in the same way, whatever the likelihood. Besides, its curvature in the
mean is not Λ: a term log E_q[p] has the second derivative 2∂ν − (∂μ)² by μ, that of an ELBO 2∂ν alone. With labels that
are right as often as the model says, the ∂ν cancel, Λ stays near I, and a step of the mean by Λ⁻¹ is many times too
long. So the mean, and it alone, moves by (Λ + A diag((∂μ)²) Aᵀ)⁻¹; where the step vanishes is the same.
"""

from __future__ import annotations

import tensorflow as tf

from gpcnoise_cli.config.schema import OptimizerConfig
from gpcnoise_cli.likelihoods.softmax import SoftmaxLikelihood
from gpcnoise_cli.models.conditional import (
    Marginals,
    adjoint,
    by_kernel,
    inverse_cholesky,
    marginals,
    weighted_squares,
)
from gpcnoise_cli.models.svgp import FurtherMean, FusedSVGP
from gpcnoise_cli.training.adam import Adam
from gpcnoise_cli.training.batches import Minibatch
from gpcnoise_cli.training.optimizers import Optimizer, when_finite
from gpcnoise_cli.training.replicas import sum_of_parts
from gpcnoise_cli.training.schedule import Schedule

# A q(u) that knows nothing yet should not jump: the step size grows geometrically from this fraction of its full size.
FIRST_FRACTION = 0.1
# A failed step halves the size; this many good ones make up for it.
MOST_HALVINGS, STEPS_TO_RECOVER = 10, 50


class NaturalOptimizer(Optimizer):
    """Natural gradients on q(u); Adam on the kernel, the inducing points and a free δ."""

    def __init__(
        self, model: FusedSVGP, config: OptimizerConfig, schedule: Schedule, majority_error: float | None = None
    ) -> None:
        super().__init__(model, config, schedule, majority_error)
        self.concave = model.likelihood.concave
        q_sqrt = tf.cast(model.q_sqrt, tf.float64)
        precision = tf.linalg.inv(tf.matmul(q_sqrt, q_sqrt, transpose_b=True))
        # Whitened precisions are well conditioned, above all where Λ ⪰ I: the work dtype serves them.
        self.precision = tf.Variable(tf.cast(precision, model.work), trainable=False)
        # With Λ = R Rᵀ, the variable is R⁻¹, so that S = R⁻ᵀ R⁻¹.
        self.root_inverse = tf.Variable(tf.cast(inverse_cholesky(precision), model.work), trainable=False)
        self.halvings = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self.of_likelihood = list(model.likelihood.trainable_variables)
        self.of_kernel = [*model.kernel.trainable_variables, *model.further_weights]
        self.of_points = model.points
        self.slow = Adam([*self.of_kernel, *self.of_likelihood], config.beta_2)
        self.points = Adam(self.of_points, config.beta_2)

    @property
    def variables(self) -> list[tf.Variable]:
        own = [self.majority_error, self.precision, self.root_inverse, self.halvings]
        return [*own, *self.slow.variables, *self.points.variables]

    def step(self, batch: Minibatch, step: tf.Tensor) -> tf.Tensor:
        model, X, Y = self.model, batch.X, batch.Y
        with tf.GradientTape(watch_accessed_variables=False) as kernel_tape:
            kernel_tape.watch([*self.of_kernel, *self.of_points])
            matrices = model.kernel_matrices(X)
            further = model.further_mean(X, matrices[0])
        q_mu = tf.convert_to_tensor(model.q_mu)
        mean, forward, mu, nu = self._forward(matrices, further)
        expectations, d_mu, d_nu = self._expectation_gradients(mu, nu, Y, step)
        scale = model.data_scale(tf.shape(X)[0])
        kl = self._kl(q_mu) if further is None else self._kl(q_mu) + further.kl
        loss = kl - scale * tf.cast(tf.reduce_sum(expectations), model.exact)

        weight = tf.cast(scale, model.work)
        curvature = self._curvature(forward, weight * tf.square(d_mu))
        d_mu, d_nu = d_mu * weight, d_nu * weight
        back = adjoint(forward, mean, d_mu, d_nu)
        outputs, d_outputs = [*matrices], [-back.K_mm, -back.K_nm, -back.k_diag]
        if further is not None:
            outputs += [*further]
            d_outputs += [-tf.cast(back.q_mu, further.shift.dtype), -d_mu, tf.ones_like(further.kl)]
        d_kernel = kernel_tape.gradient(outputs, [*self.of_kernel, *self.of_points], output_gradients=d_outputs)
        d_likelihood = self._likelihood_gradients(X, mu, nu, Y, scale)
        # The matrices first, so that their positions are known.
        d_S, curvature, d_q_mu, loss, delta, *gradients = sum_of_parts(
            batch.part,
            [back.S, curvature, back.q_mu, loss, self.delta_star(mu, nu, Y), *d_kernel, *d_likelihood],
            symmetric=(0, 1),
        )
        precision, root_inverse, new_q_mu = self._natural_step(q_mu, d_q_mu, d_S, step, curvature)

        def move() -> None:
            rate = self.config.learning_rate * self.schedule.factor(step)
            of_kernel, rest = len(self.of_kernel), len(self.of_kernel) + len(self.of_points)
            self.slow.apply([*gradients[:of_kernel], *gradients[rest:]], step, rate)
            self.points.apply(gradients[of_kernel:rest], step, rate * self.config.inducing_rate_factor)
            self.precision.assign(precision)
            self.root_inverse.assign(root_inverse)
            model.q_mu.unconstrained_variable.assign(new_q_mu)
            self.halvings.assign(tf.maximum(self.halvings - 1 / STEPS_TO_RECOVER, 0.0))
            self.track_delta(delta, step)

        # A failed factorisation shows in the new mean before it shows in any loss.
        return when_finite(loss + tf.reduce_sum(new_q_mu), loss, move)

    def marginals(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        matrices = self.model.kernel_matrices(X)
        _, _, mu, nu = self._forward(matrices, self.model.further_mean(X, matrices[0]))
        return mu, nu

    def _forward(
        self, matrices: tuple[tf.Tensor, tf.Tensor, tf.Tensor], further: FurtherMean | None
    ) -> tuple[tf.Tensor, Marginals, tf.Tensor, tf.Tensor]:
        """The mean that the first basis is asked with, what it says, and μ and ν of both."""
        mean = tf.convert_to_tensor(self.model.q_mu)
        if further is not None:
            mean += further.shift
        forward = marginals(*matrices, mean, self._covariance_offset())
        mu = forward.mu if further is None else forward.mu + further.added
        return mean, forward, mu, self.model.floor_variance(forward.nu, matrices[2])

    def settle(self) -> None:
        # With JΛJ = R Rᵀ, J the reversal of order, JR⁻ᵀJ is a lower triangular root of S, found without forming S.
        backwards = [1, 2]
        root_inverse = inverse_cholesky(tf.reverse(tf.cast(self.precision, tf.float64), backwards))
        root = tf.linalg.matrix_transpose(tf.reverse(root_inverse, backwards))
        self.model.q_sqrt.unconstrained_variable.assign(tf.cast(root, self.model.exact))

    def soften(self) -> bool:
        self.halvings.assign_add(1.0)
        return bool(self.halvings.numpy() <= MOST_HALVINGS)

    def _expectation_gradients(
        self, mu: tf.Tensor, nu: tf.Tensor, Y: tf.Tensor, step: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The expectation that counts, and the gradients to follow at `step`."""
        expectations, d_mu, d_nu = self.model.likelihood.expectation_gradients(mu, nu, Y)
        if self.concave:
            return expectations, d_mu, d_nu
        d_mu, d_nu = tf.cond(
            step < self.config.warm_up, lambda: self._concave_gradients(mu, nu, Y), lambda: (d_mu, d_nu)
        )
        return expectations, d_mu, d_nu

    def _concave_gradients(self, mu: tf.Tensor, nu: tf.Tensor, Y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Those of the softmax bound; a single latent function is the second class's lead over a zero."""
        likelihood = self.model.likelihood
        single = [[0, 0], [likelihood.num_classes - likelihood.num_latent, 0]]
        mu, nu = tf.pad(mu, single), tf.pad(nu, single)
        softmax = SoftmaxLikelihood(likelihood.num_classes, likelihood.concave_bound)
        _, d_mu, d_nu = softmax.expectation_gradients(mu, nu, Y)
        return d_mu[:, -likelihood.num_latent :], d_nu[:, -likelihood.num_latent :]

    def _covariance_offset(self) -> tf.Tensor:
        """P_c = S_c − I = R⁻ᵀ R⁻¹ − I, in the work dtype."""
        S = tf.matmul(self.root_inverse, self.root_inverse, transpose_a=True)
        return tf.linalg.set_diag(S, tf.linalg.diag_part(S) - 1)

    def _kl(self, q_mu: tf.Tensor) -> tf.Tensor:
        """KL(q(u) ‖ p(u)) in the whitened space; R⁻¹ gives both tr S and log det S."""
        log_det = 2 * tf.reduce_sum(tf.math.log(tf.cast(tf.linalg.diag_part(self.root_inverse), q_mu.dtype)))
        trace = 2 * tf.cast(tf.nn.l2_loss(self.root_inverse), q_mu.dtype)
        return (trace + tf.reduce_sum(tf.square(q_mu)) - tf.cast(tf.size(q_mu), q_mu.dtype) - log_det) / 2

    def _likelihood_gradients(
        self, X: tf.Tensor, mu: tf.Tensor, nu: tf.Tensor, Y: tf.Tensor, scale: tf.Tensor
    ) -> list[tf.Tensor]:
        """Gradients of the loss in the likelihood's own parameters: those of a free δ."""
        if not self.of_likelihood:
            return []
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self.of_likelihood)
            expectations = self.model.likelihood.variational_expectations(X, mu, nu, Y)
            value = scale * tf.cast(tf.reduce_sum(expectations), scale.dtype) + self.model.log_prior_density()
        return [-g for g in tape.gradient(value, self.of_likelihood)]

    def _step_size(self, step: tf.Tensor) -> tf.Tensor:
        """ρ: a geometric ramp up, the schedule's fall at the end, halved after each failure."""
        ramp = tf.minimum(tf.cast(step, tf.float64) / max(self.config.natural_ramp, 1), 1.0)
        size = self.config.natural_step * tf.pow(tf.constant(FIRST_FRACTION, tf.float64), 1.0 - ramp)
        return size * self.schedule.factor(step) * tf.pow(tf.constant(0.5, tf.float64), self.halvings)

    def _curvature(self, forward: Marginals, squares: tf.Tensor) -> tf.Tensor | None:
        """What Λ lacks of the objective's curvature in the mean, A diag(n/B (∂μ)²) Aᵀ; None if that is the ELBO's."""
        if self.model.likelihood.objective == "elbo":
            return None
        return weighted_squares(forward.A, by_kernel(squares, forward.A.shape[0]))

    def _natural_step(
        self, q_mu: tf.Tensor, d_q_mu: tf.Tensor, d_S: tf.Tensor, step: tf.Tensor, curvature: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """(Λ, R⁻¹, m) after one step."""
        work = self.model.work
        rho = tf.cast(self._step_size(step), work)
        moved = (1 - rho) * self.precision - (2 * rho) * d_S
        moved = tf.linalg.set_diag(moved, tf.linalg.diag_part(moved) + rho)
        if not self.concave:
            bent = tf.matmul(moved, self.root_inverse, transpose_b=True)
            moved = (self.precision + tf.matmul(bent, bent, transpose_b=True)) / 2
        root_inverse = inverse_cholesky(moved)
        pull = tf.transpose(d_q_mu - tf.cast(q_mu, work))[:, :, None]
        of_mean = root_inverse if curvature is None else inverse_cholesky(moved + curvature)
        shift = rho * tf.matmul(of_mean, pull)  # its length is that of the mean's step Δ, √(Δᵀ Λ Δ)
        if not self.concave:
            shift *= tf.minimum(
                tf.ones([], work), self.config.longest_mean_step / (tf.norm(shift, axis=1, keepdims=True) + 1e-30)
            )
        move = tf.transpose(tf.matmul(of_mean, shift, transpose_a=True)[:, :, 0])
        return moved, root_inverse, q_mu + tf.cast(move, q_mu.dtype)
