"""A table as text for the terminal, as Markdown, and as CSV with plain numbers."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpcnoise_cli.tables.latex import to_latex
from gpcnoise_cli.tables.table import NOT_COMPUTED, Table, Value, column_groups

TERMINAL_WIDTH = 120
_BOLD = ("\x1b[1m", "\x1b[0m")


@dataclass(frozen=True)
class _Layout:
    """How tightly a table is set; the star of a best figure hangs in the gap before its column."""

    table: Table
    gap: int = 2
    short_errors: bool = False

    def text_of(self, value: Value) -> str:
        return value.text.replace("±0.", "±.") if self.short_errors else value.text

    @property
    def widths(self) -> list[int]:
        columns = self.table.columns
        widths = [len(column.name) for column in columns]
        for row in self.table.rows:
            widths = [max(w, len(self.text_of(value))) for w, value in zip(widths, row.values, strict=True)]
        for group, start, end in column_groups(columns):
            widths[start] += max(0, len(group) - sum(widths[start:end]) - self.gap * (end - start - 1))
        return widths

    @property
    def width(self) -> int:
        return sum(self.widths) + self.gap * (len(self.table.columns) - 1)


def to_text(table: Table, *, ansi: bool = False, width: int = TERMINAL_WIDTH) -> str:
    """Aligned lines; the best are bold on a terminal and starred elsewhere; optional columns go where it is narrow."""
    layout = _fitted(table, width)
    table, rule = layout.table, "─" * layout.width
    groups = _group_line(layout)
    lines = [
        table.title,
        *([groups] if groups else []),
        _line(layout, [Value(c.name) for c in table.columns], ansi),
        rule,
    ]
    for row in table.rows:
        lines += [rule] if row.rule else []
        lines.append(_line(layout, row.values, ansi))
    for note in table.notes:
        lines += textwrap.wrap(note, width, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(line.rstrip() for line in lines) + "\n"


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
    names = [f"{column.group} {column.name}".strip() for column in table.columns]
    marks = [":--" if column.left else "--:" for column in table.columns]
    rows = [[f"**{value.text}**" if value.best else value.text for value in row.values] for row in table.rows]
    lines = [f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |" for cells in (names, marks, *rows)]
    notes = [f"\n{note}" for note in table.notes]
    return "\n".join([f"**{table.title}**", "", *lines, *notes]) + "\n"


def to_csv(table: Table) -> str:
    """Numbers without decoration; a column whose figures have errors is followed by one with these."""
    has_error = [any(row.values[i].error is not None for row in table.rows) for i in range(len(table.columns))]
    names = [f"{column.group} {column.name}".strip() or "set" for column in table.columns]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_with_errors(names, [f"{name} se" for name in names], has_error))
    for row in table.rows:
        errors = ["" if value.error is None else f"{value.error:.6g}" for value in row.values]
        writer.writerow(_with_errors([_bare(value) for value in row.values], errors, has_error))
    return stream.getvalue()


def _with_errors(cells: Sequence[str], errors: Sequence[str], has_error: Sequence[bool]) -> list[str]:
    line: list[str] = []
    for cell, error, wanted in zip(cells, errors, has_error, strict=True):
        line += [cell, error] if wanted else [cell]
    return line


def _bare(value: Value) -> str:
    if value.number is not None:
        return f"{value.number:.10g}"
    return "" if value.text == NOT_COMPUTED else value.text


RENDERERS: dict[str, Callable[[Table], str]] = {
    "terminal": to_text,
    "markdown": to_markdown,
    "latex": to_latex,
    "csv": to_csv,
}
ENDINGS = {"terminal": "txt", "markdown": "md", "latex": "tex", "csv": "csv"}
