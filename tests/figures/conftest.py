"""Runs that train nothing: for the experiments that only compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcnoise_cli.figures.runs import Runs


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "work")
