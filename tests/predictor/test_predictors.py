"""Blocks, rows that are far out, kernels that are nearly singular, methods without a predictor of this kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.models.kernels import KERNELS
from gpcnoise_cli.predictor import predictors, restored
from gpcnoise_cli.predictor.kernels import Kernels, Part
from gpcnoise_cli.predictor.posterior import find_posterior, more_jitter
from gpcnoise_cli.predictor.predictors import GaussianProcess

Random = Callable[..., TrainedModel]


def test_blocks_do_not_matter(random_model: Random, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(2).normal(size=(50, 3))
    predictor = random_model("likelihood=logit").predictor
    whole = predictor.predict(X)
    monkeypatch.setattr(predictors, "BLOCK_ROWS", 7)
    np.testing.assert_allclose(predictor.predict(X), whole, rtol=0, atol=1e-13)
    assert predictor.predict(X[:0]).shape == (0, 3)


def test_the_layout_of_the_rows_does_not_matter(random_model: Random) -> None:
    X = np.random.default_rng(2).normal(size=(50, 3))
    predictor = random_model("likelihood=probit").predictor
    np.testing.assert_array_equal(predictor.predict(X), predictor.predict(np.asfortranarray(X)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_row_far_from_everything_gets_the_prior(random_model: Random, kernel: str) -> None:
    predictor = random_model(f"kernel={kernel}", "kernel.shared=true", "likelihood=softmax").predictor
    assert isinstance(predictor, GaussianProcess)
    far = np.array([[1e8, 0.0, 0.0], [1e160, -1e160, 1e200]])
    assert predictor.latent is not None
    ((mu, nu),) = predictor.latent(far)
    np.testing.assert_allclose(mu, 0.0, atol=1e-300)
    np.testing.assert_allclose(nu, predictor.posterior.kernels.variance(0))
    assert np.isfinite(predictor.predict(far)).all()


def test_a_prediction_that_is_no_number_names_its_row(random_model: Random) -> None:
    X = np.zeros((5, 3))
    X[3, 1] = np.nan
    with pytest.raises(GpcnoiseError, match="the prediction for row 4 is not a finite number"):
        random_model("likelihood=step").predictor.predict(X)


def test_jitter_is_raised_where_the_kernel_matrix_is_singular() -> None:
    kernels = Kernels((Part("rbf", np.ones((1, 1)), np.array([5.0])),))
    Z, said = np.zeros((4, 1)), list[str]()
    posterior = find_posterior(kernels, Z, np.ones((1, 4)), np.eye(4)[None], 1e-17, said.append)
    assert said
    assert all("predicted with jitter" in sentence for sentence in said)
    assert np.isfinite(posterior.Q).all()
    with pytest.raises(GpcnoiseError, match=r"cannot be factorised for the prediction even with jitter 0\.01"):
        more_jitter(2e-3, "for the prediction")


def test_a_method_without_such_a_predictor_is_asked_itself(
    random_model: Random, monkeypatch: pytest.MonkeyPatch, scaled_rows: np.ndarray
) -> None:
    model = random_model("likelihood=probit")
    expected = model.predict_scaled(scaled_rows)
    monkeypatch.delitem(restored.METHODS, "svgp")
    alone = replace(model)
    assert alone.predictor is alone.classifier
    np.testing.assert_allclose(alone.predict_scaled(scaled_rows), expected, rtol=0, atol=1e-9)


def test_delta_is_read_without_the_training_model(random_model: Random) -> None:
    assert random_model("likelihood=probit").predictor.facts()["delta"] == pytest.approx(2 / 3 / (1 + np.exp(3.0)))
    assert random_model("likelihood=softmax").predictor.facts() == {}
