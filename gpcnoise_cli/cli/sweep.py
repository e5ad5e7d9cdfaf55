"""`gpcnoise sweep`: train on every combination of the values named, resumable and on all cores, results as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.campaign_options import DryRun, RetryFailed, Shard, with_backend_options
from gpcnoise_cli.cli.console import counted, emit_data, emit_json, print_table, say
from gpcnoise_cli.cli.options import Json, with_train_options
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.grid.runners.request import Request

if TYPE_CHECKING:
    from gpcnoise_cli.grid.cell import Cell
    from gpcnoise_cli.grid.ledger import Ledger
    from gpcnoise_cli.grid.sweep import SweptCell

FORMATS = ("table", "csv", "json")
_SHOWN = ("acc", "nll", "brier", "ece", "steps", "train_seconds")


@with_train_options
@with_backend_options
def sweep(
    overrides: list[str],
    request: Request,
    results: Annotated[
        Path, typer.Option("--results", help="Where results are filed.", rich_help_panel="Work", metavar="DIR")
    ] = Path("runs/sweep"),
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    shard: Shard = None,
    format: Annotated[str, typer.Option("--format", help=f"What stdout gets: {', '.join(FORMATS)}.")] = "table",
    json: Json = False,
) -> None:
    """Train on every combination of values; what is done already is not computed again.

    Example: gpcnoise sweep --dataset ringnorm likelihood=step,probit 'inducing=range(50,200,50)' split=0,1 --format csv
    """
    from gpcnoise_cli.cli.campaign import (
        describe_estimates,
        duration,
        exit_code,
        number_of_workers,
        run_campaign,
        tell_left_out,
    )
    from gpcnoise_cli.grid.campaign import Report
    from gpcnoise_cli.grid.cost import Estimator
    from gpcnoise_cli.grid.ledger import Ledger, State
    from gpcnoise_cli.grid.plan import Plan
    from gpcnoise_cli.grid.request import take_shard
    from gpcnoise_cli.grid.runners.registry import check_rows_travel
    from gpcnoise_cli.grid.sweep import expand
    from gpcnoise_cli.runs.tracking import check_tracking

    if format not in FORMATS:
        raise unknown_choice("format", format, FORMATS)
    if any(text.partition("=")[0] == "out" for text in overrides):
        raise UsageError("--out is for one run; a sweep files its results in --results DIR.")
    swept = take_shard(expand(overrides), shard)
    for one in swept:
        check_tracking(one.cell.config.tracking)
    ledger = Ledger(results)
    plan = Plan.of([one.cell for one in swept], ledger)
    plan.refuse_other_settings(ledger.folder)
    to_do = plan.to_do(retry_failed)
    check_rows_travel(request, to_do)
    _check_files(to_do)
    estimator = Estimator.from_records(record for _, record in ledger.records())
    say(f"{len(plan.in_state(State.DONE))} of {len(plan.cells)} cells are done already, {len(to_do)} are to do.")
    if dry_run:
        forecast = describe_estimates(to_do, estimator, number_of_workers(request, max(1, len(to_do))))
        if json:
            emit_json({"folder": str(ledger.folder), "to_do": [cell.name for cell in to_do], "estimate": forecast})
        else:
            print_table(("cell", "state"), [(cell.name, plan.entries[cell].state.value) for cell in plan.cells])
            say(f"about {duration(forecast['seconds'])} with {counted(forecast['workers'], 'worker')}.")
        return
    report = Report()
    if to_do:
        report = run_campaign(to_do, ledger, request, estimator)
    keys = [*swept[0].values] if swept else []  # a shard may be empty
    rows = _rows(swept, ledger)
    _print_rows(rows, keys, "json" if json else format)
    unfollowed = [row["tracking_failed"] for row in rows if "tracking_failed" in row]
    if unfollowed:
        where = counted(len(unfollowed), "cell")
        say(f"tracking failed in {where}; the results are sound all the same: {unfollowed[0]}")
    failed_before = [cell for cell in plan.in_state(State.FAILED) if cell not in to_do]
    if failed_before:
        tell_left_out(failed_before)
    code = exit_code(report, "run the same command again") or (1 if failed_before else 0)
    if code:
        raise typer.Exit(code)


def _check_files(cells: Sequence[Cell]) -> None:
    """Read each table of your own once: what is wrong with it is told at once, and no cell is recorded as failed."""
    from gpcnoise_cli.runs.train import load_data

    files = {str(cell.config.dataset): cell.config for cell in cells if cell.config.dataset.path is not None}
    for config in files.values():
        load_data(config)


def _rows(swept: Sequence[SweptCell], ledger: Ledger) -> list[dict[str, Any]]:
    """The finished cells: the swept values first, then every single-valued field of the result."""
    rows = []
    for one in swept:
        record = ledger.look_up(one.cell).record
        if record is not None and "acc" in record:
            single = {key: value for key, value in record.items() if not isinstance(value, dict | list)}
            rows.append({**one.values, **single})
    return rows


def _print_rows(rows: list[dict[str, Any]], keys: list[str], format: str) -> None:
    if format == "json":
        emit_json({"swept": keys, "cells": rows})
    elif format == "csv":
        names = list(dict.fromkeys(name for row in rows for name in row))
        stream = io.StringIO()
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        emit_data(stream.getvalue())
    else:
        columns = [*keys, *_SHOWN]
        print_table(columns, [[_short(row.get(name)) for name in columns] for row in rows])


def _short(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value
