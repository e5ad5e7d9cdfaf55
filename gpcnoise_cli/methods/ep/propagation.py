"""The compiled part of GPCep: steps on minibatches, the posterior rebuilt from all sites, and the evidence.

A step takes the sites of its rows out of the posterior (the cavities), finds new ones, goes the damped way towards
them, and lets Adam follow the gradient of the evidence. At a fixed point of EP that gradient is the one of Σ log Φ(β)
with the cavities held constant. As a function of the features a of a row, a cavity has

    mean aᵀm + (aᵀw)(τ t − κ)/(1 − τ q),   variance aᵀSa + (aᵀw)² τ/(1 − τ q),   w = S a₀, t = a₀ᵀm, q = a₀ᵀS a₀,

with a₀ the features as they are; so the gradient by a is a sum of m and w with one weight each per row and latent
function, and only a and s are differentiated further.

Features change with every step of Adam, and the posterior still contains the sites with the old ones. Taking a site
out with features that it was not put in with makes cavities lose their variance in the long run, so the posterior is
rebuilt from all sites once per pass over the data. A step that meets such a cavity moves nothing and says so.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import OptimizerConfig
from gpcnoise_cli.methods.ep.factors import LEAST_REMAINING, Factors, Sites, Tilted, site_normaliser
from gpcnoise_cli.methods.ep.model import EPModel
from gpcnoise_cli.models.conditional import inverse_cholesky
from gpcnoise_cli.training.adam import Adam
from gpcnoise_cli.training.schedule import Schedule

DONE, NO_CAVITY, NOT_FINITE = range(3)
# Rows per block where all rows are visited.
BLOCK = 2048


class Propagation:
    """The sites of all training rows, and what is done with them."""

    def __init__(
        self,
        model: EPModel,
        X: NDArray[np.floating],
        y: NDArray[np.integer],
        optimizer: OptimizerConfig,
        schedule: Schedule,
        damping: float,
    ) -> None:
        self.model, self.optimizer, self.schedule, self.damping = model, optimizer, schedule, damping
        self.n = len(X)
        self.X, self.y = tf.constant(X, tf.float64), tf.constant(y, tf.int64)
        binary = model.num_classes == 2
        shape = [self.n, 2, 1, 1] if binary else [self.n, 2, 2, model.num_classes]
        self.sites = tf.Variable(tf.zeros(shape, tf.float64), trainable=False)  # [n, (τ, κ), sides, F]
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.careful = tf.Variable(0, dtype=tf.int64, trainable=False)  # steps left with half the damping
        inducing = model.Z.unconstrained_variable
        others = [variable for variable in model.trainable_variables if variable is not inducing]
        self.adams = [Adam(others, optimizer.beta_2), Adam([inducing], optimizer.beta_2)]
        signature = [tf.TensorSpec([None], tf.int64), tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.bool)]
        self._compiled = {
            learn: tf.function(
                lambda order, bounds, skip, learn=learn: self._run(order, bounds, skip, learn),
                input_signature=signature,
                autograph=False,
            )
            for learn in (True, False)
        }
        self._compiled_rebuild = tf.function(self._rebuild, input_signature=[], autograph=False)
        self._compiled_evidence = tf.function(self._evidence, input_signature=[], autograph=False)

    @property
    def variables(self) -> list[tf.Variable]:
        """All that changes."""
        adams = [variable for adam in self.adams for variable in adam.variables]
        model = self.model
        return [
            *model.trainable_variables,
            *(model.jitter, model.precision, model.shift),
            *adams,
            *(self.sites, self.step, self.careful),
        ]

    def run(self, batches: list[NDArray[np.integer]], learn: bool, skip: bool = False) -> tuple[int, int, float]:
        """A step for each batch: how it ended, how many factors were skipped, and the last loss.

        With `skip`, factors that have no cavity are left as they are; else the first of them ends the run.
        """
        bounds = np.cumsum([0, *map(len, batches)])
        order = tf.constant(np.concatenate(batches), tf.int64)
        found = self._compiled[learn](order, tf.constant(bounds, tf.int64), tf.constant(skip))
        status, skipped, loss = (value.numpy() for value in found)
        return int(status), int(skipped), float(loss)

    def rebuild(self) -> None:
        """Λ and η anew, from all sites with the features as they are."""
        self._compiled_rebuild()

    def evidence(self) -> float:
        """EP's approximation of log p(y), the sum over all rows."""
        return float(self._compiled_evidence())

    def _run(self, order: tf.Tensor, bounds: tf.Tensor, skip: tf.Tensor, learn: bool) -> tuple[tf.Tensor, ...]:
        def body(k: tf.Tensor, status: tf.Tensor, skipped: tf.Tensor, loss: tf.Tensor) -> tuple[tf.Tensor, ...]:
            status, missing, loss = self._one_step(order[bounds[k] : bounds[k + 1]], skip, learn)
            return k + 1, status, skipped + missing, loss

        def goes_on(k: tf.Tensor, status: tf.Tensor, skipped: tf.Tensor, loss: tf.Tensor) -> tf.Tensor:
            return tf.logical_and(k < tf.size(bounds) - 1, status == DONE)

        start = (tf.constant(0), tf.constant(DONE), tf.constant(0), tf.constant(0.0, tf.float64))
        return tf.while_loop(goes_on, body, start)[1:]

    def _one_step(self, rows: tf.Tensor, skip: tf.Tensor, learn: bool) -> tuple[tf.Tensor, ...]:
        model = self.model
        factors, sites = self._factors(rows), self._sites(rows)
        parameters = [variable for adam in self.adams for variable in adam.parameters]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(parameters if learn else [])
            A, s = model.features(tf.gather(self.X, rows))
        mean, S = model.posterior()
        t, q, W = _marginals(A, mean, S)
        cavity = factors.cavity(t, q, sites)
        has_cavity = tf.reduce_all(cavity.remaining > LEAST_REMAINING, axis=1, keepdims=True)
        present = factors.present
        missing = tf.reduce_sum(tf.where(has_cavity, 0, tf.cast(present, tf.int32)))
        # What has no cavity is computed as if it had no site, and not used.
        used = tf.where(has_cavity, present, 0.0)
        kept = Sites(*(tf.where(has_cavity, each, 0.0) for each in sites))
        cavity = factors.cavity(t, q, kept)
        tilted = factors.tilted(cavity, s)
        scale = self.n / tf.cast(tf.size(rows), tf.float64)
        loss = -scale * tf.reduce_sum(used * tilted.log_mass)
        gradients = None
        if learn:
            by_A, by_s = _slopes(factors, kept, tilted, cavity.remaining, used, t, mean, W, A.shape[0])
            gradients = tape.gradient((A, s), parameters, (-scale * by_A, -scale * by_s))

        def move() -> tf.Tensor:
            damping = self.damping * tf.where(self.careful > 0, tf.constant(0.5, tf.float64), 1.0)
            change = Sites(
                *(damping * used * (new - old) for new, old in zip(tilted.sites, sites, strict=True)),
            )
            changed = tf.stack([old + difference for old, difference in zip(sites, change, strict=True)], axis=1)
            self.sites.scatter_update(tf.IndexedSlices(changed, rows))
            model.add_sites(A, factors.by_latent(change.tau), factors.by_latent(change.kappa))
            if gradients is not None:
                self._adam(gradients)
            self.careful.assign(tf.maximum(self.careful - 1, 0))
            self.step.assign_add(1)
            return tf.constant(DONE)

        finite = tf.math.is_finite(loss)
        if gradients is not None:
            finite &= tf.reduce_all([tf.reduce_all(tf.math.is_finite(each)) for each in gradients])
        refused = tf.logical_and(missing > 0, tf.logical_not(skip))
        trouble = tf.where(refused, NO_CAVITY, tf.where(finite, DONE, NOT_FINITE))
        status = tf.cond(trouble == DONE, move, lambda: trouble)
        return status, tf.where(refused, 0, missing), loss

    def _adam(self, gradients: list[tf.Tensor]) -> None:
        rate = self.optimizer.learning_rate * self.schedule.factor(self.step)
        step, of_inducing = self.step.read_value(), self.optimizer.inducing_rate_factor
        for adam, factor in zip(self.adams, (1.0, of_inducing), strict=True):
            count = len(adam.parameters)
            adam.apply(gradients[:count], step, factor * rate)
            gradients = gradients[count:]

    def _rebuild(self) -> None:
        model = self.model
        model.forget()

        def body(at: tf.Tensor) -> tuple[tf.Tensor]:
            rows = tf.range(at, tf.minimum(at + BLOCK, self.n))
            A, _ = model.features(tf.gather(self.X, rows))
            factors, sites = self._factors(rows), self._sites(rows)
            model.add_sites(A, factors.by_latent(sites.tau), factors.by_latent(sites.kappa))
            return (at + BLOCK,)

        tf.while_loop(lambda at: at < self.n, body, (tf.constant(0, tf.int64),))

    def _evidence(self) -> tf.Tensor:
        model = self.model
        mean, S = model.posterior()

        def body(at: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            rows = tf.range(at, tf.minimum(at + BLOCK, self.n))
            A, s = model.features(tf.gather(self.X, rows))
            factors, sites = self._factors(rows), self._sites(rows)
            t, q, _ = _marginals(A, mean, S)
            cavity = factors.cavity(t, q, sites)
            terms = factors.tilted(cavity, s).log_mass - tf.reduce_sum(
                site_normaliser(cavity, sites), axis=1, keepdims=True
            )
            return at + BLOCK, total + tf.reduce_sum(factors.present * terms)

        start = (tf.constant(0, tf.int64), tf.constant(0.0, tf.float64))
        _, total = tf.while_loop(lambda at, _: at < self.n, body, start)
        root = inverse_cholesky(tf.convert_to_tensor(model.precision))
        log_determinant = -2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(root)))
        return total - 0.5 * log_determinant + 0.5 * tf.reduce_sum(mean * model.shift)

    def _factors(self, rows: tf.Tensor) -> Factors:
        return Factors(tf.one_hot(tf.gather(self.y, rows), self.model.num_classes, dtype=tf.float64))

    def _sites(self, rows: tf.Tensor) -> Sites:
        return Sites(*tf.unstack(tf.gather(self.sites, rows), axis=1))


