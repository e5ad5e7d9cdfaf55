"""A table between its content and its looks: columns, rows of values, a title and notes, ready for any renderer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

NOT_APPLICABLE = "NA"
NOT_COMPUTED = "–"


@dataclass(frozen=True)
class Value:
    """One entry; a number has its text, and may carry the standard error of its mean."""

    text: str
    number: float | None = None
    error: float | None = None
    best: bool = False


@dataclass(frozen=True)
class Column:
    """`group` is a heading over several columns; an optional column goes first where a terminal is too narrow."""

    name: str
    group: str = ""
    left: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Row:
    values: tuple[Value, ...]
    rule: bool = False  # a line above


@dataclass(frozen=True)
class Table:
    name: str  # for file names and labels
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())

    def without(self, dropped: Sequence[int]) -> Table:
        kept = [index for index in range(len(self.columns)) if index not in dropped]
        rows = tuple(Row(tuple(row.values[index] for index in kept), row.rule) for row in self.rows)
        return replace(self, columns=tuple(self.columns[index] for index in kept), rows=rows)

    def only(self, names: Collection[str]) -> Table:
        """The rows whose first value is among `names`."""
        return replace(self, rows=tuple(row for row in self.rows if row.values[0].text in names))


def text(content: object) -> Value:
    number = float(content) if isinstance(content, int | float) else None
    return Value(str(content), number)


def figure(number: float, digits: int, error: float | None = None, *, best: bool = False, sign: bool = False) -> Value:
    """A number with fixed decimals, ± its standard error where it has one."""
    rounded = round(number, digits) + 0.0  # no minus before a zero
    shown = f"{rounded:{'+' if sign else ''}.{digits}f}"
    if error is not None:
        shown += f"±{error:.{digits}f}"
    return Value(shown, number, error, best)


def column_groups(columns: Sequence[Column]) -> list[tuple[str, int, int]]:
    """Runs of neighbouring columns under one heading: name, first, one past the last."""
    runs: list[tuple[str, int, int]] = []
    for index, column in enumerate(columns):
        if column.group and runs and runs[-1][0] == column.group and runs[-1][2] == index:
            runs[-1] = (column.group, runs[-1][1], index + 1)
        elif column.group:
            runs.append((column.group, index, index + 1))
    return runs
