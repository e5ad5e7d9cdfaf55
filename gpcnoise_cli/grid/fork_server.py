"""A process that has imported all that a cell needs and forks a worker for each: cells need not wait for the imports.

Each cell still has a process of its own, with its own session, stdout and stderr, and starts from the state in which
the imports leave an interpreter. A process with threads cannot be forked safely, so the server starts none, neither
TensorFlow's (no operation is executed, no device opened) nor those of the libraries below NumPy, and refuses to serve
where it finds one in itself.

The two sides talk over a socket that keeps messages apart: a task with the descriptors that become the worker's stdout
and stderr goes one way; `ready` or `refuses`, then `pid` and later `ended` for each task, come the other way. When the
socket closes, the server goes, and its workers, finding themselves orphaned, keep a checkpoint and stop; so they do
when the server is killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from gpcnoise_cli.grid import worker
from gpcnoise_cli.grid.outcome import Outcome, Status
from gpcnoise_cli.grid.worker import Task
from gpcnoise_cli.grid.worker_process import (
    THREAD_VARIABLES,
    environment,
    last_words,
    open_errors,
    read_outcome,
)

LARGEST_MESSAGE = 1 << 17
_PRELOADED_PACKAGES = ("gpcnoise_cli.likelihoods", "gpcnoise_cli.models", "gpcnoise_cli.training")
_PRELOADED_MODULES = (
    "gpcnoise_cli.grid.compute",
    "gpcnoise_cli.runs.train",
    "scipy.spatial.distance",
    "sklearn.cluster",
    "threadpoolctl",
)
_THREADS = Path("/proc/self/task")


def possible() -> bool:
    """Whether this system has what it takes; elsewhere every cell gets a fresh process."""
    return hasattr(os, "pidfd_open") and hasattr(socket, "SOCK_SEQPACKET") and _THREADS.is_dir()


class ForkServer:
    """The server from the side of whoever started it. No call waits for it but `close`."""

    def __init__(self) -> None:
        self.ready, self.gone = False, False
        self.refusal: str | None = None
        self.pids: dict[int, int] = {}
        self.ended: dict[int, int | str] = {}
        self._tasks = 0
        self._errors = open_errors()
        self._socket, other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other_end:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gpcnoise_cli.grid.fork_server", str(other_end.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[other_end.fileno()],
                # Arrow's allocator would start a thread as soon as it is loaded.
                env={"JE_ARROW_MALLOC_CONF": "background_thread:false", **environment(threads=1)},
                start_new_session=True,
            )

    def start(self, task: Task) -> ForkedProcess:
        """A worker for the task, forked as soon as the server is ready. Raises `OSError` when the server is gone."""
        self._tasks += 1
        said, stdout = os.pipe()
        errors = open_errors()
        message = json.dumps({"number": self._tasks, "task": task.to_json()}).encode()
        try:
            socket.send_fds(self._socket, [message], [stdout, errors.fileno()])
        except OSError:
            os.close(said)
            errors.close()
            raise
        finally:
            os.close(stdout)
        return ForkedProcess(self, self._tasks, said, errors)

    def listen(self) -> None:
        """Take in what the server has said."""
        while not self.gone:
            try:
                message = self._socket.recv(LARGEST_MESSAGE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except ConnectionResetError:  # told once, when it left tasks unread; what it said before still comes
                continue
            if message:
                self._take(json.loads(message))
            else:
                self.gone = True

    def why(self) -> str:
        """What became of a server that is gone."""
        self._socket.close()
        code, complaint = self.process.wait(), last_words(self._errors)
        if self.refusal is not None:
            return self.refusal
        return f"ended by signal {-code}" if code < 0 else f"ended with code {code}: {complaint}"

    def close(self) -> None:
        """End the server. Its workers, if there are any left, stop by themselves."""
        self._socket.close()
        self.gone = True
        if not self.ready:  # it would finish its imports first
            self.process.kill()
        self.process.wait()
        self._errors.close()

    def _take(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self.ready = True
        elif "refuses" in message:
            self.refusal = message["refuses"]
        elif "pid" in message:
            self.pids[message["number"]] = message["pid"]
        else:
            self.ended[message["number"]] = message["ended"]


class ForkedProcess:
    """A worker that the server forks."""

    def __init__(self, server: ForkServer, number: int, said: int, errors: IO[str]) -> None:
        self._server, self._number, self._errors = server, number, errors
        self._said, self._text, self._silent = said, b"", False
        os.set_blocking(said, False)

    def ended(self) -> bool:
        self._server.listen()
        if self._number in self._server.ended:
            return True
        # Nobody is left to say how it ended; that it has is known from its stdout.
        return self._server.gone and self._is_silent()

    def signal(self, number: int) -> bool:
        if self.ended():
            return True
        pid = self._server.pids.get(self._number)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return pid is not None

    def outcome(self) -> Outcome | None:
        self._is_silent()
        os.close(self._said)
        complaint = last_words(self._errors)
        ended = self._server.ended.get(self._number)
        if isinstance(ended, str):
            return Outcome(Status.TRANSIENT, ended)
        if ended is None and not self._text and self._number not in self._server.pids:
            return None
        return read_outcome(ended, self._text.decode(errors="replace"), complaint)

    def _is_silent(self) -> bool:
        """Whether nobody can write to the worker's stdout any more."""
        while not self._silent:
            try:
                more = os.read(self._said, LARGEST_MESSAGE)
            except BlockingIOError:
                return False
            self._text += more
            self._silent = not more
        return True


