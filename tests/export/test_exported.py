"""`gpcnoise export`: every format predicts what the training model does, or nothing is written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcnoise_cli.export import exported, onnx_file
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.predictor import load

Cli = Callable[..., Any]


def raw_rows(run: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and what the run's model says of them."""
    model = TrainedModel.load(run)
    rows = np.random.default_rng(3).normal(size=(9, 2)) * model.scaler.scale + model.scaler.mean
    return rows, model.predict_probabilities(rows)


def test_numpy(cli: Cli, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.npz"
    outcome = cli("export", run, "--format", "numpy", "--out", out, "--json")
    assert outcome.code == 0
    result = json.loads(outcome.stdout)
    assert result["largest_difference"] < 1e-6
    assert result["bytes"] == out.stat().st_size
    rows, expected = raw_rows(run)
    np.testing.assert_allclose(load(out).predict_proba(rows), expected, rtol=0, atol=1e-12)
    assert load(out).class_names == ("red", "green", "blue")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["model.npz"]


def test_saved_model(cli: Cli, run: Path, tmp_path: Path) -> None:
    import tensorflow as tf

    out = tmp_path / "served"
    outcome = cli("export", run, "--format", "savedmodel", "--out", out)
    assert (outcome.code, outcome.stdout) == (0, f"{out}\n")
    assert "no probability differs" in outcome.stderr
    assert "WARNING" not in outcome.stderr
    rows, expected = raw_rows(run)
    serve = tf.saved_model.load(str(out)).signatures["serving_default"]
    np.testing.assert_allclose(serve(rows=tf.constant(rows))["probabilities"], expected, rtol=0, atol=1e-6)
    assert json.loads((out / "description.json").read_text())["class_names"] == ["red", "green", "blue"]
    (out / "earlier").touch()
    assert cli("export", run, "--format", "savedmodel", "--out", out).code == 2
    assert cli("export", run, "--format", "savedmodel", "--out", out, "--force").code == 0
    assert not (out / "earlier").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_onnx(cli: Cli, run: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="the extra gpcnoise[onnx] is not installed")
    out = tmp_path / "model.onnx"
    assert cli("export", run, "--format", "onnx", "--out", out).code == 0
    rows, expected = raw_rows(run)
    found, _ = onnx_file.run_onnx(out.read_bytes(), rows)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    kept = {prop.key: prop.value for prop in onnx.load(out).metadata_props}
    assert json.loads(kept["description"])["class_names"] == ["red", "green", "blue"]


def test_onnx_that_is_not_installed_says_what_to_install(
    cli: Cli, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    outcome = cli("export", run, "--format", "onnx", "--out", tmp_path / "model.onnx")
    assert outcome.code == 2
    assert "pip install 'gpcnoise[onnx]'" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_model_that_differs_is_not_put_in_place(
    cli: Cli, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported, "TOLERANCE", -1.0)
    for kind, name in (("numpy", "model.npz"), ("savedmodel", "served")):
        outcome = cli("export", run, "--format", kind, "--out", tmp_path / name)
        assert outcome.code == 1
        assert "predicts differently from the training model" in outcome.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name != "data-folder"] == []


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("numpy", "model.onnx", "ends in .npz"),
        ("onnx", "model", "ends in .onnx"),
        ("nunpy", "model.npz", "did you mean 'numpy'?"),
        ("numpy", "absent/model.npz", "there is no folder"),
        ("numpy", "taken.npz", "exists already"),
        ("savedmodel", "folder", "exists already"),
    ],
)
def test_a_target_that_cannot_be_is_refused_at_once(cli: Cli, tmp_path: Path, kind: str, name: str, words: str) -> None:
    (tmp_path / "taken.npz").write_text("mine")
    (tmp_path / "folder").mkdir()
    outcome = cli("export", tmp_path / "no-run", "--format", kind, "--out", tmp_path / name)
    assert outcome.code == 2
    assert words in outcome.stderr
    assert (tmp_path / "taken.npz").read_text() == "mine"


def test_force_does_not_replace_a_folder_of_something_else(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    outcome = cli("export", tmp_path / "no-run", "--format", "savedmodel", "--out", tmp_path / "mine", "--force")
    assert outcome.code == 2
    assert "is no SavedModel, so --force does not replace it" in outcome.stderr


def test_a_method_without_a_predictor_in_numpy_says_so(
    cli: Cli, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpcnoise_cli.predictor import restored

    monkeypatch.delitem(restored.METHODS, "svgp")
    outcome = cli("export", run, "--format", "numpy", "--out", tmp_path / "model.npz")
    assert outcome.code == 2
    assert "method 'svgp' predicts by TensorFlow only; export it with --format savedmodel" in outcome.stderr


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ep", "selu"])
def test_every_method_in_every_format(cli: Cli, tmp_path: Path, method: str) -> None:
    quick = ("-m", 8, "--iterations", 3) if method == "ep" else ("method.settings.epochs=2",)
    run = tmp_path / "run"
    assert cli("train", "--dataset", "waveform-noise", "--method", method, *quick, "--out", run).code == 0
    for kind, suffix in exported.FORMATS.items():
        if kind == "onnx":
            pytest.importorskip("onnx", reason="the extra gpcnoise[onnx] is not installed")
        outcome = cli("export", run, "--format", kind, "--out", tmp_path / f"model-{kind}{suffix}", "--json")
        assert outcome.code == 0, outcome.stderr
        assert json.loads(outcome.stdout)["largest_difference"] < 1e-9
