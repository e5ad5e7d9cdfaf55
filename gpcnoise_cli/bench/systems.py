"""What is timed: this engine, stock GPflow, and the matrix products that no exact method avoids.

All TensorFlow systems run in the same compiled loop, on the same minibatches and with the same Adam; stock GPflow gets
the same likelihood, and its own kernels (with one per class, `SeparateIndependent` on inducing points that the classes
share) and model around it. So a ratio says what the model costs.
"""

from __future__ import annotations

import time
from typing import Protocol

import gpflow
import numpy as np
import tensorflow as tf

from gpcnoise_cli.bench.case import Case, Problem
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.models.build import assemble, precision_context
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training.adam import Adam
from gpcnoise_cli.training.batches import Minibatch
from gpcnoise_cli.training.loop import TrainingLoop
from gpcnoise_cli.training.optimizers import Optimizer, build_optimizer
from gpcnoise_cli.training.schedule import Schedule


class System(Protocol):
    """Something whose steps can be timed; `first_loss` is what it found before its first step."""

    first_loss: float | None

    def run(self, steps: int) -> float:
        """Seconds that `steps` further steps took."""

    def close(self) -> None: ...


class Loop:
    """A model and its optimizer in this program's compiled loop."""

    def __init__(self, optimizer: Optimizer, problem: Problem, config: TrainConfig) -> None:
        self.precision = config.runtime.precision
        self.loop = TrainingLoop(optimizer, problem.X, problem.y, batch_size=config.batch_size, seed=config.seed)
        self.steps = 0
        self.first_loss: float | None = None
        self.run(1)

    def run(self, steps: int) -> float:
        self.steps += steps
        began = time.perf_counter()
        with precision_context(self.precision):
            loss = self.loop.run_until(self.steps)
        took = time.perf_counter() - began
        if int(self.loop.step) != self.steps:
            raise GpcnoiseError(f"a benchmarked model failed at step {int(self.loop.step)} with loss {loss}.")
        if self.first_loss is None:
            self.first_loss = loss
        return took

    def close(self) -> None:
        pass


def engine(problem: Problem, optimizer: str = "adam", precision: str = "mixed") -> Loop:
    """This program's model and optimizer."""
    config = problem.case.config(optimizer, precision)
    with precision_context(precision):
        model = _model(problem, config)
        schedule = Schedule(config.iterations, config.optimizer)
        return Loop(build_optimizer(model, config.optimizer, schedule), problem, config)


def stock(problem: Problem) -> Loop:
    """`gpflow.models.SVGP` in float64, around the same likelihood, from the same start."""
    case, config = problem.case, problem.case.config("adam", "float64")

    def kernel() -> gpflow.kernels.Kernel:
        lengthscales = np.full(case.d, case.lengthscale) if case.ard else case.lengthscale
        return gpflow.kernels.RBF(variance=config.kernel.variance, lengthscales=lengthscales)

    with precision_context("float64"):
        kernels, inducing = kernel(), gpflow.inducing_variables.InducingPoints(problem.Z)
        if not case.shared:
            kernels = gpflow.kernels.SeparateIndependent([kernel() for _ in range(case.C)])
            inducing = gpflow.inducing_variables.SharedIndependentInducingVariables(inducing)
        model = gpflow.models.SVGP(
            kernels,
            _model(problem, config).likelihood,
            inducing,
            num_latent_gps=case.C,
            whiten=True,
            num_data=case.rows,
        )
        return Loop(StockAdam(model, config.optimizer.learning_rate), problem, config)


class StockAdam(Optimizer):
    """GPflow's own training loss under the same Adam."""

    def __init__(self, model: gpflow.models.SVGP, learning_rate: float) -> None:
        self.model = model
        self.learning_rate = learning_rate
        self.adam = Adam(model.trainable_variables)

    @property
    def variables(self) -> list[tf.Variable]:
        return self.adam.variables

    def step(self, batch: Minibatch, step: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self.adam.parameters)
            loss = self.model.training_loss((tf.cast(batch.X, tf.float64), batch.Y))
        gradients = tape.gradient(loss, self.adam.parameters)
        self.adam.apply(gradients, step, tf.constant(self.learning_rate, tf.float64))
        return loss


class Gemm:
    """The two stacked products of a step, 4 m² B C flops in float32: the floor under every exact method."""

    def __init__(self, case: Case) -> None:
        m, B = case.inducing, min(case.batch_size, case.rows)
        self.P, self.A, self.weighted = (
            tf.random.stateless_normal(shape, [0, seed])
            for seed, shape in enumerate([(case.C * m, m), (m, B), (case.C * m, B)])
        )
        self.first_loss: float | None = None
        self.products = tf.function(
            lambda P, A, weighted: (tf.matmul(P, A), tf.matmul(weighted, A, transpose_b=True)), autograph=False
        )
        self.run(1)

    def run(self, steps: int) -> float:
        began = time.perf_counter()
        for _ in range(steps):
            self.products(self.P, self.A, self.weighted)
        return time.perf_counter() - began

    def close(self) -> None:
        pass


def _model(problem: Problem, config: TrainConfig) -> FusedSVGP:
    case = problem.case
    return assemble(config, problem.Z, case.num_classes, num_data=case.rows, lengthscale=case.lengthscale)
