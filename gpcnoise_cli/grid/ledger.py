"""The ledger: one small JSON file per finished cell, and one per failed cell that says why.

A file is written whole or not at all, so what is there is finished. A file that cannot be read counts as absent, and a
result made with other settings is never mistaken for the one that is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import plain, write_arrays, write_text
from gpcnoise_cli.grid.cell import Cell, same_settings
from gpcnoise_cli.grid.workspace import Workspace

RESULT_ENDING = ".json"
FAILURE_ENDING = ".failed.json"


class State(Enum):
    DONE = "done"
    FAILED = "failed"
    OTHER = "other settings"
    OPEN = "to do"


@dataclass(frozen=True)
class Entry:
    """What the ledger holds for a cell; `record` is its result, or its failure."""

    state: State
    record: dict[str, Any] | None = None


@dataclass(frozen=True)
class Ledger:
    folder: Path

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder / ".work")

    def result_path(self, cell: Cell) -> Path:
        return self._path(cell, RESULT_ENDING)

    def failure_path(self, cell: Cell) -> Path:
        return self._path(cell, FAILURE_ENDING)

    def probabilities_path(self, cell: Cell) -> Path:
        return self._path(cell, ".npz")

    def prepare(self) -> None:
        """Find out that results can be written before hours are spent on them."""
        _make_folder(self.folder)
        try:
            self.workspace.prepare()
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def look_up(self, cell: Cell) -> Entry:
        result = read_record(self.result_path(cell))
        if result is not None:
            return Entry(State.DONE if same_settings(cell, result) else State.OTHER, result)
        failure = read_record(self.failure_path(cell))
        # What a full disk or a killed process stopped may well succeed now; a failure of other settings says nothing.
        if failure is not None and not failure.get("transient") and same_settings(cell, failure):
            return Entry(State.FAILED, failure)
        return Entry(State.OPEN)

    def file_result(
        self, cell: Cell, record: Mapping[str, Any], probabilities: Mapping[str, np.ndarray] | None = None
    ) -> None:
        """File a finished cell; the probabilities come first, so that a result is never without them."""
        path = self.result_path(cell)
        _make_folder(path.parent)
        for left in path.parent.glob(f".{path.stem}.*.tmp"):  # by a process that was killed while it wrote
            left.unlink(missing_ok=True)
        if probabilities is not None:
            write_arrays(self.probabilities_path(cell), probabilities, compressed=True)
        _write(path, record)
        self.failure_path(cell).unlink(missing_ok=True)

    def file_failure(self, cell: Cell, reason: str, *, transient: bool, attempts: int) -> None:
        path = self.failure_path(cell)
        _make_folder(path.parent)
        failure = {"reason": reason, "transient": transient, "attempts": attempts}
        _write(path, {**cell.to_dict(), "digest": cell.digest, **failure})

    def records(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Every readable result, with its path in the ledger."""
        for path in sorted(self.folder.rglob(f"*{RESULT_ENDING}")):
            inside = path.relative_to(self.folder)
            if path.name.endswith(FAILURE_ENDING) or any(part.startswith(".") for part in inside.parts):
                continue
            record = read_record(path)
            if record is not None and "digest" in record:
                yield inside, record

    def _path(self, cell: Cell, ending: str) -> Path:
        return self.folder / f"{cell.name}{ending}"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> GpcnoiseError:
    return GpcnoiseError(f"cannot write to {folder}: {error.strerror or error}; choose another --results.")


def read_record(path: Path) -> dict[str, Any] | None:
    """The content of a ledger file; None where it is absent or torn."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _write(path: Path, record: Mapping[str, Any]) -> None:
    """One line per key: a change of one figure is a change of one line in version control."""
    lines = [
        f"{json.dumps(key)}: {json.dumps(plain(value), ensure_ascii=False, allow_nan=False)}"
        for key, value in record.items()
    ]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
