"""Training the predictive objective: every likelihood, both optimizers, and steps that do not run away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split, Table, make_split
from gpcnoise_cli.likelihoods import LIKELIHOODS
from gpcnoise_cli.training.trainer import Trainer

Build = Callable[..., Trainer]


def objective(trainer: Trainer) -> float:
    split = trainer.split
    return float(trainer.model.elbo((tf.constant(split.X_train), split.y_train[:, None])))


@pytest.mark.parametrize("optimizer", [pytest.param("adam", marks=pytest.mark.slow), "natgrad"])
@pytest.mark.parametrize("classes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    "likelihood",
    [
        name if name in ("probit", "softmax") else pytest.param(name, marks=pytest.mark.slow)
        for name, spec in LIKELIHOODS.items()
        if len(spec.objectives) > 1
    ],
)
def test_training_raises_it_and_the_model_predicts(
    config: Callable[..., TrainConfig],
    split: Callable[..., Split],
    trainer: Build,
    likelihood: str,
    classes: int,
    optimizer: str,
) -> None:
    options = (f"likelihood={likelihood}", f"optimizer={optimizer}", "objective=predictive", "delta=optimal")
    run = trainer(config(*options, "iterations=110", "optimizer.learning_rate=0.05"), split(classes, 120))
    before = objective(run)
    run.train()
    assert objective(run) > before + 2.0
    assert np.all(np.isfinite(run.probabilities(run.split.X_test)))
    assert not run.progress.listeners[0].messages


@pytest.mark.parametrize("mode", ["free", "optimal"])
def test_delta_moves_under_it(
    config: Callable[..., TrainConfig], split: Callable[..., Split], trainer: Build, mode: str
) -> None:
    options = ("likelihood=probit", "optimizer=adam", "objective=predictive", f"delta={mode}", "delta.value=0.2")
    run = trainer(config(*options, "iterations=150", "optimizer.learning_rate=0.05"), split(2, 200))
    run.train()
    assert 0.0 < run.model.delta_value() < 0.19


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["softmax", "probit"])
def test_natural_gradients_do_not_run_away_where_classes_overlap(
    config: Callable[..., TrainConfig], trainer: Build, likelihood: str
) -> None:
    """Labels that the inputs say little about: Λ then stays near I, and steps of the mean by its inverse diverge."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.argmax(X + rng.gumbel(scale=2.0, size=X.shape), axis=1)
    table = Table(X, y, (0, 1, 2), ("f0", "f1", "f2"), "generated")
    data = make_split("overlap", table, protocol="clean", split=0)
    sizes = ("inducing=30", "batch_size=512", "iterations=200", "runtime.eval_every=1000", "optimizer.early_stop=false")
    values = {}
    for name in ("elbo", "predictive"):
        run = trainer(config("preset=fast", f"likelihood={likelihood}", f"objective={name}", *sizes), data)
        run.train()
        run.model.likelihood.objective = "predictive"
        values[name] = objective(run)
    assert values["predictive"] > values["elbo"]
