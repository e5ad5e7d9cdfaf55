"""A timed command: its output and exit code come through, and all that it started is counted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpcnoise_cli.bench.timed import run_timed

BURN = "import time\nwhile time.process_time() < 0.4: pass"


def test_output_exit_code_and_environment_come_through() -> None:
    code = "import os, sys; print(os.environ['ASKED']); print('oh', file=sys.stderr); sys.exit(3)"
    finished = run_timed([sys.executable, "-c", code], environment={"ASKED": "yes"})
    assert (finished.code, finished.stdout, finished.stderr) == (3, "yes\n", "oh\n")


def test_the_clock_runs_while_the_command_waits_and_the_processor_s_does_not() -> None:
    finished = run_timed([sys.executable, "-c", "import time; time.sleep(0.5)"])
    assert finished.seconds >= 0.5
    assert finished.processor_seconds < finished.seconds


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_a_process_that_is_left_behind_is_counted() -> None:
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BURN!r}])"
    assert run_timed([sys.executable, "-c", leave]).processor_seconds >= 0.4


def test_a_termination_is_passed_on(tmp_path: Path) -> None:
    sleep = "print('here', flush=True); import time; time.sleep(100)"
    command = [sys.executable, "-m", "gpcnoise_cli.bench.timed", str(tmp_path / "cost.json")]
    with subprocess.Popen([*command, sys.executable, "-c", sleep], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "here\n"
        time.sleep(0.2)  # its handler is set just after the start
        holder.send_signal(signal.SIGTERM)
        assert holder.wait(20) == 128 + signal.SIGTERM
    assert json.loads((tmp_path / "cost.json").read_text())["seconds"] < 100
