"""`gpcnoise claims`: every figure and statement of the paper with a verdict, and the ablations that give reasons."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcnoise_cli.cli.campaign_options import DryRun, RetryFailed, with_backend_options
from gpcnoise_cli.cli.console import counted, emit_json, say
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.grid.runners.request import Request

if TYPE_CHECKING:
    from gpcnoise_cli.claims.claim import Claim

app = typer.Typer(
    name="claims",
    help="Every figure and statement of the paper with a verdict.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Results = Annotated[
    Path | None, typer.Option("--results", help="Where results are filed. Default: results.", metavar="DIR")
]


def _names(*flags: str, help: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(*flags, help=help, metavar="NAME,...", rich_help_panel="Which")
    return found


@app.callback(invoke_without_command=True)
def claims(
    context: typer.Context,
    sets: Annotated[str | None, _names("--set", help="Sets, or binary, multi-class, all.")] = None,
    label: Annotated[str | None, _names("--label", help="Methods by label, such as GPC-II or GPCsm.")] = None,
    metric: Annotated[str | None, _names("--metric", help="acc, nll; of statements also elbo and others.")] = None,
    kernel: Annotated[str | None, _names("--kernel", help="rbf, matern52+rbf.")] = None,
    table: Annotated[str | None, _names("--table", help="II, III, IV, V, text.")] = None,
    verdict: Annotated[
        str | None, _names("--verdict", help="confirmed, contradicted, undecided, 'not computed', 'not runnable'.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", help="Whose cells. Default: per claim, the preset with more splits.")
    ] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="paper or clean.")] = "paper",
    check: Annotated[
        bool, typer.Option("--check", help="Fail if a quoted figure has no cell behind it, or a cell was changed.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Keep the digests of the cells in RESULTS/claims.json, for --check.")
    ] = False,
    results: Results = None,
    json: Json = False,
) -> None:
    """Every figure of Tables II to V and every statement of the text: confirmed, contradicted, undecided, or why not.

    Example: gpcnoise claims --table IV --label GPCsm

    Reasons: gpcnoise claims ablate ard
    """
    if context.invoked_subcommand is not None:
        return
    from gpcnoise_cli.claims.check import problems_in
    from gpcnoise_cli.claims.claim import TABLES, all_claims
    from gpcnoise_cli.claims.equivalence import Verdict
    from gpcnoise_cli.claims.judge import judge_all
    from gpcnoise_cli.claims.kept import write_kept
    from gpcnoise_cli.claims.table import claims_tables, counts, counts_table, record_of, whys
    from gpcnoise_cli.cli.tables import print_tables
    from gpcnoise_cli.grid.uci import RESULTS
    from gpcnoise_cli.tables.uci import PRESETS, PROTOCOLS

    base = results or RESULTS
    if check and write:
        raise UsageError("--check compares with what --write keeps; give one of them.")
    if check:
        problems = problems_in(base, Path(os.path.realpath(base)).parent)
        _print_problems(problems, json)
        return
    every = all_claims()
    kept: list[Claim] = list(every)
    for kind, asked, of, known in (
        ("set", sets, lambda claim: [claim.sets], [one.sets for one in every]),
        ("label", label, lambda claim: [claim.label, claim.against], [one.label for one in every]),
        ("metric", metric, lambda claim: [claim.metric], [one.metric for one in every]),
        ("kernel", kernel, lambda claim: [claim.kernel, claim.against_kernel], [one.kernel for one in every]),
        ("table", table, lambda claim: [claim.table], TABLES),
    ):
        wanted = _chosen(kind, asked, known)
        kept = [claim for claim in kept if not wanted or {*of(claim)} & {*wanted}]
    verdicts = _chosen("verdict", verdict, [one.value for one in Verdict])
    presets = _chosen("preset", preset, PRESETS) or PRESETS
    _chosen("protocol", protocol, PROTOCOLS)
    if write:
        if kept != list(every) or verdicts or preset:
            raise UsageError("--write keeps the whole; give it without filters.")
        path = write_kept(base)
        say(f"wrote {path}.")
    judged = judge_all(base, presets, protocol, kept)
    shown = [one for one in judged if not verdicts or one.verdict.value in verdicts]
    if json:
        found = {"verdicts": counts(judged), "why": whys(judged), "claims": [record_of(one) for one in shown]}
        emit_json({"results": base, **found})
        return
    print_tables([*([] if write else claims_tables(shown)), counts_table(judged)])


def _chosen(kind: str, text: str | None, known: Iterable[str]) -> tuple[str, ...]:
    from gpcnoise_cli.grid.request import parse_names

    names, choices = parse_names(text) if text is not None else (), {*known} - {""}
    if text is not None and not names:
        raise UsageError(f"name at least one {kind}; choose from: {', '.join(sorted(choices))}.")
    for name in names:
        if name not in choices:
            raise unknown_choice(kind, name, choices)
    return names


def _print_problems(problems: list[str], json: bool) -> None:
    if json:
        emit_json({"problems": problems})
    else:
        for problem in problems:
            typer.echo(problem)
        say("every quoted figure has a cell behind it." if not problems else f"{counted(len(problems), 'problem')}.")
    if problems:
        raise typer.Exit(1)


@app.command()
@with_backend_options
def ablate(
    request: Request,
    name: Annotated[
        str | None, typer.Argument(help="The ablation. Default: say which there are.", show_default=False)
    ] = None,
    datasets: Annotated[str | None, typer.Option("--datasets", help="Default: the ablation's own.")] = None,
    likelihoods: Annotated[str | None, typer.Option("--likelihoods", help="Default: the ablation's own.")] = None,
    methods: Annotated[
        str | None, typer.Option("--methods", help="Naming --likelihoods adds svgp. Default: the ablation's own.")
    ] = None,
    splits: Annotated[str, typer.Option("--splits", help="Numbers and ranges, such as 0-4.")] = "0",
    preset: Annotated[str, typer.Option("--preset", help="paper or fast.")] = "fast",
    protocol: Annotated[str, typer.Option("--protocol", help="Of the figures to explain: paper or clean.")] = "paper",
    kernel: Annotated[str, typer.Option("--kernel", help="rbf or matern52+rbf.")] = "rbf",
    results: Results = None,
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    json: Json = False,
) -> None:
    """Flip one thing, compute the cells into RESULTS/ablations/NAME, and show how the figures moved.

    Example: gpcnoise claims ablate ard --datasets thyroid --dry-run
    """
    from gpcnoise_cli.claims.ablations import ABLATIONS, check_likelihoods, get_ablation
    from gpcnoise_cli.claims.evidence import Evidence, Source
    from gpcnoise_cli.claims.reasons import movements
    from gpcnoise_cli.claims.table import movements_table
    from gpcnoise_cli.cli.console import print_table
    from gpcnoise_cli.cli.reproduce import compared_methods, computable, compute, print_plan
    from gpcnoise_cli.cli.tables import print_tables
    from gpcnoise_cli.config.schema import SVGP
    from gpcnoise_cli.grid.cost import Estimator
    from gpcnoise_cli.grid.plan import Plan
    from gpcnoise_cli.grid.request import parse_names, parse_numbers
    from gpcnoise_cli.grid.uci import RESULTS, check_sets, ledger_for
    from gpcnoise_cli.likelihoods.registry import likelihood_spec
    from gpcnoise_cli.tables.uci import PRESETS, PROTOCOLS

    if name is None:
        if json:
            emit_json({"ablations": {one.name: {"reason": one.reason, "says": one.says} for one in ABLATIONS.values()}})
        else:
            print_table(("name", "reason", "what is flipped"), [(a.name, a.reason, a.says) for a in ABLATIONS.values()])
        return
    ablation, base = get_ablation(name), results or RESULTS
    _chosen("preset", preset, PRESETS)
    _chosen("protocol", protocol, PROTOCOLS)
    chosen = parse_names(likelihoods) if likelihoods is not None else ablation.likelihoods
    for one in chosen:
        likelihood_spec(one)
    compared = compared_methods(methods, likelihoods, ablation.methods)
    if SVGP in compared:
        check_likelihoods(ablation, chosen)
    asked = parse_names(datasets) if datasets is not None else ablation.datasets
    check_sets(asked)
    source = Source(preset, protocol)
    grid = ablation.grid(source, kernel, parse_numbers(splits, "--splits"), asked, chosen, compared)
    if not grid.columns:
        raise UsageError("nothing is left to compute; name sets, and likelihoods or other methods.")
    ledger = ledger_for(grid, ablation.folder(base))
    cells = grid.cells()
    if not cells:
        raise UsageError("the grid has no cell: the paper has no GPCsm on binary sets.")
    plan, _ = computable(Plan.of(cells, ledger))
    plan.refuse_other_settings(ledger.folder)
    estimator = Estimator.from_records(record for _, record in ledger.records())
    if dry_run:
        print_plan(plan, ledger, estimator, request, retry_failed, json)
        return
    code = compute(plan, ledger, estimator, request, retry_failed)[1]
    filed = movements(ablation, source, kernel, Evidence.read(base))
    moved = [one for one in filed if one.dataset in asked]
    if json:
        emit_json(
            {
                "ablation": name,
                "folder": ledger.folder,
                "moved": [{**vars(one), "closed": one.closed} for one in moved],
            }
        )
    elif moved:
        print_tables([movements_table(moved, f"Ablation {name}: {ablation.says}")])
    else:
        say("no split has a cell before and after the flip; compute the grid itself by gpcnoise reproduce uci.")
    if code:
        raise typer.Exit(code)
