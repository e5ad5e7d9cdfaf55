"""One training step under XLA: it compiles, and it does what it does without."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.models.build import build_model, precision_context
from gpcnoise_cli.training.batches import Minibatch, batch_indices
from gpcnoise_cli.training.optimizers import build_optimizer
from gpcnoise_cli.training.schedule import Schedule

STEPS = 3


def losses(likelihood: str, optimizer_name: str, *, compiled: bool) -> list[float]:
    """Those of the first steps, minibatches and all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)).astype(np.float32)
    Y = (X[:, :1] > 0).astype(np.int64) + (X[:, 1:] > 0)
    config = compose([f"likelihood={likelihood}", f"optimizer={optimizer_name}", "inducing=6"])
    with precision_context(config.runtime.precision):
        model = build_model(config, X, 3)
        optimizer = build_optimizer(model, config.optimizer, Schedule(100, config.optimizer))

        def step(number: tf.Tensor) -> tf.Tensor:
            rows = batch_indices(0, number, len(X), 16)
            return optimizer.step(
                Minibatch(tf.gather(tf.constant(X), rows), tf.gather(tf.constant(Y), rows), rows), number
            )

        run = tf.function(step, jit_compile=compiled, autograph=False)
        return [float(run(tf.constant(number, tf.int64))) for number in range(STEPS)]


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adam", "natgrad"])
@pytest.mark.parametrize("likelihood", ["softmax", "probit"])
def test_a_step_compiles_and_finds_the_same_losses(likelihood: str, optimizer: str) -> None:
    plain = losses(likelihood, optimizer, compiled=False)
    assert plain[0] != plain[-1]
    assert_allclose(losses(likelihood, optimizer, compiled=True), plain, rtol=1e-5)
