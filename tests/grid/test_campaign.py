"""What a campaign does about every way in which a cell can end, whoever computes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.grid import campaign as module
from gpcnoise_cli.grid.campaign import ATTEMPTS, Campaign, Report
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Ledger, State, read_record
from gpcnoise_cli.grid.outcome import Outcome, Progress, Status, outcome_of
from gpcnoise_cli.grid.workspace import Busy

CELLS = [Cell.of(f"cell-{split}", compose([f"split={split}"])) for split in range(3)]


class ScriptedRunner:
    """A runner on no machine at all: results come back as values, outcomes from a script."""

    capacity, threads, where, detached = 2, 1, "", False

    def __init__(self, script: Mapping[str, list[Outcome]]) -> None:
        self.script = {name: list(outcomes) for name, outcomes in script.items()}
        self.submitted: list[str] = []
        self.under_way: list[Cell] = []
        self.stopped = False

    def has(self, cell: Cell) -> bool:
        return False

    def submit(self, cell: Cell) -> None:
        assert len(self.under_way) < self.capacity
        self.submitted.append(cell.name)
        self.under_way.append(cell)

    def finished(self) -> list[tuple[Cell, Outcome]]:
        ended, self.under_way = self.under_way, []
        return [(cell, self._next(cell)) for cell in ended]

    def _next(self, cell: Cell) -> Outcome:
        left = self.script.get(cell.name)
        return left.pop(0) if left else done(cell)

    def running(self) -> Mapping[Cell, Progress]:
        return {cell: Progress() for cell in self.under_way}

    def stop(self, patience: float) -> None:
        self.stopped = True


def done(cell: Cell) -> Outcome:
    return Outcome(Status.DONE, record={"acc": 50.0, "digest": cell.digest, "config": cell.to_dict()["config"]})


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    return Ledger(tmp_path)


def run(ledger: Ledger, script: Mapping[str, list[Outcome]]) -> tuple[Report, ScriptedRunner]:
    runner = ScriptedRunner(script)
    return Campaign(CELLS, ledger, runner).run(), runner


def test_results_that_come_back_as_values_are_filed(ledger: Ledger) -> None:
    report, runner = run(ledger, {})
    assert report.computed == CELLS
    assert all(ledger.look_up(cell).state is State.DONE for cell in CELLS)
    assert runner.stopped


def test_a_failure_is_recorded_with_its_reason_and_the_rest_goes_on(ledger: Ledger) -> None:
    report, runner = run(ledger, {"cell-0": [Outcome(Status.FAILED, "the loss is not a finite number")]})
    assert report.failed == {CELLS[0]: "the loss is not a finite number"}
    assert report.computed == CELLS[1:]
    assert runner.submitted.count("cell-0") == 1
    assert ledger.look_up(CELLS[0]).state is State.FAILED


def test_a_transient_failure_is_tried_again_until_it_works(ledger: Ledger) -> None:
    report, runner = run(ledger, {"cell-0": [Outcome(Status.TRANSIENT, "killed")] * (ATTEMPTS - 1)})
    assert set(report.computed) == set(CELLS)
    assert runner.submitted.count("cell-0") == ATTEMPTS
    assert not ledger.failure_path(CELLS[0]).exists()


def test_but_only_a_bounded_number_of_times(ledger: Ledger) -> None:
    report, runner = run(ledger, {"cell-0": [Outcome(Status.TRANSIENT, "killed")] * 99})
    assert list(report.failed) == [CELLS[0]]
    assert runner.submitted.count("cell-0") == ATTEMPTS
    failure = read_record(ledger.failure_path(CELLS[0]))
    assert failure is not None
    assert (failure["transient"], failure["attempts"]) == (True, ATTEMPTS)


def test_a_full_disk_ends_the_campaign_at_once_with_a_sentence(ledger: Ledger) -> None:
    runner = ScriptedRunner({"cell-0": [Outcome(Status.FULL, "No space left on device")]})
    with pytest.raises(GpcnoiseError, match="no space is left for results"):
        Campaign(CELLS, ledger, runner).run()
    assert runner.stopped
    assert "cell-2" not in runner.submitted


def test_a_cell_that_another_process_holds_is_waited_for_and_not_computed_twice(ledger: Ledger) -> None:
    runner = ScriptedRunner({})
    campaign = Campaign(CELLS[:1], ledger, runner)
    said: list[str] = []
    campaign.events.message = said.append  # type: ignore[method-assign]
    with ledger.workspace.claim(CELLS[0]):
        for _ in range(3):
            campaign._submit()
        assert runner.submitted == []
        ledger.file_result(CELLS[0], done(CELLS[0]).record or {})
    report = campaign.run()
    assert (report.computed, report.elsewhere, runner.submitted) == ([], CELLS[:1], [])
    assert said == ["waiting for another process, which computes 1 of these cells."]


def test_a_cell_that_failed_elsewhere_meanwhile_is_not_tried_here_too(ledger: Ledger) -> None:
    runner = ScriptedRunner({})
    campaign = Campaign(CELLS[:1], ledger, runner)
    ledger.file_failure(CELLS[0], "the data are damaged", transient=False, attempts=1)
    assert campaign.run().failed == {CELLS[0]: "the data are damaged"}
    assert runner.submitted == []
    assert Campaign(CELLS[:1], ledger, runner).run().computed == CELLS[:1]  # but asked for by name, it is


def test_a_process_that_cannot_be_started_is_a_transient_failure(ledger: Ledger) -> None:
    class PoorRunner(ScriptedRunner):
        def submit(self, cell: Cell) -> None:
            self.submitted.append(cell.name)
            if len(self.submitted) == 1:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            self.under_way.append(cell)

    runner = PoorRunner({})
    assert set(Campaign(CELLS, ledger, runner).run().computed) == set(CELLS)
    assert len(runner.submitted) == 4


def test_a_request_to_stop_stops_the_runner(ledger: Ledger) -> None:
    runner = ScriptedRunner({})
    report = Campaign(CELLS, ledger, runner, stop_requested=lambda: bool(runner.submitted)).run()
    assert report.interrupted
    assert runner.stopped
    assert "cell-2" not in runner.submitted


def test_trouble_of_the_machine_passes_and_that_of_the_request_does_not() -> None:
    def wrapped(cause: Exception) -> GpcnoiseError:
        error = GpcnoiseError("cannot write")
        error.__cause__ = cause
        return error

    assert outcome_of(GpcnoiseError("wrong")).status is Status.FAILED
    assert outcome_of(ValueError("a defect")).reason == "ValueError: a defect"
    assert outcome_of(OSError(5, "Input/output error")).status is Status.TRANSIENT
    assert outcome_of(MemoryError()).status is Status.TRANSIENT
    assert outcome_of(wrapped(OSError(28, "No space left on device"))).status is Status.FULL
    assert outcome_of(wrapped(OSError(5, "Input/output error"))).status is Status.TRANSIENT
    masked = ValueError("cannot close the archive")
    masked.__context__ = OSError(28, "No space left on device")
    assert outcome_of(masked).status is Status.FULL


def test_probabilities_come_back_with_the_result_and_the_checkpoint_goes(ledger: Ledger) -> None:
    ledger.workspace.scratch(CELLS[0]).mkdir(parents=True)
    P = np.array([[0.25, 0.75]])
    outcome = Outcome(Status.DONE, record=done(CELLS[0]).record, probabilities={"probabilities": P})
    run(ledger, {"cell-0": [outcome]})
    with np.load(ledger.probabilities_path(CELLS[0])) as stored:
        assert np.array_equal(stored["probabilities"], P)
    assert not ledger.workspace.scratch(CELLS[0]).exists()


def test_a_cell_that_the_runner_has_under_way_from_before_is_attached_to_and_not_waited_for(ledger: Ledger) -> None:
    class Attached(ScriptedRunner):
        def has(self, cell: Cell) -> bool:
            return True

    runner = Attached({})
    campaign = Campaign(CELLS[:1], ledger, runner)
    with ledger.workspace.claim(CELLS[0]):  # by the job that computes it
        campaign._submit()
    assert runner.submitted == ["cell-0"]


def test_a_cell_that_somebody_takes_this_moment_is_looked_at_again(ledger: Ledger) -> None:
    class Late(ScriptedRunner):
        def submit(self, cell: Cell) -> None:
            if not self.submitted:
                self.submitted.append("in vain")
                raise Busy
            super().submit(cell)

    report, runner = Campaign(CELLS[:1], ledger, late := Late({})).run(), late
    assert (report.computed, report.failed, runner.submitted) == (CELLS[:1], {}, ["in vain", "cell-0"])


def test_a_campaign_that_is_left_to_the_cluster_says_which_cells_are(ledger: Ledger) -> None:
    class Away(ScriptedRunner):
        capacity, detached = 9, True

        def finished(self) -> list[tuple[Cell, Outcome]]:
            return []

    report = Campaign(CELLS, ledger, Away({})).run()
    assert (report.left, report.computed, report.interrupted) == (CELLS, [], False)
