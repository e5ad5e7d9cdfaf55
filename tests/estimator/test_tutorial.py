"""The tutorial runs from top to bottom, in miniature."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.py"


@pytest.mark.slow
def test_every_cell_of_the_tutorial_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tutorial.py", "--quick"])
    names = runpy.run_path(str(TUTORIAL))
    printed = capsys.readouterr().out
    assert [line[0] for line in printed.splitlines() if line[0] != " "] == ["1", "2", "3", "4"]
    assert printed.count("by lack of knowledge") == 3
    assert names["ignorance"][2] > names["ignorance"][0]  # far from all data the model knows less
    assert (
        sum(line.startswith(("   step", "   probit", "   logit", "   softmax")) for line in printed.splitlines()) == 4
    )
