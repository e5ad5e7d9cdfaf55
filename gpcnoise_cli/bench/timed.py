"""What a command costs from start to exit: wall clock, and processor seconds with those of everything it started.

A process of its own starts the command and holds the clock. On Linux it also adopts whatever the command leaves behind,
so that the workers of a server that nobody waited for are counted as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# How a shell runs this program, whether or not its script is on the path.
PROGRAM = (sys.executable, "-c", "from gpcnoise_cli.cli.main import run; run()")
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@dataclass(frozen=True)
class Finished:
    """How a command ended; `stderr` is empty where it was shown and not kept."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    processor_seconds: float


def run_timed(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, show_errors: bool = False
) -> Finished:
    """Run `command` to its end. It is asked to stop when this process is interrupted or terminated."""
    with tempfile.TemporaryDirectory(prefix="gpcnoise-bench-") as folder, _termination_as_interrupt():
        report = Path(folder) / "cost.json"
        holder = subprocess.Popen(
            [sys.executable, "-m", __name__, str(report), *command],
            stdout=subprocess.PIPE,
            stderr=None if show_errors else subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, **(environment or {})},
        )
        try:
            stdout, stderr = holder.communicate()
        except BaseException:
            holder.terminate()
            holder.wait()
            raise
        cost = json.loads(report.read_text(encoding="utf-8"))
        return Finished(holder.returncode, stdout, stderr or "", cost["seconds"], cost["processor_seconds"])


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(report: Path, command: Sequence[str]) -> int:
    """The process that holds the clock; the exit code of the command."""
    import resource

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.perf_counter()
    process = subprocess.Popen(command)
    # After the start, for what is ignored now would be ignored by the command too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the command by itself
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    code = process.wait()
    seconds = time.perf_counter() - began
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {"seconds": seconds, "processor_seconds": usage.ru_utime + usage.ru_stime}
    report.write_text(json.dumps(cost), encoding="utf-8")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
