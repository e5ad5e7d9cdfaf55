"""Signals as requests: the first raises a flag, a closed terminal counts once, and nothing half-written is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpcnoise_cli.cli.interruption import end_on_signal, stop_on_signal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_a_request(number: signal.Signals) -> None:
    with stop_on_signal() as stop_requested:
        assert not stop_requested()
        os.kill(os.getpid(), number)
        assert stop_requested()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_breaks_off(number: signal.Signals) -> None:
    with stop_on_signal():
        os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


def test_a_terminal_that_closes_says_so_twice_and_means_it_once() -> None:
    with stop_on_signal() as stop_requested:
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
        assert stop_requested()


def test_nohup_is_respected() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    end_on_signal()
    with stop_on_signal() as stop_requested:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop_requested()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_what_was_being_written_is_removed(tmp_path: Path, name: str) -> None:
    code = (
        "import os, signal; from pathlib import Path; from gpcnoise_cli.cli import config; "
        "from gpcnoise_cli.cli.main import run; from gpcnoise_cli.files import write_atomically\n"
        "def write(stream):\n"
        "    stream.write(b'half of it'); stream.flush()\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "config.choices = lambda group: write_atomically(Path('out.npz'), write)\n"
        "run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "config", "--list"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "")
    assert list(tmp_path.iterdir()) == []
