"""What a model is worth at this moment, and whether the working precision can be trusted with it.

Both are asked of one fixed sample of the training rows, so that two moments of a run can be compared without the noise
of minibatches. The bound is taken in float64 whatever the run computes in. The same expectations in the working
precision, by the optimizer's own form of q(u), show what rounding does to them: K_nm is rounded to float32 and its
error amplified by L⁻¹, so it depends on the kernel, and on where training has led it, how much is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from check_shapes import disable_check_shapes
from numpy.typing import NDArray

from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training.optimizers import Optimizer

SAMPLE = 2048
# Rounding may move a row's expectation by this much on average, in nats and as a part of the mean loss of a row: well
# below what a run gains between two looks at it, and a fifth of what counts as a different nll.
ROUNDING_ALLOWED, ROUNDING_PART = 1e-3, 1e-2


@dataclass(frozen=True)
class Assessment:
    """`bound` on all training rows; `rounding`, the mean change of a row's expectation, and what is `allowed` of it."""

    bound: float
    rounding: float
    allowed: float

    @property
    def trustworthy(self) -> bool:
        return self.rounding <= self.allowed  # False for NaN


class Assessor:
    """Holds the sample; runs without a trace, since it is asked only a few times."""

    def __init__(
        self,
        model: FusedSVGP,
        X: NDArray[np.floating],
        y: NDArray[np.integer],
        seed: int,
        weights: NDArray[np.floating] | None = None,
    ) -> None:
        self.model = model
        rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:SAMPLE])
        self.X, self.Y = tf.constant(X[rows]), tf.constant(np.asarray(y[rows], dtype=np.int32)[:, None])
        self.weights = None if weights is None else np.asarray(weights[rows], dtype=np.float64)

    def __call__(self, optimizer: Optimizer) -> Assessment:
        """The state of `optimizer` and its model now; a kernel matrix that does not factorise counts as no state."""
        optimizer.settle()
        try:
            with disable_check_shapes():
                exact = self._expectations(*self.model.marginals(self.X, tf.float64))
                worked = exact
                if self.model.work != tf.float64:
                    worked = self._expectations(*optimizer.marginals(self.X))
                kl = float(self.model.prior_kl())
        except tf.errors.InvalidArgumentError as error:
            if "Cholesky" not in str(error):
                raise
            return Assessment(-np.inf, np.inf, 0.0)
        standing = 1.0 if self.weights is None else float(np.mean(self.weights))  # how many rows a row stands for
        bound = self.model.num_data * standing * self.mean(exact) - kl
        allowed = ROUNDING_ALLOWED + ROUNDING_PART * self.mean(np.abs(exact))
        return Assessment(bound if np.isfinite(bound) else -np.inf, self.mean(np.abs(worked - exact)), allowed)

    def mean(self, values: NDArray[np.float64]) -> float:
        """Of values of the sample's rows, by their weights."""
        return float(np.mean(values) if self.weights is None else np.average(values, weights=self.weights))

    def _expectations(self, mu: tf.Tensor, nu: tf.Tensor) -> NDArray[np.float64]:
        expectations, _, _ = self.model.likelihood.expectation_gradients(mu, nu, self.Y)
        return expectations.numpy().astype(np.float64)
