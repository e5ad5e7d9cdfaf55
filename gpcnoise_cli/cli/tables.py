"""`gpcnoise tables`: the paper's tables from the results that are there, in any format, and the statistics of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.console import counted, emit_json, say
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.errors import UsageError, unknown_choice

if TYPE_CHECKING:
    from gpcnoise_cli.tables.measured import Measured
    from gpcnoise_cli.tables.statistics import Comparison
    from gpcnoise_cli.tables.table import Table

app = typer.Typer(
    name="tables",
    help="The paper's tables from the results that are there.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)

PRESETS = ("paper", "fast")
KINDS = ("acc", "nll", "averages", "kernel", "ranks")
FORMATS = ("terminal", "markdown", "latex", "csv")


@app.command()
def uci(
    kernel: Annotated[str, typer.Option("--kernel", help="Whose results: rbf or matern52+rbf.")] = "rbf",
    preset: Annotated[str, typer.Option("--preset", help="paper, fast, or paper,fast to compare.")] = "paper",
    protocol: Annotated[str, typer.Option("--protocol", help="paper, clean, or paper,clean to compare.")] = "paper",
    only: Annotated[
        str | None, typer.Option("--only", help=f"Of {', '.join(KINDS)}. Default: all that there are results for.")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="paper: the published figure and the difference.", metavar="paper")
    ] = None,
    format: Annotated[str, typer.Option("--format", help=", ".join(FORMATS) + ".")] = "terminal",
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

    Example: gpcnoise tables uci --against paper --format markdown
    """
    from gpcnoise_cli.grid.request import parse_names
    from gpcnoise_cli.grid.uci import RESULTS
    from gpcnoise_cli.tables.measured import collect
    from gpcnoise_cli.tables.uci_ranks import comparisons

    kinds = parse_names(only) if only is not None else KINDS
    presets, protocols = parse_names(preset), parse_names(protocol)
    _check("table", kinds, KINDS)
    _check("format", (format,), FORMATS)
    _check("preset", presets, PRESETS)
    _check("protocol", protocols, ("paper", "clean"))
    _check("--against", (against or "paper",), ("paper",))
    if len(presets) > 1:
        if against or diagram:
            raise UsageError("--against and --diagram take the results of one preset; choose --preset paper or fast.")
        base = results or RESULTS
        _finish(_presets_beside(kinds, base, kernel, protocols), {}, format, out, json, base)
        return
    folder = results_folder(results, preset, protocols)
    measured = [collect(folder, name, kernel) for name in protocols]
    sums = [collect(folder, name, "matern52+rbf") for name in protocols] if "kernel" in kinds else []
    if not any(measured) and not any(sums):
        raise UsageError(
            f"{folder} has no results for kernel {kernel} and protocol {' or '.join(protocols)}; "
            f"compute some by: gpcnoise reproduce uci --preset {preset} --protocol {protocols[0]}."
        )
    tables = _tables(kinds, [one for one in measured if one], [one for one in sums if one], against is not None)
    found = {(one.protocol, metric): comparisons(metric, one) for one in measured for metric in ("acc", "nll")}
    if diagram is not None:
        _draw(diagram, found[protocols[0], "nll"], f"nll, {kernel} kernel, protocol {protocols[0]}")
    _finish(tables, found, format, out, json, folder)


def _finish(
    tables: list[Table],
    found: dict[tuple[str, str], dict[str, Comparison]],
    format: str,
    out: Path | None,
    json: bool,
    folder: Path,
) -> None:
    """Write the tables where that is asked for, and print them."""
    if out is not None:
        _write(out, tables, found)
    if json:
        emit_json({"folder": str(folder), "tables": [_plain(table) for table in tables]})
    else:
        print_tables(tables, format)


def _presets_beside(kinds: tuple[str, ...], base: Path, kernel: str, protocols: tuple[str, ...]) -> list[Table]:
    """The figures of both presets, for each protocol that has any of both."""
    from gpcnoise_cli.grid.uci import folder_name
    from gpcnoise_cli.tables.measured import collect
    from gpcnoise_cli.tables.uci_comparisons import presets_table

    tables: list[Table] = []
    for protocol in protocols:
        paper, fast = (collect(base / folder_name(preset, {}), protocol, kernel) for preset in PRESETS)
        if paper and fast:
            found = [presets_table(metric, paper, fast) for metric in ("acc", "nll") if metric in kinds]
            tables += [replace(table, name=f"{table.name}-{protocol}") for table in found]
    if not tables:
        raise UsageError(
            f"{base} has no results of both presets for kernel {kernel} and protocol "
            f"{' or '.join(protocols)}; compute some by: gpcnoise reproduce uci --preset fast."
        )
    return tables


