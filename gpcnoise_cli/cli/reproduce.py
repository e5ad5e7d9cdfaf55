"""`gpcnoise reproduce`: the experiments of the paper, each by one command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.campaign_options import DryRun, RetryFailed, Shard, with_backend_options
from gpcnoise_cli.cli.console import counted, emit_json, print_table, say
from gpcnoise_cli.cli.figures import FigureGroup
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.config.groups import choices
from gpcnoise_cli.config.options import OPTIONS
from gpcnoise_cli.data.registry import UCI_NAMES
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.grid.runners.request import Request
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, likelihood_spec, paper_likelihoods

if TYPE_CHECKING:
    from gpcnoise_cli.grid.campaign import Report
    from gpcnoise_cli.grid.cost import Estimator
    from gpcnoise_cli.grid.ledger import Ledger
    from gpcnoise_cli.grid.plan import Plan

app = typer.Typer(
    name="reproduce",
    cls=FigureGroup,
    help="Repeat the paper's experiments: resumable, crash-safe, on all cores.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)

# Coordinates of the grid: each has its option, and an override would file results under a wrong name.
_COORDINATES = {option.key: option.grid for option in OPTIONS if option.grid is not None}

_GRID = "Grid"


def _option(*names: str, help: str, panel: str = _GRID, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def _choices(group: str) -> Callable[[str], list[str]]:
    """Completion of names between commas; the last one is being typed."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        names = UCI_NAMES if group == "dataset" else choices(group)
        return [f"{before}{comma}{name}" for name in names if name.startswith(last)]

    return complete


@app.command()
@with_backend_options
def uci(
    request: Request,
    kernel: Annotated[
        str,
        _option("--kernel", help="rbf (Tables II to IV) or matern52+rbf (Table V).", autocompletion=_choices("kernel")),
    ] = "rbf",
    preset: Annotated[
        str,
        _option("--preset", help="paper (to the letter, 10000 steps) or fast.", autocompletion=_choices("preset")),
    ] = "paper",
    protocol: Annotated[str, _option("--protocol", help="paper (row number as a feature) or clean.")] = "paper",
    datasets: Annotated[
        str | None,
        _option("--datasets", help="Names between commas. Default: all 19.", autocompletion=_choices("dataset")),
    ] = None,
    likelihoods: Annotated[
        str | None,
        _option(
            "--likelihoods",
            help=f"Of {', '.join(LIKELIHOODS)}. Default: {', '.join(paper_likelihoods())}.",
            autocompletion=_choices("likelihood"),
        ),
    ] = None,
    methods: Annotated[
        str | None,
        _option(
            "--methods",
            help=f"Of {', '.join(choices('method'))}; naming --likelihoods adds svgp. Default: svgp.",
            autocompletion=_choices("method"),
        ),
    ] = None,
    splits: Annotated[str, _option("--splits", help="Numbers and ranges, such as 0-9 or 0,2,5-7.")] = "0-9",
    all_likelihoods: Annotated[
        bool, _option("--all-likelihoods", help="GPCsm on binary sets too, where the paper prints NA.")
    ] = False,
    iterations: Annotated[
        str | None, _option("--iterations", help="Fewer steps than the preset's; filed apart.", metavar="STEPS")
    ] = None,
    results: Annotated[
        Path | None, _option("--results", help="Where results are filed. Default: results.", panel="Work")
    ] = None,
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    shard: Shard = None,
    json: Json = False,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Hydra overrides for every cell; filed apart.", show_default=False),
    ] = None,
) -> None:
    """The UCI benchmark of Tables II to V; what is done already is not computed again.

    Example: gpcnoise reproduce uci --datasets waveform,twonorm --splits 0-1 --iterations 200 --workers 2
    """
    from gpcnoise_cli.config.quoting import assign
    from gpcnoise_cli.config.schema import SVGP
    from gpcnoise_cli.grid.cost import Estimator
    from gpcnoise_cli.grid.plan import Plan
    from gpcnoise_cli.grid.request import parse_names, parse_numbers, take_shard
    from gpcnoise_cli.grid.uci import Grid, check_sets, ledger_for

    settings = list(overrides or ())
    _refuse_coordinates(settings)
    asked = parse_names(datasets) if datasets is not None else UCI_NAMES
    check_sets(asked)
    chosen = parse_names(likelihoods) if likelihoods is not None else paper_likelihoods()
    for name in chosen:
        likelihood_spec(name)
    compared = compared_methods(methods, likelihoods, (SVGP,))
    grid = Grid(
        preset,
        protocol,
        kernel,
        asked,
        chosen,
        parse_numbers(splits, "--splits"),
        (*([assign("iterations", iterations)] if iterations is not None else []), *settings),
        all_likelihoods,
        compared,
    )
    if not grid.columns:
        raise UsageError("nothing is left to compare; name --methods, and --likelihoods for svgp.")
    ledger = ledger_for(grid, results)
    for name, sets in grid.unfit().items():
        say(f"{name} is not for the number of classes of {', '.join(sets)}: left out there")
    cells = grid.cells()
    if not cells:
        raise UsageError(
            "the grid has no cell: a method may be for binary or for multi-class sets only, and the paper has no GPCsm "
            "on binary ones (--all-likelihoods asks for it)."
        )
    plan, absent = computable(Plan.of(take_shard(cells, shard), ledger))
    plan.refuse_other_settings(ledger.folder)
    estimator = Estimator.from_records(record for _, record in ledger.records())
    if dry_run:
        print_plan(plan, ledger, estimator, request, retry_failed, json)
        return
    report, code = compute(plan, ledger, estimator, request, retry_failed)
    _print_results(plan, ledger, report, json, absent)
    if code:
        raise typer.Exit(code)


