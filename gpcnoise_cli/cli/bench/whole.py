"""What is timed as a whole: commands, grids and fits, and how good the models are beside those of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcnoise_cli.cli.bench.shared import (
    RESULTS,
    Fresh,
    Kept,
    Out,
    app,
    check_kept,
    check_out,
    found_gpytorch,
    progress,
    show,
    this_machine,
)
from gpcnoise_cli.cli.console import say
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, paper_likelihoods


@app.command()
def classifiers(
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", help="digits, breast-cancer, wine or iris; may be repeated.", metavar="NAME"),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Parts of the cross-validation.")] = 5,
    fresh: Fresh = False,
    kept: Kept = False,
    out: Out = RESULTS,
    json: Json = False,
) -> None:
    """GPCNoiseClassifier beside scikit-learn's classifiers: accuracy and nll on four small sets, mean ± standard error.

    scikit-learn's Gaussian process takes a long time on digits. Each fold is kept as soon as it is measured.
    """
    from gpcnoise_cli.bench.classifiers import DATASETS, measure_classifiers

    check_kept(kept, fresh)
    check_out(out)
    machine = this_machine()
    with progress() as told:
        records = measure_classifiers(dataset or DATASETS, folds, out, machine, told, fresh=fresh, only_kept=kept)
    if not records:
        raise UsageError(f"nothing is kept in {out} for {folds} folds; omit --kept to measure.")
    show(machine, {"classifiers": records}, json)


@app.command()
def command(
    datasets: Annotated[
        str | None,
        typer.Option("--datasets", help="Names between commas. Default: waveform-noise,ringnorm,adult,letter."),
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option("--systems", help="Of gpcnoise, gpflow, gpytorch, boosting, logistic. Default: all."),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Runs of each; medians are shown.")] = 1,
    stock_steps: Annotated[
        int | None,
        typer.Option("--stock-steps", help="Steps of the GPflow and GPyTorch scripts. Default: 500.", metavar="STEPS"),
    ] = None,
    fresh: Fresh = False,
    kept: Kept = False,
    out: Out = RESULTS,
    json: Json = False,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Hydra overrides for `gpcnoise train`.")
    ] = None,
) -> None:
    """Seconds from the shell command to the saved model, and how good it is, beside scripts with other libraries.

    Each run is a fresh process on split 0 of protocol clean, timed from start to exit. GPflow and GPyTorch train for a
    fixed number of steps (the paper has 10,000, which takes them more than an hour on letter). Each run is kept.

    Example: gpcnoise bench command --datasets ringnorm --systems gpcnoise,boosting --repeats 3
    """
    from gpcnoise_cli.bench.command import DATASETS, GPYTORCH, STEPS, SYSTEMS, Request, kept_command, measure_command
    from gpcnoise_cli.grid.request import parse_names

    check_kept(kept, fresh)
    check_out(out)
    request = Request(
        parse_names(datasets) if datasets is not None else DATASETS,
        parse_names(systems) if systems is not None else SYSTEMS,
        repeats,
        stock_steps if stock_steps is not None else STEPS,
        tuple(overrides or ()),
    )
    gpytorch = found_gpytorch() if GPYTORCH in request.systems and not kept else None
    machine = this_machine(gpytorch)
    if kept:
        records = kept_command(request, out)
    else:
        with progress() as told:
            records = measure_command(request, out, machine, gpytorch, told, fresh=fresh)
    if not records:
        raise UsageError(f"nothing is kept in {out} for {', '.join(request.datasets)}; omit --kept to measure.")
    show(machine, {"command": records}, json)


@app.command()
def grid(
    preset: Annotated[str, typer.Option("--preset", help="fast or paper.")] = "fast",
    protocol: Annotated[str, typer.Option("--protocol", help="paper or clean.")] = "paper",
    splits: Annotated[str, typer.Option("--splits", help="Numbers and ranges, such as 0-9.")] = "0",
    datasets: Annotated[
        str | None, typer.Option("--datasets", help="Names between commas. Default: all that are here.")
    ] = None,
    likelihoods: Annotated[
        str | None,
        typer.Option("--likelihoods", help=f"Of {', '.join(LIKELIHOODS)}. Default: {', '.join(paper_likelihoods())}."),
    ] = None,
    iterations: Annotated[
        str | None, typer.Option("--iterations", help="Fewer steps than the preset's.", metavar="STEPS")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Cells computed at a time. Default: one per core.", metavar="N")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Keep the cells in this new folder.", metavar="DIR")
    ] = None,
    out: Out = RESULTS,
    json: Json = False,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Hydra overrides for every cell.")
    ] = None,
) -> None:
    """Cells an hour of `gpcnoise reproduce uci`, computed into a new folder that is removed afterwards, unless kept.

    Example: gpcnoise bench grid --datasets ringnorm,twonorm --protocol clean
    """
    from gpcnoise_cli.bench.grid import FILE, Request, measure_grid

    check_out(out)
    request = Request(preset, protocol, splits, datasets, likelihoods, iterations, workers, tuple(overrides or ()))
    machine = this_machine()
    record = measure_grid(request, out, machine, keep)
    show(machine, {"grid": record}, json)
    say(f"written: {out / FILE}")
    if record["failed"]:
        raise typer.Exit(1)


@app.command()
def memory(
    rows: Annotated[int, typer.Option("--rows", help="Training rows.")] = 100_000,
    columns: Annotated[int, typer.Option("--columns", help="Features.")] = 20,
    iterations: Annotated[
        int | None, typer.Option("--iterations", help="Steps at most. Default: the preset's.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """The largest memory that a fit through GPCNoiseClassifier takes, on generated data of three classes."""
    from gpcnoise_cli.bench.memory import measure_memory

    show(this_machine(), {"memory": measure_memory(rows, columns, iterations)}, json)
