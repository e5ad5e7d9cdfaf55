"""The ledger: whole files only, torn ones ignored, nothing mistaken for something else; and the lock of a cell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Ledger, State
from gpcnoise_cli.grid.plan import Plan
from gpcnoise_cli.grid.workspace import Busy

CELL = Cell.of("paper/rbf/twonorm/probit/split-00", compose(["preset=paper", "likelihood=probit"]))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "uci")


def record(cell: Cell = CELL, **more: object) -> dict[str, object]:
    return {"acc": 97.5, "nll": 0.08, "digest": cell.digest, "config": cell.to_dict()["config"], **more}


def test_a_filed_result_is_done_and_reads_back(ledger: Ledger) -> None:
    assert ledger.look_up(CELL).state is State.OPEN
    ledger.file_result(CELL, record(elbo=float("nan"), curve={"nll": [0.5, float("inf")]}))
    entry = ledger.look_up(CELL)
    assert entry.state is State.DONE
    assert entry.record is not None
    assert (entry.record["acc"], entry.record["elbo"], entry.record["curve"]) == (97.5, None, {"nll": [0.5, None]})
    assert [str(path) for path, _ in ledger.records()] == [f"{CELL.name}.json"]


def test_probabilities_lie_beside_the_result(ledger: Ledger) -> None:
    ledger.file_result(CELL, record(), {"probabilities": np.eye(2), "y": np.arange(2)})
    with np.load(ledger.probabilities_path(CELL)) as stored:
        assert stored["probabilities"].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("torn", ["", '{"acc": 97.5, "nl', "[1, 2]", "\x00\x00", '{"acc": 1}\n<<<<<<< HEAD'])
def test_a_torn_result_counts_as_absent_and_is_replaced(ledger: Ledger, torn: str) -> None:
    path = ledger.result_path(CELL)
    path.parent.mkdir(parents=True)
    path.write_text(torn)
    assert ledger.look_up(CELL).state is State.OPEN
    assert list(ledger.records()) == []
    ledger.file_result(CELL, record())
    assert ledger.look_up(CELL).state is State.DONE


def test_a_result_of_other_settings_is_neither_taken_nor_overwritten(ledger: Ledger) -> None:
    short = Cell.of(CELL.name, compose(["preset=paper", "likelihood=probit", "iterations=20"]))
    ledger.file_result(short, record(short))
    plan = Plan.of([CELL], ledger)
    assert plan.entries[CELL].state is State.OTHER
    assert plan.to_do(retry_failed=True) == []
    with pytest.raises(UsageError, match="iterations 20, not 10000"):
        plan.refuse_other_settings(ledger.folder)


def test_failures_wait_for_retry_failed_but_transient_ones_do_not(ledger: Ledger) -> None:
    ledger.file_failure(CELL, "the data are damaged", transient=False, attempts=1)
    plan = Plan.of([CELL], ledger)
    assert (plan.to_do(retry_failed=False), plan.to_do(retry_failed=True)) == ([], [CELL])
    assert json.loads(ledger.failure_path(CELL).read_text())["reason"] == "the data are damaged"
    ledger.file_failure(CELL, "killed", transient=True, attempts=3)
    assert Plan.of([CELL], ledger).to_do(retry_failed=False) == [CELL]
    ledger.file_result(CELL, record())
    assert not ledger.failure_path(CELL).exists()


def test_the_leavings_of_a_killed_writer_are_swept_up(ledger: Ledger) -> None:
    left = ledger.result_path(CELL).with_name(".split-00.json.123.abcd.tmp")
    left.parent.mkdir(parents=True)
    left.write_text("{")
    assert list(ledger.records()) == []
    ledger.file_result(CELL, record())
    assert not left.exists()


def test_a_write_that_fails_leaves_what_was_there(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.file_result(CELL, record())
    before = ledger.result_path(CELL).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GpcnoiseError, match="No space left"):
        ledger.file_result(CELL, record(acc=1.0))
    assert ledger.result_path(CELL).read_bytes() == before
    assert [path.name for path in ledger.result_path(CELL).parent.iterdir()] == ["split-00.json"]


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GpcnoiseError, match="choose another --results"):
        Ledger(tmp_path / "file" / "uci").prepare()


HOLD = """
import sys
from pathlib import Path
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.workspace import Workspace
cell = Cell("a", sys.argv[2], None)
with Workspace(Path(sys.argv[1])).claim(cell):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_process_killed_by_nine_is_gone_with_it(ledger: Ledger) -> None:
    workspace = ledger.workspace
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(workspace.folder), CELL.digest],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert workspace.is_busy(CELL)
        with pytest.raises(Busy), workspace.claim(CELL):
            pass
        holder.send_signal(signal.SIGKILL)
    assert not workspace.is_busy(CELL)
    with workspace.claim(CELL):
        assert workspace.is_busy(CELL)
    assert not workspace.is_busy(CELL)
    assert [path.name for path in workspace.folder.iterdir()] == [".gitignore"]