def _marginals(A: tf.Tensor, mean: tf.Tensor, S: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """aᵀm and aᵀSa, [B, L], and S a, [L, B, m]."""
    W = tf.matmul(A, S)
    return tf.transpose(tf.linalg.matvec(A, mean)), tf.transpose(tf.reduce_sum(W * A, axis=2)), W


def _slopes(
    factors: Factors,
    sites: Sites,
    tilted: Tilted,
    remaining: tf.Tensor,
    used: tf.Tensor,
    t: tf.Tensor,
    mean: tf.Tensor,
    W: tf.Tensor,
    kernels: int,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The gradients of Σ log Φ(β) by the features [G, B, m] and by s [B, L], with constant cavities."""
    by_mean, by_variance = used * tilted.by_mean, used * tilted.by_variance
    along_w = (by_mean * (sites.tau * factors.at_sides(t) - sites.kappa) + 2 * by_variance) / remaining
    of_m, of_w = (tf.transpose(factors.by_latent(each)) for each in (by_mean, along_w))  # [L, B]
    by_A = of_m[:, :, None] * mean[:, None, :] + of_w[:, :, None] * W
    if kernels == 1:
        by_A = tf.reduce_sum(by_A, axis=0, keepdims=True)
    return by_A, factors.by_latent(tf.broadcast_to(by_variance, tf.shape(by_mean)))
