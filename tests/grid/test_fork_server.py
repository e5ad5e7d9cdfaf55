"""Workers forked from a process with the imports done: the same results as fresh ones, and no trust in threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.grid import fork_server
from gpcnoise_cli.grid.campaign import Campaign, CampaignEvents, Report
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.fork_server import ForkServer
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.runners.local import LocalRunner

pytestmark = pytest.mark.skipif(not fork_server.possible(), reason="this system does not fork workers")

TINY = ["dataset=waveform", "inducing=10", "batch_size=64", "iterations=15", "runtime.eval_every=5"]
# What differs from run to run by its nature.
TIMES = ("train_seconds", "seconds_per_step", "seconds", "curve")
PATIENCE = 120.0


def cells(*likelihoods: str) -> list[Cell]:
    return [Cell.of(name, compose([*TINY, f"likelihood={name}"])) for name in likelihoods]


def compute(folder: Path, wanted: list[Cell], runner: LocalRunner) -> tuple[Report, dict[str, dict[str, Any]]]:
    ledger = Ledger(folder)
    ledger.prepare()
    report = Campaign(wanted, ledger, runner, CampaignEvents()).run()
    records = {cell.name: ledger.look_up(cell).record or {} for cell in wanted}
    return report, {name: {k: v for k, v in record.items() if k not in TIMES} for name, record in records.items()}


def wait_until_ready(server: ForkServer) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (server.ready or server.gone) and time.monotonic() < deadline:
        server.listen()
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["softmax", "probit"])
def test_a_forked_worker_computes_what_a_fresh_one_does_to_the_last_bit(tmp_path: Path, likelihood: str) -> None:
    wanted = cells(likelihood)
    forked = LocalRunner(Ledger(tmp_path / "forked"), 1)
    fresh = LocalRunner(Ledger(tmp_path / "fresh"), 1, fork=False)
    first, records = compute(tmp_path / "forked", wanted, forked)
    assert forked._server is not None
    assert forked._server.ready
    second, expected = compute(tmp_path / "fresh", wanted, fresh)
    assert fresh._server is None
    assert sorted(cell.name for cell in first.computed) == sorted(cell.name for cell in second.computed)
    assert records == expected
    assert {record["threads"] for record in records.values()} == {forked.threads}


@pytest.mark.slow
def test_the_imports_leave_a_process_without_threads_and_tensorflow_asleep() -> None:
    program = (
        "from gpcnoise_cli.grid.fork_server import objection, preload; preload(); print(objection());"
        "from tensorflow.python.eager import context; print(context.context_safe())"
    )
    environment = {**os.environ, "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    environment |= dict.fromkeys(fork_server.THREAD_VARIABLES, "1")
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "None"]


def test_a_process_with_threads_must_not_fork() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert "importing the libraries started" in (fork_server.objection() or "")
    finally:
        end.set()
        thread.join()


@pytest.mark.slow
def test_a_server_that_finds_threads_in_itself_refuses_and_every_cell_gets_a_fresh_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("JE_ARROW_MALLOC_CONF", "background_thread:true")
    said: list[str] = []
    runner = LocalRunner(Ledger(tmp_path), 2, say=said.append)
    report, _ = compute(tmp_path, cells("softmax"), runner)
    assert len(report.computed) == 1
    assert len(said) == 1
    assert "importing the libraries started 1 thread" in said[0]
    assert "every cell gets a process from nothing" in said[0]


def runner_without_its_server(folder: Path, cell: Cell, said: list[str]) -> LocalRunner:
    """A runner that has been given `cell`, and whose server was killed before it could begin."""
    ledger = Ledger(folder)
    ledger.prepare()
    runner = LocalRunner(ledger, 1, say=said.append)
    runner.submit(cell)
    assert runner._server is not None
    runner._server.process.kill()
    return runner


def test_a_cell_whose_server_was_killed_gets_a_process_of_its_own(tmp_path: Path) -> None:
    said: list[str] = []
    (cell,) = cells("softmax")
    runner = runner_without_its_server(tmp_path, cell, said)
    deadline = time.monotonic() + PATIENCE
    while not said and time.monotonic() < deadline:
        assert runner.finished() == []
        time.sleep(0.02)
    assert said == [
        "the process that forks the workers is gone (ended by signal 9): every cell gets a process from nothing, "
        "which takes longer."
    ]
    assert list(runner.running()) == [cell]
    runner.stop(patience=0.0)
    runner.finished()  # takes in what was killed


@pytest.mark.slow
def test_a_server_killed_before_it_is_ready_costs_no_attempt(tmp_path: Path) -> None:
    (cell,) = cells("softmax")
    runner = runner_without_its_server(tmp_path, cell, [])
    campaign = Campaign([], runner.ledger, runner)  # the cell is submitted already
    assert campaign.run().computed == [cell]
    assert campaign.attempts == {}


@pytest.mark.slow
def test_a_server_goes_when_whoever_started_it_is_gone() -> None:
    server = ForkServer()
    wait_until_ready(server)
    assert server.ready
    server.close()
    assert server.process.returncode == 0


def test_a_runner_stopped_while_the_imports_last_leaves_nothing_behind(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.prepare()
    runner = LocalRunner(ledger, 1)
    (cell,) = cells("softmax")
    runner.submit(cell)
    began = time.monotonic()
    runner.stop(patience=PATIENCE)
    assert time.monotonic() - began < PATIENCE / 2
    assert runner.finished() == []
    assert runner._server is not None
    assert runner._server.process.returncode == -signal.SIGKILL
    assert not ledger.workspace.is_busy(cell)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not group sessions")
def test_a_worker_is_as_nice_as_whoever_asked_for_it() -> None:
    nicer = min(os.nice(0) + 7, 19)  # the tests may be nice themselves
    code = (
        "import os; from pathlib import Path; from gpcnoise_cli.grid import fork_server; "
        "os.setsid(); os.nice(7); fork_server._stay_nice(); print(Path('/proc/self/autogroup').read_text())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["nice", str(nicer)]
