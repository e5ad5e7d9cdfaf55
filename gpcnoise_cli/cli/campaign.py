"""Showing and running a campaign of cells, for every command that has one: the plan, the live display, the exit code.

On a terminal each worker has its line with a bar, above a line for the whole; elsewhere each finished cell is a line.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.cli.console import counted, say, stderr
from gpcnoise_cli.grid.campaign import Campaign, CampaignEvents, Report
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.cost import Estimator
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.outcome import Progress
from gpcnoise_cli.grid.runners.base import Runner
from gpcnoise_cli.grid.runners.local import default_workers
from gpcnoise_cli.grid.runners.registry import backend_of
from gpcnoise_cli.grid.runners.request import Request

if TYPE_CHECKING:
    from rich.progress import TaskID


def number_of_workers(request: Request, cells: int) -> int:
    """For a forecast: those asked for; a cluster is not asked how many it would have."""
    return request.workers or default_workers(cells)


def tell_left_out(failed: Sequence[Cell]) -> None:
    say(f"left out for having failed before: {counted(len(failed), 'cell')}; --retry-failed tries again.")


def run_campaign(cells: Sequence[Cell], ledger: Ledger, request: Request, estimator: Estimator) -> Report:
    """Compute the cells with a display on stderr; Ctrl-C and SIGTERM stop the workers politely."""
    from gpcnoise_cli.cli.interruption import stop_on_signal

    backend = backend_of(request)
    ledger.prepare()
    with stop_on_signal() as stop_requested:
        messages = Messages()
        runner = backend.open(request, cells, ledger, estimator, messages)
        say(f"computing {counted(len(cells), 'cell')} {_staff(runner, len(cells))}, into {ledger.folder}")
        with _display(cells, runner.capacity, estimator) as events:
            messages.show = events.message
            return Campaign(cells, ledger, runner, events, stop_requested).run()


class Messages:
    """What a runner has to say, which is made before the display: shown there, once that is up."""

    def __init__(self) -> None:
        self.show: Callable[[str], None] = say

    def __call__(self, text: str) -> None:
        self.show(text)


def _staff(runner: Runner, cells: int) -> str:
    threads = counted(runner.threads, "thread")
    if not runner.where:
        return f"with {counted(runner.capacity, 'worker')} of {threads}"
    at_a_time = f"up to {runner.capacity} at a time, " if runner.capacity < cells else ""
    return f"{runner.where}, {at_a_time}{threads} each"


def exit_code(report: Report, command: str) -> int:
    """Say how a campaign ended that did not do everything, and the exit code for it."""
    if report.interrupted:
        say(f"stopped; what is done is kept, and unfinished cells go on from their checkpoints: {command}")
        return 130
    for cell, reason in report.failed.items():
        say(f"failed: {cell.name}: {reason}")
    if report.left:
        say(f"{counted(len(report.left), 'cell')} left to the cluster; to collect them: {command}")
    return 1 if report.failed else 0


def describe_estimates(cells: Sequence[Cell], estimator: Estimator, workers: int) -> dict[str, Any]:
    """How long the cells would take, and on what the figures rest."""
    estimates = [estimator.estimate(cell) for cell in cells]
    total = sum(estimate.seconds for estimate in estimates)
    return {
        "cells": len(cells),
        "workers": workers,
        "seconds": round(total / workers, 1),
        "basis": dict(Counter(estimate.basis for estimate in estimates)),
    }


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


class Forecast:
    """The time left, from the estimates as corrected by how long the cells finished here really took."""

    def __init__(self, cells: Sequence[Cell], workers: int, estimator: Estimator) -> None:
        self.estimator, self.workers = estimator, workers
        self.open = {cell: estimator.estimate(cell).seconds for cell in cells}
        self.began: dict[Cell, float] = {}
        self.part_left: dict[Cell, float] = {}
        self.expected, self.taken = 0.0, 0.0

    def finished(self, cell: Cell, record: Mapping[str, Any]) -> None:
        self.estimator.learn(record)
        expected = self.open.pop(cell, 0.0)
        if cell in self.began:
            self.expected += expected
            self.taken += time.monotonic() - self.began[cell]
            self.open = {left: self.estimator.estimate(left).seconds for left in self.open}

    def given_up(self, cell: Cell) -> None:
        self.open.pop(cell, None)

    def seconds_left(self, running: Mapping[Cell, Progress]) -> float:
        correction = self.taken / self.expected if self.expected else 1.0
        left = 0.0
        for cell, seconds in self.open.items():
            if cell in running:
                self.began.setdefault(cell, time.monotonic())
                progress = running[cell]
                if progress.iterations:
                    self.part_left[cell] = 1 - (progress.step or 0) / progress.iterations
            left += seconds * correction * self.part_left.get(cell, 1.0)
        return left / max(1, min(self.workers, len(self.open)))


class PlainDisplay(CampaignEvents):
    """One line per finished or failed cell: readable in a log file."""

    def __init__(self, forecast: Forecast, total: int) -> None:
        self.forecast, self.total, self.done = forecast, total, 0
        self.left_seconds = 0.0
        self.places: dict[Cell, str] = {}

    def finished(self, cell: Cell, record: Mapping[str, Any], left: int) -> None:
        self.done += 1
        self.forecast.finished(cell, record)
        place = self.places.pop(cell, "")
        where = f" at {place}" if place else ""
        self._show(f"[{self.done}/{self.total}] {result_line(cell, record)}{where}{self._eta(left)}")

    def failed(self, cell: Cell, reason: str, again: bool) -> None:
        if not again:
            self.done += 1
            self.forecast.given_up(cell)
        self._show(f"{cell.label}: {'trying again' if again else 'failed'}: {reason}")

    def message(self, text: str) -> None:
        self._show(text)

    def tick(self, running: Mapping[Cell, Progress], left: int) -> None:
        self.left_seconds = self.forecast.seconds_left(running)
        self.places |= {cell: progress.place for cell, progress in running.items() if progress.place}

    def _eta(self, left: int) -> str:
        return f"; about {duration(self.left_seconds)} left" if left and self.left_seconds else ""

    def _show(self, line: str) -> None:
        say(line)


class LiveDisplay(PlainDisplay):
    """A bar for each worker and one for the whole."""

    def __init__(self, forecast: Forecast, total: int) -> None:
        super().__init__(forecast, total)
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[note]}"),
            console=stderr(),
            redirect_stdout=False,  # nothing of ours goes there meanwhile, and Ray's chatter is kept from it
        )
        self.whole = self.bars.add_task("all cells", total=total, count=f"0/{total}", note="")
        self.lines: dict[Cell, TaskID] = {}

    def tick(self, running: Mapping[Cell, Progress], left: int) -> None:
        super().tick(running, left)
        begun = {cell: progress for cell, progress in running.items() if not progress.queued}
        for cell in [cell for cell in self.lines if cell not in begun]:
            self.bars.remove_task(self.lines.pop(cell))
        for cell, progress in begun.items():
            if cell not in self.lines:
                self.lines[cell] = self.bars.add_task(cell.label, total=None, count="", note="starting")
            if progress.step is not None or progress.place:
                self.bars.update(self.lines[cell], **_bar_of(progress))
        queued = len(running) - len(begun)
        note = f"about {duration(self.left_seconds)} left" + (f", {queued} in the queue" if queued else "")
        self.bars.update(self.whole, completed=self.done, count=f"{self.done}/{self.total}", note=note)

    def _show(self, line: str) -> None:
        self.bars.console.print(line)


def _bar_of(progress: Progress) -> dict[str, Any]:
    test = [f"acc {progress.acc:.2f}% nll {progress.nll:.4f}"] if progress.acc is not None else []
    count = f"{progress.step}/{progress.iterations}" if progress.step is not None else ""
    note = ", ".join([*([progress.place] if progress.place else []), *test])
    return {"completed": progress.step or 0, "total": progress.iterations, "count": count, "note": note}


def result_line(cell: Cell, record: Mapping[str, Any]) -> str:
    return (
        f"{cell.label}: acc {record.get('acc', float('nan')):.2f}% nll {record.get('nll', float('nan')):.4f} "
        f"({duration(record.get('seconds', 0.0))})"
    )


@contextmanager
def _display(cells: Sequence[Cell], workers: int, estimator: Estimator) -> Iterator[CampaignEvents]:
    forecast = Forecast(cells, workers, estimator)
    if not sys.stderr.isatty():
        yield PlainDisplay(forecast, len(cells))
        return
    live = LiveDisplay(forecast, len(cells))
    with live.bars:
        yield live
