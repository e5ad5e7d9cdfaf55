"""Ctrl-C, SIGTERM and a closed terminal (SIGHUP): a request to stop, never a death that leaves something half done.

Where work can be kept, the step under way ends, a checkpoint is written, then the command stops; elsewhere the command
breaks off at once and removes what it was writing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def _signals() -> tuple[signal.Signals, ...]:
    """Those to be heeded: `nohup` and `disown` say that a closed terminal is none of our business."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *(() if ignored else (signal.SIGHUP,)))


def end_on_signal() -> None:
    """From now on every such signal is a KeyboardInterrupt, so that temporary files are removed on the way out."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in _signals():
        if number != signal.SIGINT:  # Python's own handler does just this, and a background job may ignore Ctrl-C
            signal.signal(number, handle)


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """Within the block the first signal only raises the flag that the yielded function reads; a second breaks off.

    A terminal that closes may send SIGHUP twice, once by the shell and once by the kernel: that is one request.
    """
    asked = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set() and number != signal.SIGHUP:
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, handle) for number in _signals()}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