def computable(plan: Plan) -> tuple[Plan, list[str]]:
    """The plan without what cannot be computed here, and the sets that are missing for it, which are told."""
    kept, absent = plan.computable()
    for name in absent:
        say(f"{name} is not here and is left out; get it with: gpcnoise data fetch {name}")
    if plan.cells and not kept.cells:
        raise UsageError("nothing is left to compute; name sets that are here (`gpcnoise data list`).")
    return kept, absent


def compared_methods(methods: str | None, likelihoods: str | None, usual: Sequence[str]) -> tuple[str, ...]:
    """What `--methods` names; likelihoods are columns of the SVGP, so naming some adds it."""
    from gpcnoise_cli.config.schema import SVGP
    from gpcnoise_cli.grid.request import parse_names

    compared = parse_names(methods) if methods is not None else tuple(usual)
    for name in compared:
        if name not in choices("method"):
            raise unknown_choice("method", name, choices("method"))
    adds = likelihoods is not None and compared and SVGP not in compared
    return (*compared, SVGP) if adds else compared


def _refuse_coordinates(overrides: list[str]) -> None:
    for text in overrides:
        key = text.partition("=")[0].lstrip("+~")
        if key == "tracking":
            raise UsageError(
                f"{text!r}: `train` and `sweep` can be followed by other programs, `reproduce` cannot; omit it."
            )
        if key in _COORDINATES:
            raise UsageError(f"{text!r}: give {_COORDINATES[key]} instead, so that the result is filed under its name.")


def print_plan(
    plan: Plan, ledger: Ledger, estimator: Estimator, request: Request, retry_failed: bool, json: bool
) -> None:
    """What is done, what is left, and how long it will take."""
    from gpcnoise_cli.cli.campaign import describe_estimates, duration, number_of_workers
    from gpcnoise_cli.grid.ledger import State
    from gpcnoise_cli.methods.registry import variant_of

    to_do = plan.to_do(retry_failed)
    count = {state.value: len(plan.in_state(state)) for state in (State.DONE, State.OPEN, State.FAILED)}
    forecast = describe_estimates(to_do, estimator, number_of_workers(request, len(to_do)))
    if json:
        cells = [{"name": cell.name, "state": plan.entries[cell].state.value} for cell in plan.cells]
        emit_json({"folder": str(ledger.folder), **count, "estimate": forecast, "cells": cells})
        return
    rows = []
    for cell in plan.cells:
        entry = plan.entries[cell]
        estimate = estimator.estimate(cell) if cell in to_do else None
        time = (duration(estimate.seconds), estimate.basis) if estimate else (None, (entry.record or {}).get("reason"))
        rows.append((cell.config.dataset.name, variant_of(cell.config), cell.config.split, entry.state.value, *time))
    print_table(("set", "method", "split", "state", "time", "by"), rows)
    basis = ", ".join(f"{number} by {name}" for name, number in forecast["basis"].items())
    say(
        f"{ledger.folder}: {', '.join(f'{number} {state}' for state, number in count.items())}; "
        f"about {duration(forecast['seconds'])} with {counted(forecast['workers'], 'worker')}"
        + (f" ({basis})." if basis else ".")
    )


def compute(
    plan: Plan,
    ledger: Ledger,
    estimator: Estimator,
    request: Request,
    retry_failed: bool,
) -> tuple[Report, int]:
    """Compute what is left of a plan, with a display on stderr; what came of it, and the exit code."""
    from gpcnoise_cli.cli.campaign import exit_code, run_campaign, tell_left_out
    from gpcnoise_cli.grid.campaign import Report
    from gpcnoise_cli.grid.ledger import State

    to_do, done = plan.to_do(retry_failed), plan.in_state(State.DONE)
    failed_before = [cell for cell in plan.in_state(State.FAILED) if cell not in to_do]
    say(f"{len(done)} of {len(plan.cells)} cells are done already, {len(to_do)} are to do.")
    if failed_before:
        tell_left_out(failed_before)
    report = Report()
    if to_do:
        report = run_campaign(to_do, ledger, request, estimator)
    code = exit_code(report, "run the same command again") or (1 if failed_before else 0)
    return report, code


def _print_results(plan: Plan, ledger: Ledger, report: Report, json: bool, absent: list[str]) -> None:
    found = {cell: ledger.look_up(cell).record for cell in plan.cells}
    results = {cell: record for cell, record in found.items() if record is not None and "acc" in record}
    if json:
        emit_json(
            {
                "folder": str(ledger.folder),
                "computed": [cell.name for cell in report.computed],
                "failed": {cell.name: reason for cell, reason in report.failed.items()},
                "absent": absent,
                "interrupted": report.interrupted,
                "cells": list(results.values()),
            }
        )
        return
    from gpcnoise_cli.cli.tables import print_tables
    from gpcnoise_cli.tables.measured import collect
    from gpcnoise_cli.tables.published import METRICS
    from gpcnoise_cli.tables.uci_tables import metric_table

    if not plan.cells:  # a shard more than there are cells
        return
    config = plan.cells[0].config
    measured = collect(ledger.folder, config.protocol, config.kernel.name)
    names = {cell.config.dataset.name for cell in plan.cells}
    print_tables([metric_table(metric, measured).only(names) for metric in METRICS])
