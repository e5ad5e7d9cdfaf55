"""A table between its content and its looks: columns, rows of values, a title and notes, ready for any renderer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

NOT_APPLICABLE = "NA"
NOT_COMPUTED = "–"


@dataclass(frozen=True)
class Value:
    """One entry; a number has its text, and may carry its standard error and a mark that a note explains."""

    text: str
    number: float | None = None
    error: float | None = None
    best: bool = False
    mark: str = ""

    @property
    def shown(self) -> str:
        return self.text + self.mark


@dataclass(frozen=True)
class Column:
    """`group` is a heading over several columns; an optional column goes first where a terminal is too narrow."""

    name: str
    group: str = ""
    left: bool = False
    optional: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.group} {self.name}".strip()


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

    def with_columns(self, kept: Sequence[int]) -> Table:
        """Only the columns at these places."""
        rows = tuple(replace(row, values=tuple(row.values[index] for index in kept)) for row in self.rows)
        return replace(self, columns=tuple(self.columns[index] for index in kept), rows=rows)

    def without(self, dropped: Collection[int]) -> Table:
        return self.with_columns([index for index in range(len(self.columns)) if index not in dropped])

    def only(self, names: Collection[str]) -> Table:
        """The rows whose first value is among `names`."""
        return replace(self, rows=tuple(row for row in self.rows if row.values[0].text in names))


def text(content: object) -> Value:
    number = float(content) if isinstance(content, int | float) else None
    return Value(str(content), number)


def figure(
    number: float, digits: int, error: float | None = None, *, best: bool = False, sign: bool = False, mark: str = ""
) -> Value:
    """A number with fixed decimals, ± its standard error where it has one."""
    rounded = round(number, digits) + 0.0  # no minus before a zero
    shown = f"{rounded:{'+' if sign else ''}.{digits}f}"
    if error is not None:
        shown += f"±{error:.{digits}f}"
    return Value(shown, number, error, best, mark)


def optional_figure(number: float | None, digits: int, absent: str = NOT_COMPUTED, *, sign: bool = False) -> Value:
    """A number with fixed decimals, or what is said where there is none."""
    return text(absent) if number is None else figure(number, digits, sign=sign)


def table_of(name: str, title: str, rows: Sequence[Mapping[str, object]]) -> Table:
    """A plain table from rows by column; a column of words is set to the left."""
    made = [tuple(one if isinstance(one, Value) else text(one) for one in row.values()) for row in rows]
    names = list(rows[0]) if rows else []
    columns = (
        Column(name, left=_are_words(values)) for name, values in zip(names, zip(*made, strict=True), strict=True)
    )
    return Table(name, title, tuple(columns), tuple(map(Row, made)))


def _are_words(values: Sequence[Value]) -> bool:
    gaps = ("", NOT_COMPUTED, NOT_APPLICABLE)
    return all(value.number is None for value in values) and any(value.text not in gaps for value in values)


def column_groups(columns: Sequence[Column]) -> list[tuple[str, int, int]]:
    """Runs of neighbouring columns under one heading: name, first, one past the last."""
    runs: list[tuple[str, int, int]] = []
    for index, column in enumerate(columns):
        if column.group and runs and runs[-1][0] == column.group and runs[-1][2] == index:
            runs[-1] = (column.group, runs[-1][1], index + 1)
        elif column.group:
            runs.append((column.group, index, index + 1))
    return runs
