"""The examples of docs/serving.md do what they say."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcnoise_cli.methods.trained_model import TrainedModel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving.md"
LOADED, ALONE, ONNX, SAVED, SERVICE = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def example(cli: Callable[..., Any], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a block beside an export, and compare its `probabilities`."""
    monkeypatch.chdir(tmp_path)
    model = TrainedModel.load(run)
    rows = np.random.default_rng(3).normal(size=(9, 2)) * model.scaler.scale + model.scaler.mean

    def execute(code: str, kind: str, out: str) -> dict[str, Any]:
        assert cli("export", run, "--format", kind, "--out", out).code == 0
        space = {"rows": rows}
        exec(compile(code.replace("8000", "0"), "serving.md", "exec"), space)
        if "probabilities" in space:
            expected = model.predict_probabilities(rows)
            np.testing.assert_allclose(space["probabilities"], expected, rtol=0, atol=1e-6)
        return space

    return execute


def test_numpy_with_the_package_and_without(example: Callable[..., Any]) -> None:
    assert len(example(LOADED, "numpy", "model.npz")["classes"]) == 9
    Path("model.npz").unlink()
    assert "gpcnoise" not in ALONE
    example(ALONE, "numpy", "model.npz")


def test_onnx(example: Callable[..., Any]) -> None:
    pytest.importorskip("onnxruntime", reason="the extra gpcnoise[onnx] is not installed")
    assert set(example(ONNX, "onnx", "model.onnx")["names"]) <= {"red", "green", "blue"}


@pytest.mark.slow
def test_saved_model(example: Callable[..., Any]) -> None:
    example(SAVED, "savedmodel", "served")


def test_a_web_service(example: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    space = example(SERVICE, "numpy", "model.npz")
    monkeypatch.setattr(space["Service"], "log_message", lambda *_: None)
    server = space["server"]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        request = urllib.request.Request(url, json.dumps(space["rows"].tolist()).encode())
        with urllib.request.urlopen(request) as answered:
            answer = json.loads(answered.read())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert answer["classes"] == ["red", "green", "blue"]
    np.testing.assert_allclose(np.sum(answer["probabilities"], axis=1), 1.0)
