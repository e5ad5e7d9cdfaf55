"""How far a download is, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.cli.console import stderr

if TYPE_CHECKING:
    from gpcnoise_cli.data.fetch import Progress


class _Bar:
    """rich's progress bar in the form pooch asks for."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("archive", total=None)
        self._total = 0

    @property
    def total(self) -> int:
        return self._total

    @total.setter
    def total(self, size: int) -> None:
        self._total = size
        self._progress.update(self._task, total=size or None)

    def update(self, size: int) -> None:
        self._progress.update(self._task, advance=size)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.stop()


@contextmanager
def download_bar() -> Iterator[Progress | None]:
    """A progress bar on a terminal; elsewhere none."""
    console = stderr()
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress)
