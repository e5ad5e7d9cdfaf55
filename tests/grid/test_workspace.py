"""Unfinished cells on a disk that machines may share: whose it is, and who is at work there."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.workspace import Workspace

CELL = Cell.of("cell", compose([]))


def test_whoever_sees_the_same_folder_reads_the_same_word(tmp_path: Path) -> None:
    one, other = (Workspace(tmp_path / name) for name in ("one", "other"))
    for workspace in (one, other):
        workspace.prepare()
    assert one.identity() == Workspace(tmp_path / "one").identity() != other.identity()
    assert Workspace(tmp_path / "absent").identity() is None


def test_a_scratch_folder_is_left_to_whoever_is_still_at_work_there(tmp_path: Path) -> None:
    workspace, order = Workspace(tmp_path), []
    workspace.prepare()

    def orphan() -> None:
        with workspace.hold_scratch(CELL):
            order.append("orphan")
            held.set()
            time.sleep(0.3)
            order.append("gone")

    held, thread = threading.Event(), threading.Thread(target=orphan)
    thread.start()
    held.wait()
    with workspace.hold_scratch(CELL):
        order.append("heir")
    thread.join()
    assert order == ["orphan", "gone", "heir"]
    assert not workspace.is_busy(CELL)  # that is the claim, which is the driver's
