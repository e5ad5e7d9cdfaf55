"""Saved and loaded models are the same to the last bit; anything else on disk is refused in a sentence."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.likelihoods import LIKELIHOODS
from gpcnoise_cli.methods.svgp import SVGPClassifier, model_of
from gpcnoise_cli.methods.trained_model import DESCRIPTION, PARAMETERS, TrainedModel
from gpcnoise_cli.models.build import build_model, precision_context
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.runtime import versions


def config_for(likelihood: str, precision: str = "mixed", *more: str) -> TrainConfig:
    return compose([f"likelihood={likelihood}", f"runtime.precision={precision}", "inducing=6", *more])


def save(folder: Path, config: TrainConfig, model: FusedSVGP, data: Split) -> None:
    TrainedModel.of(config, SVGPClassifier(config, lambda: model), data).save(folder)


def shaken(model: FusedSVGP) -> FusedSVGP:
    """The model with every number moved, so that none is at its start value."""
    rng = np.random.default_rng(0)
    for variable in model.variables:
        if variable.dtype.is_floating and variable.name != "jitter:0":
            shift = 0.1 * rng.normal(size=variable.shape)
            variable.assign_add(tf.constant(np.tril(shift) if len(variable.shape) == 3 else shift, variable.dtype))
    model.jitter.assign(3e-6)
    return model


@pytest.fixture(scope="module")
def saved(split: Callable[..., Split], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    config, data = config_for("probit"), split(3)
    save(folder, config, shaken(build_model(config, data.X_train, 3)), data)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """A folder with the saved model, to be damaged."""
    for name in (PARAMETERS, DESCRIPTION):
        (tmp_path / name).write_bytes((saved / name).read_bytes())
    return tmp_path


@pytest.mark.parametrize("precision", ["mixed", "float64", "float32"])
@pytest.mark.parametrize(
    ("likelihood", "classes"),
    [*((name, 3 if spec.multiclass else 2) for name, spec in LIKELIHOODS.items()), ("logit", 2)],
)
def test_a_loaded_model_is_the_saved_one_to_the_last_bit(
    split: Callable[..., Split], tmp_path: Path, likelihood: str, classes: int, precision: str
) -> None:
    config, data = config_for(likelihood, precision), split(classes)
    with precision_context(precision):
        model = shaken(build_model(config, data.X_train, classes))
        expected = model.likelihood.predict_probabilities(*model.marginals(tf.constant(data.X_test)))
    save(tmp_path, config, model, data)
    loaded = TrainedModel.load(tmp_path)
    assert loaded.config == config
    assert [v.dtype for v in model_of(loaded).variables] == [v.dtype for v in model.variables]
    for ours, theirs in zip(model_of(loaded).variables, model.variables, strict=True):
        assert_array_equal(ours, theirs)
    with precision_context(precision):
        found = model_of(loaded).likelihood.predict_probabilities(*model_of(loaded).marginals(tf.constant(data.X_test)))
    assert_array_equal(found, expected)
    assert model_of(loaded).num_data == data.n_train
    assert loaded.class_names == data.class_names


@pytest.mark.parametrize(
    "more", [("kernel.shared=false",), ("kernel=matern52+rbf", "kernel.ard=true")], ids=["one kernel a class", "sum"]
)
def test_every_kind_of_kernel_comes_back(split: Callable[..., Split], tmp_path: Path, more: tuple[str, ...]) -> None:
    config, data = config_for("softmax", "mixed", *more), split(3)
    model = shaken(build_model(config, data.X_train, 3))
    save(tmp_path, config, model, data)
    for ours, theirs in zip(model_of(TrainedModel.load(tmp_path)).variables, model.variables, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_raw_rows_are_scaled_and_predicted_as_in_training(
    split: Callable[..., Split], tmp_path: Path, precision: str
) -> None:
    """Outside of any precision context, as a command does it; two loaded copies agree to the last bit."""
    config, data = config_for("softmax", precision), split(3)
    with precision_context(precision):
        model = shaken(build_model(config, data.X_train, 3))
        expected = model.likelihood.predict_probabilities(*model.marginals(tf.constant(data.X_test)))
    save(tmp_path, config, model, data)
    raw = data.X_test * data.scaler.scale + data.scaler.mean
    first, second = (TrainedModel.load(tmp_path).predict_probabilities(raw) for _ in range(2))
    assert_array_equal(first, second)
    np.testing.assert_allclose(first, expected, atol=2e-6)


def test_the_files_hold_no_pickle_and_say_what_is_in_them(saved: Path) -> None:
    with zipfile.ZipFile(saved / PARAMETERS) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())
    with np.load(saved / PARAMETERS, allow_pickle=False) as arrays:
        assert arrays["q_sqrt"].shape == (3, 6, 6)
        assert not any(arrays[name].dtype.hasobject for name in arrays.files)
    description = json.loads((saved / DESCRIPTION).read_text())
    assert description["sha256"] == hashlib.sha256((saved / PARAMETERS).read_bytes()).hexdigest()
    assert description["class_names"] == ["red", "green", "blue"]
    assert description["parameters"]["jitter"] == pytest.approx(3e-6)
    assert 0.0 < description["parameters"]["delta"] < 2 / 3
    assert description["versions"] == versions()
    assert sorted(path.name for path in saved.iterdir()) == [DESCRIPTION, PARAMETERS]


def test_a_file_cut_short_is_refused(copy: Path) -> None:
    content = (copy / PARAMETERS).read_bytes()
    for keep in (0, 10, len(content) // 2, len(content) - 1):
        (copy / PARAMETERS).write_bytes(content[:keep])
        with pytest.raises(GpcnoiseError, match=r"is damaged: model\.npz does not have the recorded sha256"):
            TrainedModel.load(copy)


def test_a_single_changed_byte_is_noticed(copy: Path) -> None:
    content = bytearray((copy / PARAMETERS).read_bytes())
    content[len(content) // 3] ^= 1
    (copy / PARAMETERS).write_bytes(content)
    with pytest.raises(GpcnoiseError, match="recorded sha256; train it again or restore it from a copy"):
        TrainedModel.load(copy)


@pytest.mark.parametrize("missing", [PARAMETERS, DESCRIPTION])
def test_a_missing_file_is_named(copy: Path, missing: str) -> None:
    (copy / missing).unlink()
    with pytest.raises(GpcnoiseError, match=rf"holds no finished model \({missing} is missing\)"):
        TrainedModel.load(copy)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "absent", tmp_path / "file"):
        with pytest.raises(GpcnoiseError, match=folder.name):
            TrainedModel.load(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 99}', "\x00\xff"])
def test_a_description_that_is_none_is_refused(copy: Path, text: str) -> None:
    (copy / DESCRIPTION).write_bytes(text.encode("latin-1"))
    with pytest.raises(GpcnoiseError, match="is damaged"):
        TrainedModel.load(copy)


@pytest.mark.parametrize("key", ["sha256", "config", "d", "n_train", "num_classes", "class_names", "scaler", "encoder"])
def test_a_description_that_lacks_something_is_refused(copy: Path, key: str) -> None:
    description = json.loads((copy / DESCRIPTION).read_text())
    del description[key]
    (copy / DESCRIPTION).write_text(json.dumps(description))
    with pytest.raises(GpcnoiseError, match="is damaged"):
        TrainedModel.load(copy)


@pytest.mark.parametrize(
    "change",
    [{"d": 3}, {"num_classes": 4}, {"config": {"inducing": 7}}, {"config": {"kernel": {"ard": False}}}],
    ids=["d", "classes", "inducing", "ard"],
)
def test_a_description_of_another_model_is_refused(copy: Path, change: dict) -> None:
    description = json.loads((copy / DESCRIPTION).read_text())

    def merge(into: dict, values: dict) -> None:
        for key, value in values.items():
            merge(into[key], value) if isinstance(value, dict) else into.update({key: value})

    merge(description, change)
    (copy / DESCRIPTION).write_text(json.dumps(description))
    with pytest.raises(GpcnoiseError, match="is damaged"):
        TrainedModel.load(copy)


def test_a_configuration_that_is_not_valid_is_refused(copy: Path) -> None:
    description = json.loads((copy / DESCRIPTION).read_text())
    description["config"]["likelihood"]["name"] = "cauchit"
    (copy / DESCRIPTION).write_text(json.dumps(description))
    with pytest.raises(GpcnoiseError, match="cauchit"):
        TrainedModel.load(copy)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(copy: Path, value: float) -> None:
    with np.load(copy / PARAMETERS) as stored:
        arrays = {name: stored[name].copy() for name in stored.files}
    arrays["q_mu"].flat[1] = value
    np.savez(copy / PARAMETERS, **arrays)
    description = json.loads((copy / DESCRIPTION).read_text())
    description["sha256"] = hashlib.sha256((copy / PARAMETERS).read_bytes()).hexdigest()
    (copy / DESCRIPTION).write_text(json.dumps(description))
    with pytest.raises(GpcnoiseError, match=r"is damaged: .*the array q_mu holds values that are no finite numbers"):
        TrainedModel.load(copy)
