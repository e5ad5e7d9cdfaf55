"""scripts/compare-grids.py, on made cells."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "compare-grids.py"


def compare(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False)


def test_two_grids_are_compared_on_the_splits_that_both_have(
    uci_cells: Callable[..., list[Path]], tmp_path: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    uci_cells("adult", "GPC-I", [(85.0, 0.40), (85.0, 0.42), (85.0, 0.9)], results=before)
    uci_cells("adult", "GPC-I", [(85.0, 0.35), (85.0, 0.43)], results=after)
    uci_cells("magic", "GPC-I", [(87.0, 0.30)], results=before)
    uci_cells("magic", "GPC-I", [(87.0, 0.32)], results=after)
    uci_cells("magic", "GPC-II", [(87.0, 0.30)], results=before)
    folders = [one / "uci-fast/paper/rbf" for one in (before, after)]
    lines = compare(*folders).stdout.splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["adult", "step", "2", "0.4100", "0.3900", "-0.0200"],
        ["magic", "step", "1", "0.3000", "0.3200", "+0.0200"],
    ]
    assert lines[3] == "lower on 1 of 2, higher by more than 0.01 on 1; +0.0000 on average"
    assert compare(*folders, 1).stdout.splitlines()[1].split() == ["adult", "step", "1", "0.4200", "0.4300", "+0.0100"]


def test_nothing_in_common_is_told(tmp_path: Path) -> None:
    outcome = compare(tmp_path, tmp_path)
    assert outcome.returncode == 1
    assert "have no cell in common" in outcome.stderr