def preload() -> None:
    """Import what computing a cell imports; what is missing here is only imported later, by each worker."""
    from gpcnoise_cli.runs.provenance import commit
    from gpcnoise_cli.runtime import load_tensorflow, quick_decorators

    commit()  # of the code as it is loaded now: the checkout may move on while the server lives
    load_tensorflow()
    with quick_decorators():
        for name in _PRELOADED_PACKAGES:
            package = importlib.import_module(name)
            for module in pkgutil.iter_modules(package.__path__, f"{name}."):
                importlib.import_module(module.name)
        for name in _PRELOADED_MODULES:
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # workers share these pages as long as no collection touches them


def objection() -> str | None:
    """Why this process must not fork workers; None if it may."""
    threads = len(list(_THREADS.iterdir()))
    if threads > 1:
        return f"importing the libraries started {threads - 1} threads"
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return f"this system cannot watch processes ({error.strerror})"
    return None


def serve(connection: socket.socket) -> int:
    """Fork workers until the other side is gone. Returns in the workers too: the exit code of the process."""
    preload()
    refusal = objection()
    if refusal is not None:
        _tell(connection, refuses=refusal)
        return 1
    _tell(connection, ready=True)
    watched = selectors.PollSelector()  # not epoll, which a fork would share
    watched.register(connection, selectors.EVENT_READ)
    while True:
        for key, _ in watched.select():
            if key.data is not None:
                number, pid = key.data
                watched.unregister(key.fileobj)
                os.close(key.fd)
                _tell(connection, number=number, ended=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                continue
            order, descriptors = _next_order(connection)
            if order is None:
                return 0
            task = replace(Task.from_json(order["task"]), parent=os.getpid())
            try:
                pid = os.fork()
            except OSError as error:
                _tell(connection, number=order["number"], ended=f"no process could be had: {error.strerror}")
            else:
                if pid == 0:
                    connection.close()
                    return _work(task, descriptors)
                _tell(connection, number=order["number"], pid=pid)
                watched.register(os.pidfd_open(pid), selectors.EVENT_READ, (order["number"], pid))
            for descriptor in descriptors:
                os.close(descriptor)


def _tell(connection: socket.socket, **message: Any) -> None:
    with contextlib.suppress(OSError):  # the other side is gone: the next reading says so
        connection.send(json.dumps(message).encode())


def _next_order(connection: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """A task with its descriptors; None when there will be no more."""
    try:
        message, descriptors, _, _ = socket.recv_fds(connection, LARGEST_MESSAGE, 2)
    except ConnectionResetError:
        return None, []
    return (json.loads(message) if message else None), descriptors


def _work(task: Task, descriptors: list[int]) -> int:
    """What a fork does: become what a fresh worker is, and compute the cell."""
    began = time.perf_counter()
    os.setsid()
    _stay_nice()
    for descriptor, standard in zip(descriptors, (1, 2), strict=True):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    import numpy as np
    from threadpoolctl import threadpool_limits

    os.environ.update({name: str(task.threads) for name in THREAD_VARIABLES})
    threadpool_limits(limits=task.threads)
    np.random.seed()  # noqa: NPY002, or every worker would draw the same numbers where nobody sets a seed
    return worker.report(task, began)


def _stay_nice() -> None:
    """Linux weighs sessions against each other by a niceness of their own (autogroup), and a new one starts at 0."""
    if os.nice(0) > 0:
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(os.nice(0)), encoding="ascii")


def main() -> int:
    return serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
