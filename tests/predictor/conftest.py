"""Models with random parameters: whether two programs agree on them needs no training."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.encoder import TableEncoder
from gpcnoise_cli.data.scaling import Scaler
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS
from gpcnoise_cli.methods.trained_model import TrainedModel

ROWS, D, M = 37, 3, 8


@pytest.fixture(scope="session")
def random_model() -> Callable[..., TrainedModel]:
    """`random_model("likelihood=step", "kernel=rbf", classes=3)`."""
    return _random_model


@pytest.fixture(scope="session")
def scaled_rows() -> np.ndarray:
    """Some among the inducing points, some far out."""
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(size=(ROWS - 4, D)), 30.0 * rng.normal(size=(4, D))])


@pytest.fixture(scope="session")
def by_training_model() -> Callable[[TrainedModel, np.ndarray], np.ndarray]:
    """What the training model says of scaled rows, without compiling it: tracing takes longer than all the rest."""

    def probabilities(model: TrainedModel, X: np.ndarray) -> np.ndarray:
        tf.config.run_functions_eagerly(True)
        try:
            return model.classifier.predict(X)
        finally:
            tf.config.run_functions_eagerly(False)

    return probabilities


def _random_model(*overrides: str, classes: int = 3, d: int = D) -> TrainedModel:
    """Every stored number at random, within what it may be."""
    config = _config(overrides)
    rng = np.random.default_rng(classes)
    start = _start(config, classes, d)
    arrays = {name: _moved(name, value, rng) for name, value in start.items()}
    scaler = Scaler(rng.normal(size=d), np.exp(rng.normal(size=d)))
    encoder = TableEncoder.for_numeric(tuple(f"x{j}" for j in range(d)), "class", tuple("abcdefgh"[:classes]))
    return TrainedModel(config, arrays, scaler, encoder, 100)


@cache
def _composed(*overrides: str) -> TrainConfig:
    return compose([f"inducing={M}", "runtime.precision=float64", "likelihood.prediction_draws=128", *overrides])


def _config(overrides: tuple[str, ...]) -> TrainConfig:
    """What `compose` would give, without the third of a second that it takes each time."""
    of_method = tuple(one for one in overrides if one.startswith("method"))
    config = copy.deepcopy(_composed(*of_method))
    for override in overrides[len(of_method) :]:
        key, value = override.split("=")
        if key == "likelihood":
            config.likelihood = replace(
                config.likelihood, name=value, noise_variance=None, bound=LIKELIHOODS[value].bounds[0]
            )
        elif key == "kernel":
            config.kernel.name = value
        else:
            assert key.startswith("kernel.")
            setattr(config.kernel, key.removeprefix("kernel."), value == "true")
    return config


def _start(config: Any, classes: int, d: int) -> dict[str, Any]:
    from gpcnoise_cli.methods.ep.model import EPModel
    from gpcnoise_cli.methods.orth_settings import with_its_likelihood
    from gpcnoise_cli.methods.selu import Network, SeluClassifier, Settings
    from gpcnoise_cli.methods.svgp import SVGPClassifier
    from gpcnoise_cli.models.build import assemble

    if config.method.name == "ep":
        return EPModel(config, np.zeros((M, d)), classes).arrays()
    if config.method.name == "selu":
        return SeluClassifier(Network(d, classes, Settings(**config.method.settings))).arrays()
    gamma = None
    if config.method.name == "orth":
        config = with_its_likelihood(config, classes)
        gamma = np.zeros((config.method.settings["gamma"], d)) if config.method.settings["gamma"] else None
    model = assemble(config, np.zeros((M, d)), classes, num_data=100, gamma=gamma)
    return SVGPClassifier(config, lambda: model).arrays()


def _moved(name: str, value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if name == "jitter":
        return np.asarray(3e-6)
    if name.endswith("Z") or name == "gamma":
        return rng.normal(size=value.shape)
    if name == "precision":
        roots = rng.normal(size=value.shape)
        return np.eye(value.shape[-1]) + roots @ roots.transpose(0, 2, 1)
    if name == "likelihood.delta":
        return np.asarray(-3.0)
    shift = rng.normal(size=value.shape) * (0.3 if name.startswith(("kernel", "w")) else 1.5)
    moved = value + (np.tril(0.3 * shift) if name == "q_sqrt" else shift)
    return np.asarray(moved, value.dtype)
