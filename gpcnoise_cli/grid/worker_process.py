"""A worker as whoever started it sees it: has it ended, and what came of it. Here: one that is a program of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from typing import IO, Protocol

from gpcnoise_cli.grid.outcome import Outcome, Status
from gpcnoise_cli.grid.worker import Task

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerProcess(Protocol):
    """A process at work on one cell; no call blocks."""

    def ended(self) -> bool:
        """Whether the process is gone."""

    def signal(self, number: int) -> bool:
        """Send a signal; False where that must be tried again, because the process is about to begin."""

    def outcome(self) -> Outcome | None:
        """How it ended, once it has; None if it never began. To be asked once."""


class FreshProcess:
    """A worker that is started from nothing, imports and all."""

    def __init__(self, task: Task) -> None:
        self._errors = open_errors()
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "gpcnoise_cli.grid.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment(task.threads),
            # Ctrl-C reaches the whole foreground group; the workers are asked to stop by their parent alone, once.
            start_new_session=True,
        )
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.write(task.to_json())
            self._popen.stdin.close()
        except BrokenPipeError:
            pass  # it died at once; how is told by `outcome`

    def ended(self) -> bool:
        return self._popen.poll() is not None

    def signal(self, number: int) -> bool:
        self._popen.send_signal(number)
        return True

    def outcome(self) -> Outcome | None:
        assert self._popen.stdout is not None
        with self._popen.stdout as stdout:
            said = stdout.read()
        return read_outcome(self._popen.wait(), said, last_words(self._errors))


def environment(threads: int) -> dict[str, str]:
    """This process's, with the number of threads that the libraries below NumPy may start."""
    return {**os.environ, **{name: str(threads) for name in THREAD_VARIABLES}}


def open_errors() -> IO[str]:
    """A nameless file for what a process writes to stderr."""
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


def last_words(errors: IO[str]) -> str:
    """The last line of what `open_errors` collected; the file is closed."""
    with errors:
        errors.seek(0)
        return (errors.read().strip().splitlines() or [""])[-1][:300]


def read_outcome(exit_code: int | None, said: str, complaint: str) -> Outcome:
    """From the line of JSON that a worker leaves, or from how it ended without one; `exit_code` None: nobody knows."""
    if exit_code is not None and exit_code < 0:
        name = signal.strsignal(-exit_code) or "unknown"
        hint = ", perhaps for want of memory" if exit_code == -signal.SIGKILL else ""
        return Outcome(Status.TRANSIENT, f"the process was ended by signal {-exit_code} ({name}){hint}")
    try:
        return Outcome.from_dict(json.loads(said.strip().splitlines()[-1]))
    except (IndexError, ValueError, KeyError, TypeError):
        code = "ended" if exit_code is None else f"ended with code {exit_code}"
        return Outcome(Status.TRANSIENT, f"the process {code}: {complaint}")
