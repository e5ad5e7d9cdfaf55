"""A place in the user's table, and the error about what stands there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import GpcnoiseError


@dataclass(frozen=True)
class Cell:
    """0-based data row, column and what stands there."""

    row: int
    column: str
    value: Any


class CellError(GpcnoiseError):
    """A cell that cannot be read; the reader of the file adds file name and line to the sentence."""

    def __init__(self, cell: Cell, problem: str, advice: str) -> None:
        self.cell, self.problem, self.advice = cell, problem, advice
        super().__init__(self.sentence())

    def sentence(self, file: str = "", line: int | None = None) -> str:
        where = f"row {self.cell.row + 1}" + (f" (line {line})" if line is not None else "")
        return f"{file + ': ' if file else ''}{self.problem} in {where}, column {self.cell.column!r}; {self.advice}."

    def in_table(self, rows: NDArray[np.int64]) -> CellError:
        """The same for a block whose rows have these numbers in the table."""
        return CellError(replace(self.cell, row=int(rows[self.cell.row])), self.problem, self.advice)


def plain(value: Any) -> Any:
    """A NumPy scalar as Python's own number, anything that JSON has no word for as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool) else str(value)


def shown(value: Any) -> str:
    """A value in a message: quoted if it is text, and never longer than a line."""
    text = repr(plain(value))
    return text if len(text) <= 60 else f"{text[:40]}…"
