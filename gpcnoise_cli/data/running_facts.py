"""Running facts of a column that is looked at block by block, as numbers and as dates.

The memory that they take is bounded, however long the table is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.cell import Cell
from gpcnoise_cli.data.cells import Cells
from gpcnoise_cli.data.dates import PARTS, fitting_formats, parse_dates, part_values

SAMPLE = 50_000  # numbers that the median is taken of


class Numbers:
    """Running facts of a column read with one decimal sign."""

    def __init__(self, decimal: str) -> None:
        self.decimal = decimal
        self.wrong = 0
        self.first_wrong: Cell | None = None
        self.low, self.high = math.inf, -math.inf
        self.last: float | None = None
        self.whole = self.rising = self.falling = True
        self.sample = np.empty(0)
        self._seen, self._random = 0, np.random.default_rng(0)

    def observe(self, values: NDArray[np.float64], cells: Cells, rows: NDArray[np.int64]) -> None:
        bad = np.isnan(values)
        if bad.any():
            self.wrong += int(bad.sum())
            if self.first_wrong is None:
                index = int(np.flatnonzero(bad)[0])
                self.first_wrong = Cell(int(rows[cells.positions[index]]), cells.name, cells.as_texts()[index])
            values = values[~bad]
        if not len(values):
            return
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        with np.errstate(invalid="ignore", over="ignore"):
            self.whole = self.whole and bool((values == np.floor(values)).all())
            steps = np.diff(values if self.last is None else np.concatenate([[self.last], values]))
        self.rising = self.rising and bool((steps > 0).all())
        self.falling = self.falling and bool((steps < 0).all())
        self.last = float(values[-1])
        self._keep(values)

    def _keep(self, values: NDArray[np.float64]) -> None:
        """An even sample of what was seen so far (Vitter's algorithm R)."""
        room = SAMPLE - len(self.sample)
        self.sample = np.concatenate([self.sample, values[:room]])
        late = values[room:] if room < len(values) else values[:0]
        if len(late):
            seen = self._seen + min(room, len(values)) + np.arange(1, len(late) + 1)
            place = self._random.integers(0, seen)
            taken = place < SAMPLE
            self.sample[place[taken]] = late[taken]
        self._seen += len(values)

    @property
    def in_order(self) -> bool:
        return self.whole and (self.rising or self.falling)


class Dates:
    """The formats that fit every text so far, and which parts vary."""

    def __init__(self, candidates: tuple[str, ...]) -> None:
        self.formats, self.typed, self.checked = candidates, False, False
        self.parts: dict[str, set[float]] = {part: set() for part in PARTS}
        self.numbers = Numbers(".")  # days since 1970

    def observe(self, cells: Cells, rows: NDArray[np.int64]) -> None:
        if cells.times is not None:
            self.typed, times = True, cells.times
        else:
            self.formats = fitting_formats(cells.as_texts(), self.formats) if self.formats else ()
            self.checked = True
            if not self.formats:
                return
            times = parse_dates(cells.as_texts(), self.formats[0])
        values = part_values(times)
        for part, seen in self.parts.items():
            if len(seen) < 2:
                seen.update(np.unique(values[part])[:2].tolist())
        self.numbers.observe(values["days"], cells, rows)

    @property
    def possible(self) -> bool:
        return bool(self.formats) if self.checked else self.typed

    @property
    def format(self) -> str | None:
        return self.formats[0] if self.checked else None
