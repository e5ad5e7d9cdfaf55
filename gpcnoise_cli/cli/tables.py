"""`gpcnoise tables`: the paper's tables from the results that are there, in any format, and the statistics of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcnoise_cli.cli.console import counted, emit_data, emit_json, say, stdout
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.tables.render import RENDERERS, TERMINAL_WIDTH, to_records, to_text

if TYPE_CHECKING:
    from gpcnoise_cli.tables.table import Table
    from gpcnoise_cli.tables.uci import UciTables

app = typer.Typer(
    name="tables",
    help="The paper's tables from the results that are there.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)


@app.command()
def uci(
    kernel: Annotated[str, typer.Option("--kernel", help="Whose results: rbf or matern52+rbf.")] = "rbf",
    preset: Annotated[str, typer.Option("--preset", help="paper, fast, or paper,fast to compare.")] = "paper",
    protocol: Annotated[str, typer.Option("--protocol", help="paper, clean, or paper,clean to compare.")] = "paper",
    only: Annotated[
        str | None,
        typer.Option("--only", help="Of acc, nll, averages, kernel, ranks. Default: all that there are results for."),
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="paper: the published figure and the difference.", metavar="paper")
    ] = None,
    format: Annotated[str, typer.Option("--format", help=", ".join(RENDERERS) + ".")] = "terminal",
    results: Annotated[
        Path | None, typer.Option("--results", help="Where results are filed. Default: results.", metavar="DIR")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the tables in every format, and the diagrams, here.", metavar="DIR"),
    ] = None,
    diagram: Annotated[
        Path | None, typer.Option("--diagram", help="Draw the critical-difference diagram.", metavar="FILE.png|pdf|svg")
    ] = None,
    json: Json = False,
) -> None:
    """Accuracy, nll, averages, ranks and tests of the UCI benchmark, in the layout of the paper.

    Figures are measured here; columns marked † are other authors' published ones.

    Example: gpcnoise tables uci --against paper --format markdown
    """
    from gpcnoise_cli.grid.request import parse_names
    from gpcnoise_cli.grid.uci import RESULTS
    from gpcnoise_cli.tables.files import write_tables
    from gpcnoise_cli.tables.uci import KINDS, PRESETS, PROTOCOLS, Request, uci_tables

    kinds = parse_names(only) if only is not None else KINDS
    presets, protocols = parse_names(preset), parse_names(protocol)
    _check("table", kinds, KINDS)
    _check("format", (format,), tuple(RENDERERS))
    _check("preset", presets, PRESETS)
    _check("protocol", protocols, PROTOCOLS)
    _check("--against", (against or "paper",), ("paper",))
    if len(presets) > 1 and (against or diagram):
        raise UsageError("--against and --diagram take the results of one preset; choose --preset paper or fast.")
    found = uci_tables(Request(kinds, kernel, presets, protocols, against is not None), results or RESULTS)
    if diagram is not None:
        _draw(diagram, found, kernel, protocols[0])
    if out is not None:
        write_tables(out, found.tables, found.comparisons)
        files = "tables.md, tables.txt, tables.tex and one CSV each"
        say(f"wrote {counted(len(found.tables), 'table')} into {out} ({files}).")
    if json:
        plain = [
            {"name": one.name, "title": one.title, "rows": to_records(one), "notes": one.notes} for one in found.tables
        ]
        emit_json({"folder": found.folder, "tables": plain})
    else:
        print_tables(found.tables, format)


def _check(kind: str, names: tuple[str, ...], choices: tuple[str, ...]) -> None:
    if not names:
        raise UsageError(f"name at least one {kind}; choose from: {', '.join(choices)}.")
    for name in names:
        if name not in choices:
            raise unknown_choice(kind, name, choices)


def print_tables(tables: Sequence[Table], format: str = "terminal") -> None:
    """The tables on stdout."""
    if format == "terminal" and sys.stdout.isatty():
        console = stdout()
        width = max(80, min(console.width, TERMINAL_WIDTH))
        texts = [to_text(table, ansi=not console.no_color, width=width) for table in tables]
    else:
        texts = [RENDERERS[format](table) for table in tables]
    (sys.stdout.write if format == "terminal" else emit_data)("\n".join(texts))


def _draw(path: Path, found: UciTables, kernel: str, protocol: str) -> None:
    from gpcnoise_cli.tables.critical_difference import FORMATS, draw_diagram
    from gpcnoise_cli.tables.uci_ranks import in_words, is_measured

    if path.suffix.lstrip(".").lower() not in FORMATS:
        raise UsageError(f"--diagram {path}: the ending must be one of {', '.join(FORMATS)}.")
    kinds = [kind for named, metric, kind in found.comparisons if (named, metric) == (protocol, "nll")]
    if not kinds:
        raise UsageError("too few sets have every figure for a diagram (three are needed); compute more cells first.")
    # Of what was measured here where there is such a comparison, the first of which is over all sets.
    kind = next(filter(is_measured, kinds), kinds[-1])
    title = f"nll, {kernel} kernel, protocol {protocol}, {in_words(kind)}"
    draw_diagram(found.comparisons[protocol, "nll", kind], title, path)
    say(f"drew {path}.")
