"""What a column is, found out block by block: `observe` each block, then `finish` decides.

The memory that a column takes is bounded, so a file of any length can be looked at: counts of its first different
texts, a sample of its numbers for the median, and a few running facts (smallest, largest, whole, in order).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.cell import CellError, shown
from gpcnoise_cli.data.cells import Cells
from gpcnoise_cli.data.dates import DIGITS, FORMATS
from gpcnoise_cli.data.encoder import Column
from gpcnoise_cli.data.number_text import DECIMALS
from gpcnoise_cli.data.running_facts import Dates, Numbers
from gpcnoise_cli.errors import GpcnoiseError

MOST_TEXTS = 10_000  # different texts that are counted
MOST_LEVELS = 100  # of a category; the rest is pooled
SPOILT = 0.1  # a column with fewer texts than this among its numbers is one of numbers, with mistakes in it
MOST_NUMBERED_LEVELS = 20  # with no more different values than these it is a category, such as 4, 6, 8 and rotary
FEWEST_ROWS = 10  # from which on an order of the rows means something
BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"}, {"on", "off"})

_ROW_NAMES = re.compile(
    r"(row|obs|case|record|line|sample|serial)?[ _.]*(id|ids|index|idx|no|nr|num|number|name|names|#)|row|rows|rn|obs|"
    r"uuid|guid|unnamed: ?\d+|.*[ _.](id|uuid|guid|index|idx)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r".*[a-z](ID|Id)")


def named_like_identifier(name: str) -> bool:
    return _ROW_NAMES.fullmatch(name) is not None or _CAMEL.fullmatch(name) is not None


@dataclass(frozen=True)
class Finding:
    """What a column turned out to be; `column` is None where it is left out, and `why` says why."""

    name: str
    kind: str  # number | category | date | true/false | identifier | constant | empty | text | ignored | kept
    missing: int
    levels: int | None
    column: Column | None
    why: str = ""
    identifier: bool = False  # whether it looks like one, though it is used
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and text, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Finding:
        """What `to_dict` gave."""
        column = values["column"] and Column.from_dict(values["column"])
        return cls(**{**values, "column": column, "notes": tuple(values["notes"])})

    @property
    def used(self) -> str:
        """What becomes of it, for people."""
        if self.column is None:
            return f"left out: {self.why}" if self.why else "left out"
        parts = {"date": ", ".join(self.column.parts), "categorical": "one feature per level"}
        words = parts.get(self.column.kind, "as it is" if self.column.kind == "numeric" else "0 and 1")
        words += "; rare levels pooled" if self.column.pooled else ""
        gaps = "a level of its own" if self.column.kind == "categorical" else "median and indicator"
        return words + (f"; missing: {gaps}" if self.column.indicator else "")


class ColumnObserver:
    """One column, looked at block by block; `role` is what the user says it is, if anything."""

    def __init__(self, name: str, role: str | None = None) -> None:
        self.name, self.role = name, role
        self.rows = self.missing = 0
        self.counts: Counter[str] = Counter()
        self.more_texts = False  # than are counted
        self.categorical = False
        self.numbers = {decimal: Numbers(decimal) for decimal in DECIMALS}
        self.dates: Dates | None = Dates((*FORMATS, *DIGITS) if role == "date" else FORMATS)
        self.hopeless = False  # as a number

    def observe(self, cells: Cells, rows: NDArray[np.int64]) -> None:
        """A block of the column; `rows` are the numbers of its rows in the table."""
        self.rows += len(cells.missing)
        self.missing += int(cells.missing.sum())
        if self.role in ("ignore", "keep") or cells.missing.all():
            return
        self.categorical = self.categorical or cells.categorical
        self._count(cells)
        if self.role != "category" and not self.hopeless and cells.times is None:
            self._observe_numbers(cells, rows)
        if self.dates is not None and self.role in (None, "date"):
            numbers_so_far = self.role is None and cells.times is None and not self.numbers["."].wrong
            if not numbers_so_far:
                self.dates.observe(cells, rows)
                self.dates = self.dates if self.dates.possible or self.role == "date" else None
            elif not self.dates.typed:
                self.dates = None

    def _count(self, cells: Cells) -> None:
        if cells.numbers is not None and self.more_texts and self.role != "category" and not self.categorical:
            return  # the file says that they are numbers, and too many for levels
        new = cells.counted()
        if not self.more_texts:
            self.counts.update(new)
            self.more_texts = len(self.counts) > MOST_TEXTS
        else:
            self.counts.update({text: count for text, count in new.items() if text in self.counts})

    def _observe_numbers(self, cells: Cells, rows: NDArray[np.int64]) -> None:
        for decimal, numbers in self.numbers.items():
            if decimal == "," and (cells.texts is None or not any("," in text for text in cells.texts)):
                values = self._point_as_comma(cells)
            else:
                values = cells.as_numbers(decimal)
            numbers.observe(values, cells, rows)
        present = self.rows - self.missing
        self.hopeless = self.role is None and min(one.wrong for one in self.numbers.values()) > present / 2

    @staticmethod
    def _point_as_comma(cells: Cells) -> NDArray[np.float64]:
        """Without a comma anywhere, whole numbers are the same under both signs."""
        values = cells.as_numbers(".")
        return np.where(values == np.floor(values), values, np.nan) if cells.texts is not None else values

    @property
    def looks_like_identifier(self) -> str | None:
        """Why it does, or None."""
        present = self.rows - self.missing
        numbers = self.numbers["."]
        if present < FEWEST_ROWS or (self.dates is not None and self.dates.typed):
            return None
        different = self.more_texts or len(self.counts) > present / 2
        whole = not numbers.wrong and numbers.whole and not self.hopeless
        text = self.hopeless or min(one.wrong for one in self.numbers.values()) >= SPOILT * present
        if whole and numbers.in_order and not math.isinf(numbers.high):
            return "its whole numbers only rise or only fall, like row numbers"
        if named_like_identifier(self.name) and different and (whole or text):
            return "its name and its different values are those of an identifier"
        if text and not self.more_texts and len(self.counts) == present and not self._is_date:
            return "its texts are all different, like an identifier"
        return None

    @property
    def _is_date(self) -> bool:
        return self.dates is not None and self.dates.possible

    def finish(self, policy: str) -> Finding:
        """Decide. `policy` is what becomes of missing values: impute or refuse."""
        present = self.rows - self.missing
        if self.role in ("ignore", "keep"):
            kind = "ignored" if self.role == "ignore" else "kept"
            why = "as you asked" if self.role == "ignore" else "carried into predictions"
            return Finding(self.name, kind, self.missing, None, None, why)
        if not present:
            return self._out("empty", "no row has a value")
        identifier = self.looks_like_identifier
        if self.role is None:
            if len(self.counts) == 1 and not self.missing:
                return self._out("constant", f"every row has {next(iter(self.counts))!r}"[:80])
            if identifier is not None:
                role = "category" if self.hopeless or self.numbers["."].wrong else "number"
                return self._out("identifier", f"{identifier} (--treat {quote(self.name + '=' + role)} brings it back)")
        found = self._decided(policy)
        return replace(found, identifier=identifier is not None)

    def _out(self, kind: str, why: str) -> Finding:
        return Finding(self.name, kind, self.missing, None if self.more_texts else len(self.counts), None, why)

    def _decided(self, policy: str) -> Finding:
        gaps: dict[str, Any] = {"missing": policy, "indicator": self.missing > 0}
        best = min(self.numbers.values(), key=lambda numbers: numbers.wrong)
        if self.role == "date" or (self.role is None and self._is_date):
            return self._date(gaps)
        words = {text.lower() for text in self.counts} if len(self.counts) <= 10 else set()
        if self.role is None and words in BOOLEANS and not self.categorical:
            values = [
                1.0 if text.lower() in ("true", "yes", "y", "t", "on") else 0.0 for text in self.counts.elements()
            ]
            return self._used("true/false", Column(self.name, "boolean", fill=float(np.median(values)), **gaps))
        if self.role == "number" or (self.role is None and not self.categorical and not self.hopeless):
            if best.wrong == 0:
                median = float(np.median(best.sample))
                column = Column(
                    self.name, "numeric", fill=median if math.isfinite(median) else 0.0, format=best.decimal, **gaps
                )
                return self._used("number", column)
            present = self.rows - self.missing
            spoilt = best.wrong < SPOILT * present and len(self.counts) > min(MOST_NUMBERED_LEVELS, present / 2)
            if self.role == "number" or spoilt:
                raise _junk(best)
        return self._category(gaps)

    def _date(self, gaps: dict[str, Any]) -> Finding:
        dates = self.dates
        if dates is None or not dates.possible:
            example = next(iter(self.counts))
            raise GpcnoiseError(
                f"column {self.name!r} is not written as dates in one known format (it holds {example!r}); "
                "write it as 2024-01-31 or 2024-01-31 12:30."
            )
        days = dates.numbers
        parts = tuple(part for part, seen in dates.parts.items() if len(seen) > 1)
        column = Column(
            self.name, "date", fill=float(np.median(days.sample)), format=dates.format, parts=parts,
            start=math.floor(days.low), **gaps,
        )  # fmt: skip
        notes = []
        if dates.format is not None and dates.format.startswith("%m/%d") and len(dates.formats) > 1:
            notes.append(f"column {self.name!r} is read as month/day, though day/month would fit as well.")
        return self._used("date", column, notes=tuple(notes))

    def _category(self, gaps: dict[str, Any]) -> Finding:
        present = self.rows - self.missing
        fewest = max(2, min(10, present // 100))
        common = [text for text, count in self.counts.most_common(MOST_LEVELS) if count >= fewest]
        if not common:
            return self._out("text", f"no text has {fewest} rows or more, so there is nothing to learn from")
        rare = len(self.counts) - len(common)
        column = Column(
            self.name, "categorical", tuple(sorted(common)), unseen="pool", pooled=rare > 0 or self.more_texts, **gaps
        )
        count = f"more than {MOST_TEXTS - len(common):,}" if self.more_texts else f"{rare:,}"
        pooled = f"column {self.name!r}: {count} rare level{'s' if rare != 1 else ''} pooled (fewer than {fewest} rows"
        note = f"{pooled}, or beyond the {MOST_LEVELS} most common)."
        return self._used("category", column, notes=(note,) if column.pooled else ())

    def _used(self, kind: str, column: Column, notes: tuple[str, ...] = ()) -> Finding:
        levels = len(self.counts) if kind in ("category", "true/false") and not self.more_texts else None
        return Finding(self.name, kind, self.missing, levels, column, notes=notes)


def _junk(numbers: Numbers) -> CellError:
    cell = numbers.first_wrong
    assert cell is not None
    others = f" ({numbers.wrong} such values in all)" if numbers.wrong > 1 else ""
    advice = (
        f"the other values of the column are numbers: mend it, count it as missing by --na-values NA --na-values "
        f"{quote(str(cell.value)[:40])}, or take the column as a category by --treat {quote(cell.column + '=category')}"
    )
    return CellError(cell, f"{shown(cell.value)} is not a number{others}", advice)
