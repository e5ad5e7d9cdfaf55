"""A table as the page shows it: what can be sorted, what stays below, which rows are empty, which are better."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpcnoise_cli.tables.table import NOT_APPLICABLE, NOT_COMPUTED, Column, Row, Table, Value, column_groups

# Longer words than these are broken into lines.
_LONG = 20


@dataclass(frozen=True)
class Entry:
    text: str
    error: str = ""
    key: str = ""  # what it is sorted by, where the text will not do
    kind: str = ""  # classes of the style sheet
    mark: str = ""  # leak, weak or departs, beside a name
    link: str = ""  # to a part of the page


@dataclass(frozen=True)
class Line:
    entries: tuple[Entry, ...]
    kind: str = ""


@dataclass(frozen=True)
class Head:
    name: str
    left: bool = False
    group: str = ""
    first: bool = False  # of its group


@dataclass(frozen=True)
class TableView:
    name: str
    title: str
    groups: tuple[tuple[str, int], ...]  # heading over so many columns; empty where there are none
    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    foot: tuple[Line, ...] = ()
    notes: tuple[str, ...] = field(default=())
    sortable: bool = True


def view_table(
    table: Table,
    *,
    sets: Collection[str] = (),
    here: Collection[str] | None = None,
    marks: Mapping[str, str] | None = None,
    larger_is_better: bool | None = None,
    name: str = "",
) -> TableView:
    """`table` for the page.

    Lines whose first value is not among `sets` are averages and stay at the foot; lines of sets that are not `here` can
    be hidden; `larger_is_better` says which sign of a difference is good.
    """
    row_column = [index for index, column in enumerate(table.columns) if column.name == "row"]
    table = table.without(row_column)  # the mark stands beside the name instead
    body = [row for row in table.rows if not sets or row.values[0].text in sets]
    foot = [row for row in table.rows if row not in body]

    def line(row: Row) -> Line:
        first = row.values[0].text
        kinds = ["rule"] if row.rule else []
        if here is not None and first not in here and row in body:
            kinds.append("absent")
        entries = [
            _entry(value, column, larger_is_better) for value, column in zip(row.values, table.columns, strict=True)
        ]
        entries[0] = replace(entries[0], key="", mark=(marks or {}).get(first, ""))
        return Line(tuple(entries), " ".join(kinds))

    return TableView(
        name or table.name,
        table.title,
        _groups(table.columns),
        _heads(table.columns),
        tuple(line(row) for row in body),
        tuple(line(row) for row in foot),
        tuple(note for note in table.notes if not note.startswith("row:")),
        sortable=len(body) > 1,
    )


def with_first(view: TableView, marks: Sequence[str], links: Sequence[str]) -> TableView:
    """The names of the rows with a tag beside them and a link to a part of the page."""
    lines = tuple(
        replace(line, entries=(replace(line.entries[0], mark=mark, link=link), *line.entries[1:]))
        for line, mark, link in zip(view.lines, marks, links, strict=True)
    )
    return replace(view, lines=lines)


def _entry(value: Value, column: Column, larger_is_better: bool | None) -> Entry:
    main, _, error = value.text.partition("±")
    kinds = [name for name, holds in {"best": value.best, "wrap": len(main) > _LONG}.items() if holds]
    if value.text in (NOT_COMPUTED, NOT_APPLICABLE):
        kinds.append("gap")
    if column.name == "diff" and larger_is_better is not None and value.number and float(main):
        kinds.append("better" if (value.number > 0) == larger_is_better else "worse")
    key = f"{value.number:.7g}" if value.number is not None else ""
    shown = main + value.mark
    return Entry(shown, error, "" if key == shown else key, " ".join(kinds))


def _groups(columns: Sequence[Column]) -> tuple[tuple[str, int], ...]:
    runs = column_groups(columns)
    if not runs:
        return ()
    groups: list[tuple[str, int]] = []
    at = 0
    for name, start, end in runs:
        groups += [("", start - at)] if start > at else []
        groups.append((name, end - start))
        at = end
    return (*groups, *([("", len(columns) - at)] if at < len(columns) else []))


def _heads(columns: Sequence[Column]) -> tuple[Head, ...]:
    starts = {start for _, start, _ in column_groups(columns)}
    ends = {end for _, _, end in column_groups(columns)}
    return tuple(
        Head(column.name, column.left, column.group, first=index in starts | ends)
        for index, column in enumerate(columns)
    )
