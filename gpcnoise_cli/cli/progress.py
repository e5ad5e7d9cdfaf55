"""Progress of a training run on stderr: a live bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gpcnoise_cli.cli.console import stderr
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents


@contextmanager
def show_progress() -> Iterator[TrainingEvents]:
    """A listener that shows a run while the block lasts."""
    if not sys.stderr.isatty():
        yield PlainProgress()
        return
    bar = LiveProgress()
    with bar.progress:
        yield bar


class PlainProgress(TrainingEvents):
    """One line per measurement and message: readable in a log file."""

    def __init__(self) -> None:
        self.console = stderr()
        self.began, self.first, self.end, self.loss = time.monotonic(), 0, 0, float("nan")

    def started(self, step: int, iterations: int) -> None:
        self.began, self.first, self.end = time.monotonic(), step, iterations
        self.console.print(f"training: steps {step} to {iterations}")

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        self.end, self.loss = iterations, loss

    def measured(self, point: CurvePoint) -> None:
        rate = (point.step - self.first) / max(time.monotonic() - self.began, 1e-9)
        left = (self.end - point.step) / max(rate, 1e-9)
        loss = self.loss if point.elbo is None else -point.elbo
        self.console.print(
            f"step {point.step}/{self.end}  loss {loss:.5g}  acc {point.acc:.2f}%  nll {point.nll:.4f}  "
            f"{rate:.1f} step/s  {left:.0f} s left"
        )

    def message(self, text: str) -> None:
        self.console.print(text)


class LiveProgress(TrainingEvents):
    """A bar with the loss, the latest test metrics, the speed and the time left."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[test]}"),
            TextColumn("{task.fields[speed]} step/s"),
            TimeRemainingColumn(compact=True),
            console=stderr(),
        )
        self.task = self.progress.add_task("compiling", total=None, loss="–", test="", speed="–")
        self.began, self.first = time.monotonic(), 0

    def started(self, step: int, iterations: int) -> None:
        self.began, self.first = time.monotonic(), step  # the next fold may begin before the bar has ended
        self.progress.update(self.task, total=iterations, completed=step)

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        if self.progress.tasks[0].description == "compiling":
            self.began, self.first = time.monotonic(), step
        speed = (step - self.first) / max(time.monotonic() - self.began, 1e-9)
        self.progress.update(
            self.task,
            description="training",
            completed=step,
            total=iterations,
            loss=f"{loss:.5g}",
            speed=f"{speed:.1f}" if step > self.first else "–",
        )

    def measured(self, point: CurvePoint) -> None:
        self.progress.update(self.task, test=f"acc {point.acc:.2f}% nll {point.nll:.4f}")

    def message(self, text: str) -> None:
        self.progress.console.print(text)
