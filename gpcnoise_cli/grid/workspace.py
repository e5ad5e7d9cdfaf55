"""Where unfinished cells live: a scratch run folder with the checkpoint, and a lock that says who is at work.

The lock is the kernel's (`flock`), so that it is gone the moment its holder is, however that ended; the file left
behind means nothing by itself. The folder hides itself from git.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_text
from gpcnoise_cli.grid.cell import Cell

HELD_POLL_SECONDS = 0.2


class Busy(Exception):
    """Another process is computing this cell."""


@dataclass(frozen=True)
class Workspace:
    folder: Path

    def scratch(self, cell: Cell) -> Path:
        return self.folder / cell.digest

    def progress(self, cell: Cell) -> Path:
        return self.scratch(cell) / "progress.json"

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / ".gitignore").write_text("*\n", encoding="utf-8")

    def identity(self) -> str | None:
        """A random word kept in the folder: a machine that reads the same one shares the disk; None: no folder."""
        path = self.folder / "disk"
        try:
            if not path.exists():
                write_text(path, secrets.token_hex(16))
            return path.read_text(encoding="utf-8")
        except (OSError, GpcnoiseError):
            return None

    def clear(self, cell: Cell) -> None:
        shutil.rmtree(self.scratch(cell), ignore_errors=True)

    @contextmanager
    def claim(self, cell: Cell) -> Iterator[None]:
        """Hold the cell while the block lasts; raises `Busy` where another process holds it."""
        self.prepare()
        descriptor = _lock(self._lock_file(cell))
        try:
            yield
        finally:
            self._lock_file(cell).unlink(missing_ok=True)  # while the lock is held, so that nobody else's is removed
            os.close(descriptor)

    @contextmanager
    def hold_scratch(self, cell: Cell) -> Iterator[None]:
        """Be alone in the scratch folder of a cell that somebody else has claimed on one's behalf.

        Waits: one whose claimant was killed may be at work there for some seconds more.
        """
        path = self.folder / f"{cell.digest}.scratch"
        while True:
            try:
                descriptor = _lock(path)
                break
            except Busy:
                time.sleep(HELD_POLL_SECONDS)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(descriptor)

    def is_busy(self, cell: Cell) -> bool:
        try:
            descriptor = os.open(self._lock_file(cell), os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)

    def _lock_file(self, cell: Cell) -> Path:
        return self.folder / f"{cell.digest}.lock"


def _lock(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last holder may have removed the file after it was opened here: then this lock guards nothing.
            if _is_same_file(descriptor, path):
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise Busy from error
        os.close(descriptor)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
