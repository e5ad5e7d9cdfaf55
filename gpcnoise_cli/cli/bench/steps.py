"""What is timed step by step: a training step, its growth, and the way to a quality."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcnoise_cli.cli.bench.shared import (
    RESULTS,
    SCRATCH,
    Fresh,
    Out,
    Quick,
    app,
    check_out,
    found_gpytorch,
    progress,
    show,
    this_machine,
)
from gpcnoise_cli.cli.console import emit_json, print_table, say
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS


@app.callback(invoke_without_command=True)
def everything(context: typer.Context, quick: Quick = False, out: Out = SCRATCH, json: Json = False) -> None:
    """Time training steps on this machine: `steps` and `growth`, or what is named.

    Rounds are interleaved, so other work disturbs all systems alike; still, leave the machine alone meanwhile.

    Example: gpcnoise bench steps --quick
    """
    if context.invoked_subcommand is None:
        _time("steps", "growth", quick=quick, out=out, json=json)
    elif quick or json or out != SCRATCH:
        raise UsageError(f"put the options after the name: gpcnoise bench {context.invoked_subcommand} [OPTIONS].")


@app.command()
def steps(quick: Quick = False, out: Out = SCRATCH, json: Json = False) -> None:
    """One training step against stock GPflow, GPyTorch (where installed) and the floor of the matrix products.

    With one kernel for all classes and with one for each. GPyTorch comes with the extra `bench`, or from the
    interpreter that GPCNOISE_BENCH_PYTHON names.
    """
    _time("steps", quick=quick, out=out, json=json)


@app.command()
def growth(quick: Quick = False, out: Out = SCRATCH, json: Json = False) -> None:
    """How the time of a step grows with m, B, C and n: a table, a CSV file and a plot."""
    _time("growth", quick=quick, out=out, json=json)


@app.command()
def fit(
    measured: Annotated[
        Path, typer.Option("--from", help="The folder with steps.json and growth.json.", metavar="DIR")
    ] = RESULTS,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write. Default: only show them.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Fit the constants of `gpcnoise plan` to the times of `steps` and `growth`; measures nothing.

    Example: gpcnoise bench fit --from runs/bench --out here.json; then: gpcnoise plan --constants here.json
    """
    from gpcnoise_cli.files import write_json
    from gpcnoise_cli.scale.fit import fit as fit_constants

    found = fit_constants(measured)
    if json:
        emit_json(found.to_dict())
    else:
        title = f"{found.points} step times on {found.machine}"
        rows = [(term, f"{seconds:.3g}") for term, seconds in found.seconds.items()]
        rows += [(f"{name}, times mixed Adam", f"{factor:.3f}") for name, factor in found.factors.items()]
        print_table(("term", "seconds per operation"), rows, title=title)
        say(f"relative errors: median {100 * found.median_error:.1f}%, largest {100 * found.largest_error:.1f}%.")
    if out is not None:
        write_json(out, found.to_dict())
        say(f"written: {out}")


def _time(*parts: str, quick: bool, out: Path, json: bool) -> None:
    check_out(out)
    from gpcnoise_cli.runtime import load_tensorflow

    load_tensorflow()  # first, and without its notices: the modules below import it
    from gpcnoise_cli.bench.files import write_bench
    from gpcnoise_cli.bench.timing import time_training

    gpytorch = found_gpytorch() if "steps" in parts else None
    machine = this_machine(gpytorch)
    with progress() as told:
        found = time_training(parts, gpytorch, told, quick=quick)
    written = write_bench(machine, found, out)
    show(machine, found, json)
    say("written: " + ", ".join(str(path) for path in written))


@app.command()
def quality(
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", help="Only this data set; may be repeated.", metavar="NAME")
    ] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="clean or paper.")] = "clean",
    likelihood: Annotated[str, typer.Option("--likelihood", help=f"Of {', '.join(LIKELIHOODS)}.")] = "softmax",
    fresh: Fresh = False,
    quick: Quick = False,
    out: Out = RESULTS,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Hydra overrides for both presets.")
    ] = None,
    json: Json = False,
) -> None:
    """Seconds until the test nll is within 0.005 of where the paper's settings end: stock GPflow and both presets.

    Takes hours. Each data set is kept as soon as it is measured, and an interrupted call is continued by the next.
    """
    from gpcnoise_cli.cli.interruption import stop_on_signal

    check_out(out)
    with stop_on_signal() as stop_requested:  # before the slow imports, so that no signal is lost
        from gpcnoise_cli.runtime import load_tensorflow

        load_tensorflow()  # first, and without its notices: the modules below import it
        from gpcnoise_cli.bench.files import draw_kept_quality
        from gpcnoise_cli.bench.quality import DATASETS, Request, measure_quality
        from gpcnoise_cli.bench.timing import prepared
        from gpcnoise_cli.cli.progress import show_progress
        from gpcnoise_cli.training.trainer import Interrupted

        request = Request(dataset or DATASETS, protocol, likelihood, overrides or ())
        machine, effort = this_machine(), prepared(quick=quick)
        with show_progress() as events:
            try:
                records = measure_quality(
                    request, out, effort, machine, fresh=fresh, events=events, stop_requested=stop_requested
                )
            except Interrupted as stop:
                say(f"stopped at step {stop.step}; the same command continues.")
                raise typer.Exit(130) from stop
    written = draw_kept_quality(request, out)
    show(machine, {"quality": records}, json)
    say("written: " + ", ".join(str(path) for path in written))
