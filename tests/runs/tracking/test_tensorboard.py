"""Event files, read back by TensorBoard itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.runs.tracking import tensorboard_sink, tracker

TRACKED = "tracking=tensorboard"
SAME = ("acc", "nll", "elbo", "delta", "steps")


@pytest.fixture(autouse=True)
def every_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "SECONDS_BETWEEN", 0.0)


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard would show of a folder: by tag, steps with their values."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    accumulator = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    accumulator.Reload()
    return {
        tag: [(event.step, float(make_ndarray(event.tensor_proto))) for event in accumulator.Tensors(tag)]
        for tag in accumulator.Tags()["tensors"]
    }


def test_the_curve_of_a_run_is_in_its_event_file(train: Any, tmp_path: Path) -> None:
    result = train("run", TRACKED)
    shown = scalars(tmp_path / "run" / "tensorboard")
    assert [step for step, _ in shown["test/nll"]] == [20, 40, 60]
    assert shown["test/nll"][-1][1] == pytest.approx(result["nll"], rel=1e-5)
    assert shown["model/delta"][-1][1] == pytest.approx(result["delta"], rel=1e-5)
    assert shown["final/acc"] == [(60, pytest.approx(result["acc"]))]
    assert {"train/loss", "train/elbo", "train/steps_per_second", "test/acc"} <= set(shown)
    assert {"model/lengthscale_rbf", "model/variance_rbf"} <= set(shown)
    assert len(shown["train/loss"]) > 3


@pytest.mark.slow
def test_tracking_changes_nothing_and_off_leaves_nothing(train: Any, tmp_path: Path) -> None:
    plain, followed = train("plain"), train("followed", TRACKED)
    assert [plain[key] for key in SAME] == [followed[key] for key in SAME]
    assert not (tmp_path / "plain" / "tensorboard").exists()
    assert plain.keys() == followed.keys()


@pytest.mark.slow
def test_a_resumed_run_has_every_point_once(train: Any, tmp_path: Path) -> None:
    assert train("run", TRACKED, stop_after=20) == {}
    first = scalars(tmp_path / "run" / "tensorboard")
    assert [step for step, _ in first["test/nll"]] == [20]
    # A process that is killed may have written more than its checkpoint knows of, and half a record at last.
    sink = tensorboard_sink.TensorBoardSink(tmp_path / "run" / "tensorboard")
    sink.write(40, {"test/nll": 0.125})
    sink.close("failed")
    torn = max((tmp_path / "run" / "tensorboard").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    with torn.open("ab") as stream:
        stream.write(b"\x18\x00\x00")
    assert train("run", TRACKED)["steps"] == 60
    shown = scalars(tmp_path / "run" / "tensorboard")
    assert [step for step, _ in shown["test/nll"]] == [20, 40, 60]
    for points in shown.values():
        steps = [step for step, _ in points]
        assert steps == sorted(set(steps))


@pytest.mark.slow
def test_a_failing_tracker_warns_once_and_the_training_goes_on(
    train: Any, messages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any, step: int, values: Any) -> None:
        raise OSError("no space left\non device")

    monkeypatch.setattr(tensorboard_sink.TensorBoardSink, "write", fail)
    result = train("run", TRACKED, events=messages)
    assert result["steps"] == 60
    told = [text for text in messages.said if "tracking" in text]
    assert len(told) == 1
    assert "OSError: no space left on device" in told[0]
    assert result["tracking_failed"] == "OSError: no space left on device"


@pytest.mark.slow
def test_a_tracker_that_cannot_start_is_left_aside(train: Any, messages: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").touch()
    (tmp_path / "run" / "tensorboard").write_text("a file where a folder should be")
    assert train("run", TRACKED, events=messages)["steps"] == 60
    assert sum("tracking failed" in text for text in messages.said) == 1


@pytest.mark.slow
def test_kernels_with_several_parts_are_told_apart(train: Any, tmp_path: Path) -> None:
    train("run", TRACKED, "kernel=matern52+rbf", "kernel.ard=true", "kernel.shared=false", "iterations=20")
    shown = scalars(tmp_path / "run" / "tensorboard")
    assert {"model/lengthscale_matern52", "model/variance_rbf"} <= set(shown)
