"""Training rows on disk: scaled, in float32, in shuffled order, in two NumPy files beside what is known of them.

A store is a folder `X.npy` [n, d], `y.npy` [n] and `store.json`, named by a digest of the content that it was made from
and of all that decides how. It appears under its name only when it is whole; one process at a time makes it, and what
a killed one left is removed by the next. Stores are a cache: any of them may be deleted, and is made again when needed.

They lie in `GPCNOISE_STORE_DIR`, else in the folder `stores` of the data folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.folder import data_dir, write_problem
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_json

ENVIRONMENT = "GPCNOISE_STORE_DIR"
FORMAT = 1
# What is read at a time; a training run holds about five such blocks. The airline set is one of them.
BLOCK_BYTES = 2**26
_X, _Y, _FACTS = "X.npy", "y.npy", "store.json"
_KINDS = {_X: np.dtype("<f4"), _Y: np.dtype("<i4")}


def stores_dir() -> Path:
    """Where stores are; it need not exist yet."""
    chosen = os.environ.get(ENVIRONMENT, "")
    return Path(chosen).expanduser() if chosen else data_dir() / "stores"


def block_rows(d: int) -> int:
    """Rows of a block."""
    return max(1, BLOCK_BYTES // (4 * d))


def digest(content: Any) -> str:
    """The name of the store of what is described by `content`."""
    text = json.dumps({"format": FORMAT, "content": content}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Store:
    """A whole store."""

    folder: Path
    X: NDArray[np.float32]
    """All rows, mapped into memory; `rows` reads them without keeping any."""
    y: NDArray[np.int32]
    facts: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Store | None:
        """None where there is none, or one that was damaged."""
        try:
            facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
            X, y = (np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in (_X, _Y))
        except (OSError, ValueError, EOFError):
            return None
        return cls(folder, X, y, facts) if len(X) == len(y) == facts.get("n") else None

    @property
    def block_rows(self) -> int:
        return block_rows(self.X.shape[1])

    @property
    def key(self) -> str:
        return self.folder.name

    def rows(self, start: int, stop: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The rows from `start` to before `stop`, read from the disk."""
        X, y = self._read(self.X, _X, start, stop), self._read(self.y, _Y, start, stop)
        return X, y.astype(np.int64)

    def _read(self, mapped: Any, name: str, start: int, stop: int) -> NDArray[Any]:
        width = int(np.prod(mapped.shape[1:]))
        try:
            found = np.fromfile(
                self.folder / name,
                mapped.dtype,
                count=(stop - start) * width,
                offset=mapped.offset + start * width * mapped.dtype.itemsize,
            )
            return found.reshape((stop - start, *mapped.shape[1:]))
        except (OSError, ValueError) as error:
            raise GpcnoiseError(
                f"the rows in {str(self.folder)!r} can no longer be read (deleted, or cut short); "
                "gpcnoise train --resume RUN_DIR makes them again and goes on."
            ) from error


def kept(key: str, make: Callable[[Path], None]) -> Store:
    """The store of this name; `make` fills an empty folder where there is none yet."""
    folder = stores_dir() / key
    found = Store.open(folder)
    if found is not None:
        return found
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_name(f".{key}.lock")):
            found = Store.open(folder)  # another process may have made it meanwhile
            if found is None:
                _make(folder, make)
                found = Store.open(folder)
    except OSError as error:
        raise write_problem(folder, error) from error
    if found is None:
        raise GpcnoiseError(f"the rows just written to {str(folder)!r} cannot be read back; is the disk sound?")
    return found


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    partial = folder.with_name(f".{folder.name}.partial")
    for left in (partial, folder):  # by a process that was killed, or damaged since
        shutil.rmtree(left, ignore_errors=True)
    try:
        partial.mkdir()
        make(partial)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock; it is given up when the process ends, however it does."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class StoreWriter:
    """Fills the folder of a store with rows, in order, and then with what is known of them."""

    def __init__(self, folder: Path, n: int, d: int) -> None:
        self.folder, self.n, self.written = folder, n, 0
        self._X, self._y = self._begun(_X, (n, d)), self._begun(_Y, (n,))

    def _begun(self, name: str, shape: tuple[int, ...]) -> IO[bytes]:
        stream = (self.folder / name).open("wb")
        header = {"descr": np.lib.format.dtype_to_descr(_KINDS[name]), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        return stream

    def append(self, X: NDArray[Any], y: NDArray[np.integer]) -> None:
        self._X.write(np.ascontiguousarray(X, dtype=_KINDS[_X]).data)
        self._y.write(np.ascontiguousarray(y, dtype=_KINDS[_Y]).data)
        self.written += len(X)

    def finish(self, facts: dict[str, Any]) -> None:
        assert self.written == self.n
        for stream in (self._X, self._y):
            stream.flush()
            os.fsync(stream.fileno())
        write_json(self.folder / _FACTS, {"n": self.n, **facts})

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._X, self._y):
            stream.close()
