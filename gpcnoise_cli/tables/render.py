"""A table as text for the terminal, as Markdown, as CSV with plain numbers, and as plain records for JSON."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpcnoise_cli.tables.latex import to_latex
from gpcnoise_cli.tables.table import NOT_COMPUTED, Table, Value, column_groups

TERMINAL_WIDTH = 120
_BOLD = ("\x1b[1m", "\x1b[0m")


@dataclass(frozen=True)
class _Layout:
    """How tightly a table is set; the star of a best figure hangs in the gap before its column, if there is room."""

    table: Table
    gap: int = 2
    short_errors: bool = False

    def text_of(self, value: Value) -> str:
        return value.shown.replace("±0.", "±.") if self.short_errors else value.shown

    @property
    def widths(self) -> list[int]:
        columns = self.table.columns
        widths = [len(column.name) for column in columns]
        for row in self.table.rows:
            sizes = [len(self.text_of(value)) + (value.best and self.gap == 1) for value in row.values]
            widths = [max(pair) for pair in zip(widths, sizes, strict=True)]
        for group, start, end in column_groups(columns):
            widths[start] += max(0, len(group) - sum(widths[start:end]) - self.gap * (end - start - 1))
        return widths

    @property
    def width(self) -> int:
        return sum(self.widths) + self.gap * (len(self.table.columns) - 1)


def to_text(table: Table, *, ansi: bool = False, width: int = TERMINAL_WIDTH) -> str:
    """Aligned lines; the best are bold on a terminal and starred elsewhere.

    Where it is narrow the optional columns go; what is too wide even then is set in blocks, one below the other.
    """
    lines = [table.title]
    for number, layout in enumerate(_blocks(_fitted(table, width), width)):
        lines += [""] if number else []
        lines += _block_lines(layout, ansi)
    for note in table.notes:
        lines += textwrap.wrap(note, width, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _block_lines(layout: _Layout, ansi: bool) -> list[str]:
    rule, groups = "─" * layout.width, _group_line(layout)
    lines = [*([groups] if groups else []), _line(layout, [Value(c.name) for c in layout.table.columns], ansi), rule]
    for row in layout.table.rows:
        lines += [rule] if row.rule else []
        lines.append(_line(layout, row.values, ansi))
    return lines


def _fitted(table: Table, width: int) -> _Layout:
    """The loosest layout that fits: closer columns and shorter errors first, then without the optional columns."""
    layout = _Layout(table)
    if layout.width > width:
        layout = _Layout(table, short_errors=True)
    if layout.width > width:
        layout = _Layout(table, 1, True)
    while layout.width > width:
        optional = [index for index, column in enumerate(layout.table.columns) if column.optional]
        if not optional:
            break
        layout = _Layout(layout.table.without(optional[:1]), 1, True)
    return layout


def _blocks(layout: _Layout, width: int) -> list[_Layout]:
    """The columns in blocks that fit; each repeats the words that name a row, and no group is torn that need not be."""

    def part(places: Sequence[int]) -> _Layout:
        return replace(layout, table=layout.table.with_columns(places))

    columns = layout.table.columns
    names = [index for index, _ in enumerate(columns) if all(column.left for column in columns[: index + 1])]
    while names and part(names).width > 2 * width // 3:
        names.pop()
    if layout.width <= width or not names:
        return [layout]
    groups = {start: end for _, start, end in column_groups(columns)}
    blocks, place = [names], len(names)
    while place < len(columns):
        group = [*range(place, groups.get(place, place + 1))]
        added = group if part([*names, *group]).width <= width else group[:1]
        if blocks[-1] != names and part([*blocks[-1], *added]).width > width:
            blocks.append(names)
        blocks[-1] = [*blocks[-1], *added]
        place += len(added)
    return [part(places) for places in blocks]


def _line(layout: _Layout, values: Sequence[Value], ansi: bool) -> str:
    line = ""
    for index, (value, column, size) in enumerate(zip(values, layout.table.columns, layout.widths, strict=True)):
        shown = layout.text_of(value)
        padding = " " * (size - len(shown))
        before = " " * (layout.gap if index else 0) + ("" if column.left else padding)
        if value.best and ansi:
            shown = f"{_BOLD[0]}{shown}{_BOLD[1]}"
        elif value.best and before:
            before = before[:-1] + "*"
        line += before + shown + (padding if column.left else "")
    return line


def _group_line(layout: _Layout) -> str:
    widths, line = layout.widths, ""
    for group, start, end in column_groups(layout.table.columns):
        before = sum(widths[:start]) + layout.gap * start
        span = sum(widths[start:end]) + layout.gap * (end - start - 1)
        line = line.ljust(before) + group.center(span)
    return line


def to_markdown(table: Table) -> str:
    names = [column.full_name for column in table.columns]
    marks = [":--" if column.left else "--:" for column in table.columns]
    rows = [[f"**{value.shown}**" if value.best else value.shown for value in row.values] for row in table.rows]
    lines = [f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |" for cells in (names, marks, *rows)]
    notes = [f"\n{note}" for note in table.notes]
    return "\n".join([f"**{table.title}**", "", *lines, *notes]) + "\n"


def to_records(table: Table) -> list[dict[str, float | str | None]]:
    """A record per row with bare numbers; standard errors and marks have fields of their own, where there are any."""
    errors = [any(row.values[i].error is not None for row in table.rows) for i in range(len(table.columns))]
    marks = [any(row.values[i].mark for row in table.rows) for i in range(len(table.columns))]
    records = []
    for row in table.rows:
        record: dict[str, float | str | None] = {}
        for column, value, error, mark in zip(table.columns, row.values, errors, marks, strict=True):
            record[column.full_name] = value.text if value.number is None else value.number
            record |= {f"{column.full_name} se": value.error} if error else {}
            record |= {f"{column.full_name} mark": value.mark} if mark else {}
        records.append(record)
    return records


def to_csv(table: Table) -> str:
    """The records as comma-separated lines; a gap is empty."""
    records, stream = to_records(table), io.StringIO()
    fields = list(records[0]) if records else [column.full_name for column in table.columns]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([fields, *([_bare(value) for value in record.values()] for record in records)])
    return stream.getvalue()


def _bare(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return "" if value in (None, NOT_COMPUTED) else str(value)


RENDERERS: dict[str, Callable[[Table], str]] = {
    "terminal": to_text,
    "markdown": to_markdown,
    "latex": to_latex,
    "csv": to_csv,
}
