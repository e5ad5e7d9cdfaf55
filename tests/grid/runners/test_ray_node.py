"""Where a node keeps what it is at work on: beside the ledger if it shares that disk, else in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.outcome import Progress
from gpcnoise_cli.grid.runners.ray_node import Board, Order, _ledger

CELL = Cell.of("cell", compose([]))


def order(ledger: Path, disk: str | None) -> Order:
    return Order(CELL.to_dict(), str(ledger), disk, threads=1, keep_probabilities=False, demands={})


def test_a_node_that_shares_the_disk_works_beside_the_ledger(tmp_path: Path) -> None:
    driver = Ledger(tmp_path)
    driver.prepare()
    with _ledger(order(tmp_path, driver.workspace.identity())) as used:
        assert used.folder == tmp_path


@pytest.mark.parametrize("disk", ["of another machine", None])
def test_one_that_does_not_leaves_nothing_behind_and_touches_no_folder_of_that_name(
    tmp_path: Path, disk: str | None
) -> None:
    same_name = tmp_path / "results"
    with _ledger(order(same_name, disk)) as used:
        used.workspace.scratch(CELL).mkdir(parents=True)
        assert used.folder != same_name
    assert not used.folder.exists()
    assert not same_name.exists()


def test_the_board_passes_on_progress_and_the_wish_to_stop() -> None:
    board = Board()
    assert board.exchange("a", Progress(step=1, place="node")) is False
    board.stop()
    assert board.exchange("b", Progress(step=2)) is True
    board.forget("b")
    assert board.read() == {"a": Progress(step=1, place="node")}
