"""The predictor in NumPy says what the training model says, for whatever can be trained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpcnoise_cli.likelihoods.registry import LIKELIHOODS
from gpcnoise_cli.methods.registry import METHODS
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.models.kernels import KERNELS
from gpcnoise_cli.predictor import restored
from gpcnoise_cli.predictor.kernels import PARTS
from gpcnoise_cli.predictor.predictors import Predictor

Random = Callable[..., TrainedModel]
Trained = Callable[[TrainedModel, np.ndarray], np.ndarray]

# Of two classes with one latent function each, of three, and of more with a kernel each.
CASES = [
    (name, classes, shared)
    for name, spec in LIKELIHOODS.items()
    for classes, shared in ((2, "true"), (3, "true"), (4, "false"))
    if spec.fits(classes)
]


def assert_same(model: TrainedModel, X: np.ndarray, expected: np.ndarray) -> None:
    assert isinstance(model.predictor, Predictor)
    found = model.predictor.predict(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("likelihood", "classes", "shared"), CASES)
def test_every_likelihood(
    random_model: Random,
    scaled_rows: np.ndarray,
    by_training_model: Trained,
    likelihood: str,
    classes: int,
    shared: str,
) -> None:
    model = random_model(f"likelihood={likelihood}", f"kernel.shared={shared}", classes=classes)
    assert_same(model, scaled_rows, by_training_model(model, scaled_rows))


def test_a_habit_of_the_authors_is_left_to_the_training_model(random_model: Random) -> None:
    model = random_model("likelihood=step", classes=3)
    model.config.likelihood.squash = 1e-4
    assert not isinstance(model.predictor, Predictor)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("ard", ["true", "false"])
@pytest.mark.parametrize("shared", ["true", "false"])
def test_every_kernel(
    random_model: Random, scaled_rows: np.ndarray, by_training_model: Trained, kernel: str, ard: str, shared: str
) -> None:
    kind = (f"kernel={kernel}", f"kernel.ard={ard}", f"kernel.shared={shared}", f"kernel.log_scale={ard}")
    model = random_model("likelihood=probit", *kind)
    assert_same(model, scaled_rows, by_training_model(model, scaled_rows))


@pytest.mark.parametrize(("classes", "shared"), [(2, "true"), (3, "true"), (3, "false")])
def test_expectation_propagation(
    random_model: Random, scaled_rows: np.ndarray, by_training_model: Trained, classes: int, shared: str
) -> None:
    model = random_model("method=ep", f"kernel.shared={shared}", classes=classes)
    assert_same(model, scaled_rows, by_training_model(model, scaled_rows))


@pytest.mark.parametrize("gamma", [0, 5])
@pytest.mark.parametrize(("classes", "shared"), [(2, "true"), (3, "true"), (3, "false")])
def test_decoupled_bases(
    random_model: Random, scaled_rows: np.ndarray, by_training_model: Trained, classes: int, shared: str, gamma: int
) -> None:
    options = ("method=orth", f"method.settings.gamma={gamma}", f"kernel.shared={shared}")
    model = random_model(*options, classes=classes)
    assert_same(model, scaled_rows, by_training_model(model, scaled_rows))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_network_up_to_the_rounding_of_float32(
    random_model: Random, scaled_rows: np.ndarray, by_training_model: Trained, classes: int
) -> None:
    settings = ("method.settings.layers=2", "method.settings.units=6")
    model = random_model("method=selu", *settings, classes=classes)
    found = model.predictor.predict(scaled_rows)
    np.testing.assert_allclose(found, by_training_model(model, scaled_rows), rtol=0, atol=1e-6)


def test_nothing_that_can_be_trained_is_forgotten() -> None:
    assert restored.LINKS.keys() == LIKELIHOODS.keys()
    assert PARTS.keys() == KERNELS.keys()
    assert restored.METHODS.keys() == METHODS.keys()
