"""The columns of a table of one's own, said on stderr before anything is trained on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gpcnoise_cli.cli.console import print_table, say

if TYPE_CHECKING:
    from gpcnoise_cli.data.column_kinds import Finding

# More would push everything else off the screen; columns.json and `gpcnoise data describe` have them all.
MOST_COLUMNS = 30

Separator = Annotated[
    str | None, typer.Option("--sep", help="What separates the columns of --data. Default: found.", metavar="CHAR")
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="The encoding of --data. Default: found.", metavar="NAME")
]


def say_columns(findings: Sequence[Finding], notes: Sequence[str]) -> None:
    """A table of what each column is taken for, and what there is to say; nothing for a registered set."""
    from gpcnoise_cli.data.description import HEADINGS, table_rows

    if findings:
        print_table(HEADINGS, table_rows(findings[:MOST_COLUMNS]), stream=sys.stderr)
    if len(findings) > MOST_COLUMNS:
        say(f"… and {len(findings) - MOST_COLUMNS} more columns (`gpcnoise data describe` shows all).")
    for note in notes:
        say(note)
