"""What training must come to: δ at its optimum and never at chance, and bounds in the order of App. B."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split, Table, make_split
from gpcnoise_cli.likelihoods import LIKELIHOODS, build_likelihood
from gpcnoise_cli.training.trainer import Trainer

Build = Callable[..., Trainer]


def optimal_delta(trainer: Trainer) -> float:
    """1 − mean S over all training rows, S taken at the end of training."""
    model, split = trainer.model, trainer.split
    mean, variance = model.marginals(tf.constant(split.X_train))
    return float(model.likelihood.delta_star(mean, variance, split.y_train[:, None]))


@pytest.mark.parametrize(
    ("optimizer", "iterations", "seed"),
    [
        pytest.param("adam", 300, 0, marks=pytest.mark.slow),
        ("natgrad", 150, 1),
        pytest.param("natgrad", 150, 0, marks=pytest.mark.slow),
    ],
)
def test_on_ringnorm_delta_finds_its_optimum_and_the_model_is_not_left_at_chance(
    config: Callable[..., TrainConfig],
    split: Callable[..., Split],
    trainer: Build,
    optimizer: str,
    iterations: int,
    seed: int,
) -> None:
    """While nothing is learned δ* is ½, and there the bound no longer sees the data: who goes there stays there."""
    options = ("likelihood=logit", "delta=optimal", "optimizer.early_stop=false", "runtime.precision=mixed")
    quick = ("kernel.lengthscale_start=data", "kernel.variance=5", "optimizer.natural_step=0.1")
    sizes = ("inducing=60", "batch_size=512", f"iterations={iterations}", f"seed={seed}", "runtime.eval_every=1000")
    run = trainer(
        config(f"optimizer={optimizer}", *options, *quick, *sizes, "optimizer.learning_rate=0.03"), split(2, 3000, 20)
    )
    run.train()
    assert run.history.curve[-1].acc > 90.0
    delta = run.model.delta_value()
    assert delta < 0.2
    assert delta == pytest.approx(optimal_delta(run), abs=0.03)


@pytest.mark.slow
def test_a_rare_class_among_many_inputs_is_learned_by_natural_gradients(
    config: Callable[..., TrainConfig], trainer: Build
) -> None:
    """From nothing, the family's own bound leads all rows into the largest class; the concave start does not."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 0.0, 1.0], size=(2000, 20))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3] > 1.9).astype(int)
    y = np.where(rng.random(len(y)) < 0.05, 1 - y, y)
    table = Table(X, y, (0, 1), tuple(f"f{j}" for j in range(20)), "generated")
    sizes = ("inducing=60", "batch_size=256", "iterations=400", "runtime.eval_every=1000", "runtime.precision=mixed")
    run = trainer(
        config("preset=fast", "likelihood=probit", *sizes), make_split("rare", table, protocol="clean", split=0)
    )
    run.train()
    largest = 100.0 * (1.0 - np.mean(y))
    assert run.history.curve[-1].acc > largest + 3.0


@pytest.fixture(scope="module")
def probit(config: Callable[..., TrainConfig], split: Callable[..., Split], trainer: Build) -> Callable[[int], Trainer]:
    """A trained probit model for two or three classes."""

    def train(classes: int) -> Trainer:
        options = ("optimizer=natgrad", "likelihood=probit", "delta=optimal", "optimizer.early_stop=false")
        run = trainer(config(*options, "iterations=120", "batch_size=60", "inducing=15"), split(classes, 200))
        run.train()
        return run

    return train


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_at_equal_parameters_less_noise_has_the_higher_bound(probit: Callable[[int], Trainer], classes: int) -> None:
    """App. B: L_I > L_II > L_III at the parameters of a trained model. Only a differs: 0, 1, 2.897."""
    run = probit(classes)
    model, rows = run.model, (run.split.X_train, run.split.y_train[:, None])
    assert run.history.curve[-1].acc > 70.0
    bounds = {}
    for name in ("step", "probit", "logit"):
        model.likelihood = build_likelihood(name, classes, delta=model.delta_value())
        assert model.likelihood.noise_variance == LIKELIHOODS[name].noise_variance
        bounds[name] = float(model.elbo(rows))
    assert bounds["step"] > bounds["probit"] > bounds["logit"]
    gaps = np.diff([bounds["logit"], bounds["probit"], bounds["step"]])
    assert gaps.min() > 1e-3 * abs(bounds["probit"])