def results_folder(results: Path | None, preset: str, protocols: tuple[str, ...]) -> Path:
    """The ledger that is meant: the folder itself where it holds protocols, else the preset's below it."""
    from gpcnoise_cli.grid.uci import RESULTS, folder_name

    base = results or RESULTS
    return base if any((base / name).is_dir() for name in protocols) else base / folder_name(preset, {})


def _check(kind: str, names: tuple[str, ...], choices: tuple[str, ...]) -> None:
    if not names:
        raise UsageError(f"name at least one {kind}; choose from: {', '.join(choices)}.")
    for name in names:
        if name not in choices:
            raise unknown_choice(kind, name, choices)


def _tables(kinds: tuple[str, ...], measured: list[Measured], sums: list[Measured], against: bool) -> list[Table]:
    from gpcnoise_cli.tables.uci_comparisons import against_table, protocols_table
    from gpcnoise_cli.tables.uci_ranks import comparisons, pair_table, rank_table
    from gpcnoise_cli.tables.uci_tables import averages_table, kernel_table, metric_table

    tables: list[Table] = []
    several = len({one.protocol for one in (*measured, *sums)}) > 1

    def add(table: Table, one: Measured) -> None:
        tables.append(replace(table, name=f"{table.name}-{one.protocol}") if several else table)

    for one in measured:
        for metric in ("acc", "nll"):
            if metric in kinds:
                add(against_table(metric, one) if against else metric_table(metric, one), one)
        if "averages" in kinds:
            add(averages_table(one), one)
        if "ranks" in kinds:
            for metric in ("acc", "nll"):
                for kind, comparison in comparisons(metric, one).items():
                    add(rank_table(metric, kind, comparison, one), one)
                    add(pair_table(metric, kind, comparison, one), one)
    for one in sums:
        add(kernel_table(one), one)
    by_protocol = {one.protocol: one for one in measured}
    if len(by_protocol) == 2:
        tables += [
            protocols_table(metric, by_protocol["paper"], by_protocol["clean"])
            for metric in ("acc", "nll")
            if metric in kinds
        ]
    return tables


def print_tables(tables: list[Table], format: str = "terminal") -> None:
    """The tables on stdout."""
    from gpcnoise_cli.tables.render import RENDERERS, TERMINAL_WIDTH, to_text

    if format == "terminal" and sys.stdout.isatty():
        from gpcnoise_cli.cli.console import stdout

        console = stdout()
        width = max(80, min(console.width, TERMINAL_WIDTH))
        texts = [to_text(table, ansi=not console.no_color, width=width) for table in tables]
    else:
        texts = [RENDERERS[format](table) for table in tables]
    sys.stdout.write("\n".join(texts))


def _write(out: Path, tables: list[Table], found: dict[tuple[str, str], dict[str, Comparison]]) -> None:
    from gpcnoise_cli.files import write_text
    from gpcnoise_cli.tables.critical_difference import draw_diagram
    from gpcnoise_cli.tables.latex import latex_document
    from gpcnoise_cli.tables.render import to_csv, to_markdown, to_text

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out}: {error.strerror}; choose another --out.") from error
    write_text(out / "tables.md", "\n".join(to_markdown(table) for table in tables))
    write_text(out / "tables.txt", "\n".join(to_text(table) for table in tables))
    write_text(out / "tables.tex", latex_document(tables))
    for table in tables:
        write_text(out / f"{table.name}.csv", to_csv(table))
    for (protocol, metric), comparisons in found.items():
        for kind, comparison in comparisons.items():
            title = f"{metric}, {kind} sets, protocol {protocol}"
            draw_diagram(comparison, title, out / f"critical-difference-{protocol}-{metric}-{kind}.png")
    say(f"wrote {counted(len(tables), 'table')} into {out} (tables.md, tables.txt, tables.tex and one CSV each).")


def _draw(path: Path, found: dict[str, Comparison], title: str) -> None:
    from gpcnoise_cli.tables.critical_difference import FORMATS as DIAGRAM_FORMATS
    from gpcnoise_cli.tables.critical_difference import draw_diagram

    if path.suffix.lstrip(".").lower() not in DIAGRAM_FORMATS:
        raise UsageError(f"--diagram {path}: the ending must be one of {', '.join(DIAGRAM_FORMATS)}.")
    if not found:
        raise UsageError("too few sets have every figure for a diagram (three are needed); compute more cells first.")
    kind, comparison = next(reversed(found.items()))
    draw_diagram(comparison, f"{title}, {kind} sets", path)
    say(f"drew {path}.")


def _plain(table: Table) -> dict[str, Any]:
    names = [f"{column.group} {column.name}".strip() or "set" for column in table.columns]
    rows = [
        {
            name: value.number if value.number is not None else value.text
            for name, value in zip(names, row.values, strict=True)
        }
        for row in table.rows
    ]
    return {"name": table.name, "title": table.title, "rows": rows, "notes": list(table.notes)}
