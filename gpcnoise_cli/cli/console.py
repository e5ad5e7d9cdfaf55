"""The two streams of every command: results on stdout, progress and messages on stderr.

On a terminal rich draws tables and colours (`NO_COLOR` is honoured); in a pipe or a file the same content comes as
plain lines that are neither boxed nor wrapped. With `--json` a command prints one object by `emit_json` and nothing
else on stdout.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.files import plain

if TYPE_CHECKING:
    from rich.console import Console

# Wide enough that no line of a pipe is ever wrapped.
_PIPE_WIDTH = 10_000
# Between two columns of a table on a terminal; and to this width a column of text may be folded.
_GAP, _LEAST_TEXT = 2, 24
_NUMBER = re.compile(r"[-+]?(\d[\d,]*\.?\d*(e[-+]?\d+)?|nan|inf)\s*%?")


def stdout() -> Console:
    """The console for results."""
    return _console(sys.stdout)


def stderr() -> Console:
    """The console for progress, messages and warnings."""
    return _console(sys.stderr)


def _console(stream: Any) -> Console:
    from rich.console import Console

    # Names of classes, columns and files may hold brackets and colons: nothing in them is markup.
    plain = not stream.isatty()
    return Console(
        file=stream,
        width=_PIPE_WIDTH if plain else None,
        force_terminal=False if plain else None,
        markup=False,
        emoji=False,
        highlight=False,
    )


def say(message: str) -> None:
    """One line on stderr."""
    stderr().print(message)


def counted(number: int, noun: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None, *, stream: Any = None
) -> None:
    """A table on stdout, or on `stream`; columns of numbers are aligned to the right, `None` is an empty cell."""
    values = [list(row) for row in rows]
    cells = [["" if value is None else str(value) for value in row] for row in values]
    numeric = [_all_numbers(row[index] for row in values) for index in range(len(columns))]
    stream = stream or sys.stdout
    console = _console(stream)
    if not console.is_terminal:
        _print_plain([list(columns), *cells], numeric, title, stream)
        return

    from rich import box
    from rich.table import Table

    for number, block in enumerate(_blocks([list(columns), *cells], numeric, console.width)):
        heading = None if number else title
        table = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for index in block:
            if numeric[index]:
                table.add_column(columns[index], justify="right", no_wrap=True)
            else:
                table.add_column(columns[index], overflow="fold")
        for row in cells:
            table.add_row(*(row[index] for index in block))
        console.print(table)


def _blocks(lines: list[list[str]], numeric: list[bool], room: int) -> list[list[int]]:
    """Columns that stand beside each other without a figure being cut; names in the first column come again below."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    widths = [width if is_number else min(width, _LEAST_TEXT) for width, is_number in zip(widths, numeric, strict=True)]
    names = [] if numeric[0] else [0]
    blocks = [[*names]]
    for index in range(len(names), len(widths)):
        if sum(widths[one] + _GAP for one in (*blocks[-1], index)) > room and len(blocks[-1]) > len(names):
            blocks.append([*names])
        blocks[-1].append(index)
    return blocks


def _all_numbers(values: Iterable[Any]) -> bool:
    """Whether every value is a number, one already formatted, or a blank."""
    return all(value in (None, "", "–", "NA") or _NUMBER.fullmatch(str(value)) is not None for value in values)


def _print_plain(lines: list[list[str]], right: list[bool], title: str | None, stream: Any) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if title:
        stream.write(title + "\n")
    for line in lines:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        stream.write("  ".join(padded).rstrip() + "\n")


def emit_json(content: Mapping[str, Any]) -> None:
    """Exactly one JSON object on stdout; numbers JSON cannot hold (NaN, infinities) become null."""
    ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(plain(content), ensure_ascii=ascii_only, allow_nan=False) + "\n")


def emit_data(text: str) -> None:
    """A table for programs (CSV, Markdown, LaTeX) on stdout: UTF-8 like the files, whatever the terminal can show."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    buffer.write(text.encode())
    if sys.stdout.isatty():
        buffer.flush()
