"""Your own table before training: what its columns are taken for, and whether its order gives the class away."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gpcnoise_cli.cli.columns import Encoding, Separator
from gpcnoise_cli.cli.console import emit_json, print_table, say
from gpcnoise_cli.cli.data.shared import ArchiveNames, Target, app, check_names, starting_with
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.data.registry import MISSING_POLICIES
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    from gpcnoise_cli.data.audit import Audit


@app.command()
def describe(
    file: Annotated[str, typer.Argument(help="Your own table; - is standard input.", metavar="FILE")],
    target: Annotated[str, typer.Option(help="The column that holds the class.", metavar="COLUMN")],
    treat: Annotated[
        list[str] | None,
        typer.Option(help="Take a column as number, category or date, or ignore it.", metavar="COLUMN=KIND"),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Leave a column out.", metavar="COLUMN")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Carry a column into predictions.", metavar="COLUMN")] = None,
    columns: Annotated[str | None, typer.Option(help="Lines `COLUMN: KIND`.", metavar="FILE.yaml")] = None,
    missing: Annotated[
        str,
        typer.Option(
            help="Missing values: impute or refuse.", autocompletion=starting_with(MISSING_POLICIES), metavar="POLICY"
        ),
    ] = "impute",
    na_values: Annotated[
        list[str] | None,
        typer.Option(help="A text that means missing, in place of NA, null, None, …", metavar="TEXT"),
    ] = None,
    sep: Separator = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """What each column of your own table is taken for, without training. The options are those of `train`.

    Example: gpcnoise data describe customers.csv --target churned
    """
    from gpcnoise_cli.config.compose import compose
    from gpcnoise_cli.config.options import overrides_for
    from gpcnoise_cli.data.description import HEADINGS, describe_file, table_rows
    from gpcnoise_cli.data.treatment import Treatment

    said = {"treat": treat, "drop": drop, "keep": keep, "columns": columns, "missing": missing, "na_values": na_values}
    asked = overrides_for({"data": file, "target": target, **said, "sep": sep, "encoding": encoding})
    dataset = compose(asked).dataset  # checks them as `train` does
    treatment = Treatment(**{key: getattr(dataset, key) for key in (*said, "sep", "encoding")})
    found = describe_file(file, target, treatment)
    if json:
        emit_json({"file": file, **found.facts()})
        return
    print_table(HEADINGS, table_rows(found.findings))
    print_table(("class", "rows"), [(str(name), count) for name, count in found.classes.items()], title="\nclasses")
    for note in found.notes:
        say(note)


@app.command()
def audit(
    names: ArchiveNames = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Your own table instead; needs --target.", metavar="FILE")
    ] = None,
    target: Target = None,
    sep: Separator = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """How well the row number alone predicts the class. Example: gpcnoise data audit magic chess-krvk

    Of your own table, the order of its rows and each column that looks like a row number or an identifier:
    gpcnoise data audit --data customers.csv --target churned
    """
    from gpcnoise_cli.data.audit import LEAK_POINTS, NUM_NEIGHBOURS, NUM_SPLITS, WEAK_POINTS, audit_sets

    if data is None and target is None:
        audits = audit_sets(check_names(names))
    elif data is None or target is None:
        raise UsageError("--data FILE and --target COLUMN belong together; give both.")
    elif names:
        raise UsageError(f"audit either sets of the archive ({', '.join(names)}) or --data {data}, not both.")
    else:
        audits = _audit_file(data, target, sep, encoding)
    if json:
        settings = {"neighbours": NUM_NEIGHBOURS, "splits": NUM_SPLITS, "leak": LEAK_POINTS, "weak": WEAK_POINTS}
        emit_json({**settings, "sets": [{**asdict(one), "gain": one.gain} for one in audits]})
        return
    rows = [(a.dataset, a.source, _percent(a.vote), _percent(a.majority), _percent(a.gain), a.verdict) for a in audits]
    what = "set" if data is None else "column"
    print_table((what, "read from", "row number %", "largest class %", "gain", "verdict"), rows)
    say(
        f"row number %: accuracy of the vote of the {NUM_NEIGHBOURS} nearest training rows by number alone, mean of "
        f"{NUM_SPLITS} splits; leak: {LEAK_POINTS:g} points or more above the largest class, "
        f"weak: {WEAK_POINTS:g} or more."
    )


def _audit_file(data: str, target: str, sep: str | None, encoding: str | None) -> list[Audit]:
    from gpcnoise_cli.data.file_audit import audit_file
    from gpcnoise_cli.data.treatment import Treatment

    return audit_file(data, target, Treatment(sep=sep, encoding=encoding))


def _percent(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
