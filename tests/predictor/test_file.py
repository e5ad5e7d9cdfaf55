"""An exported predictor comes back from its file; anything else is refused in a sentence."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.predictor import Served, load
from gpcnoise_cli.predictor.file import write
from gpcnoise_cli.predictor.predictors import Predictor

Random = Callable[..., TrainedModel]
NETWORK = ("method=selu", "method.settings.layers=2", "method.settings.units=6")


def served(model: TrainedModel) -> Served:
    assert isinstance(model.predictor, Predictor)
    scaler, encoder = model.scaler, model.encoder
    return Served(
        model.predictor, scaler.mean, scaler.scale, model.class_names, encoder.feature_names, encoder.to_dict()
    )


@pytest.mark.parametrize(
    "overrides",
    [("kernel=matern52+rbf", "likelihood=softmax"), ("likelihood=step", "kernel.shared=false"), NETWORK],
    ids=["softmax", "step", "network"],
)
def test_it_predicts_raw_rows_as_before(random_model: Random, tmp_path: Path, overrides: tuple[str, ...]) -> None:
    model = random_model(*overrides)
    raw = np.random.default_rng(0).normal(size=(20, 3))
    with (tmp_path / "model.npz").open("wb") as stream:
        write(stream, served(model), {"n_train": 100})
    loaded = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict_proba(raw), model.predict_probabilities(raw))
    assert loaded.class_names == ("a", "b", "c")
    assert loaded.feature_names == ("x0", "x1", "x2")
    assert loaded.encoder == model.encoder.to_dict()
    assert loaded.predict(raw) == [loaded.class_names[c] for c in loaded.predict_proba(raw).argmax(axis=1)]


def test_rows_of_another_shape_or_with_holes_are_refused(random_model: Random) -> None:
    model = served(random_model("likelihood=probit"))
    with pytest.raises(ValueError, match=r"rows of shape \(2, 4\) are not \[n, 3\]"):
        model.predict_proba(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="missing or infinite"):
        model.predict_proba([[0.0, np.nan, 1.0]])


def test_what_is_no_predictor_is_refused(tmp_path: Path) -> None:
    other = io.BytesIO()
    np.savez(other, x=np.zeros(3))
    for content in (b"", b"PK\x03\x04 cut short", other.getvalue()):
        (tmp_path / "model.npz").write_bytes(content)
        with pytest.raises(GpcnoiseError, match="is no predictor that can be read"):
            load(tmp_path / "model.npz")
    with pytest.raises(GpcnoiseError, match="No such file"):
        load(tmp_path / "absent.npz")
