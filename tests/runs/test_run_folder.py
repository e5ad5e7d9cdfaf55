"""A run folder: what is damaged in it is named, with advice that helps, and it belongs to one process at a time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.training.events import CurvePoint

HEADER = "step,seconds,elbo,acc,nll,delta\n"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def test_a_curve_comes_back(folder: RunFolder) -> None:
    points = [CurvePoint(5, 0.1, -3.5, 80.0, 0.5, None), CurvePoint(10, 0.2, None, 90.0, 0.25, 0.001)]
    folder.write_curve(points)
    assert folder.read_curve() == points


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"step,seconds,acc\n1,2\n", HEADER.encode() + b"1,2\n", HEADER.encode() + b"a,b,c,d,e,f\n", b"\xff\xfe\0"],
    ids=["empty", "no header", "other columns", "short row", "no numbers", "no text"],
)
def test_a_damaged_curve_is_named_and_may_be_removed(folder: RunFolder, content: bytes) -> None:
    path = folder.path / "curve.csv"
    path.write_bytes(content)
    with pytest.raises(GpcnoiseError, match=r"curve\.csv is damaged .*remove it"):
        folder.read_curve()
    path.unlink()
    assert folder.read_curve() == []


@pytest.mark.parametrize(
    "content",
    ["", "x", "[1, 2]", "{}", '{"acc": "x", "nll": 1.0}', '{"acc": 90.0}', '{"acc": true, "nll": 1}', '"acc"', "null"],
)
def test_damaged_metrics_are_named(folder: RunFolder, content: str) -> None:
    folder.metrics.write_text(content)
    with pytest.raises(GpcnoiseError, match=r"metrics\.json is damaged .*gpcnoise evaluate"):
        folder.read_metrics()


def test_the_advice_can_be_copied_into_a_shell(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "my run")
    folder.path.mkdir()
    folder.metrics.write_text("{}")
    with pytest.raises(GpcnoiseError, match=f"gpcnoise evaluate '{folder.path}' scores it"):
        folder.read_metrics()


def test_what_is_needed_must_be_there(folder: RunFolder) -> None:
    folder.metrics.write_text(json.dumps({"acc": 90.0, "nll": None, "dataset": "x", "steps": 5}))
    assert folder.read_metrics(("dataset", "steps")) == {"acc": 90.0, "nll": None, "dataset": "x", "steps": 5}
    with pytest.raises(GpcnoiseError, match="no usable method"):
        folder.read_metrics(("dataset", "method"))


def test_a_folder_belongs_to_one_at_a_time(folder: RunFolder) -> None:
    with folder.claim(), pytest.raises(GpcnoiseError, match="another process is training in"), folder.claim():
        pass
    with folder.claim():
        assert list(folder.path.iterdir()) == []


def test_a_folder_that_cannot_be_used_is_found_out_before_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name, error in {"full": UsageError, "full/file/run": GpcnoiseError, "loop": GpcnoiseError}.items():
        with pytest.raises(error, match="run folder"):
            RunFolder.check(compose([assign("out", str(tmp_path / name))]))
    RunFolder.check(compose([assign("out", str(tmp_path / "new" / "run"))]))
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(GpcnoiseError, match="no permission"):
        RunFolder.check(compose([assign("out", str(tmp_path / "closed" / "run"))]))
