"""`gpcnoise bench`: how long a step, a whole command or a grid takes, and how good the models are beside others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.console import emit_json, print_table, say, stderr
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    from gpcnoise_cli.bench.gpytorch_client import Installation
    from gpcnoise_cli.bench.interleave import Effort

app = typer.Typer()
SCRATCH, RESULTS = Path("runs/bench"), Path("results/bench")

Quick = Annotated[bool, typer.Option("--quick", help="Fewer and shorter rounds: a first impression.")]
Out = Annotated[Path, typer.Option("--out", help="The folder for numbers and plots.", metavar="DIR")]


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
def quality(
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", help="Only this data set; may be repeated.", metavar="NAME")
    ] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="clean or paper.")] = "clean",
    likelihood: Annotated[str, typer.Option("--likelihood", help="step, probit, logit or softmax.")] = "softmax",
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is kept already.")] = False,
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

    with stop_on_signal() as stop_requested:  # before the slow imports, so that no signal is lost
        from gpcnoise_cli.runtime import load_tensorflow

        load_tensorflow()  # first, and without its notices: the modules below import it
        from gpcnoise_cli.bench.files import draw_quality
        from gpcnoise_cli.bench.kept import read_kept
        from gpcnoise_cli.bench.quality import DATASETS, FILE, Request, measure_quality
        from gpcnoise_cli.cli.progress import show_progress
        from gpcnoise_cli.training.trainer import Interrupted

        request = Request(dataset or DATASETS, protocol, likelihood, overrides or ())
        machine = _machine(None)
        with show_progress() as events:
            try:
                records = measure_quality(
                    request,
                    out,
                    _prepared(quick),
                    machine,
                    fresh=fresh,
                    events=events,
                    stop_requested=stop_requested,
                )
            except Interrupted as stop:
                say(f"stopped at step {stop.step}; the same command continues.")
                raise typer.Exit(130) from stop
    # All that is kept of this kind: a call for one more set must not take the others out of the picture.
    kept = {name: one for name, one in read_kept(out / FILE).items() if name.startswith(request.name(""))}
    written = draw_quality(list(kept.values()), out)
    show({"machine": machine, "quality": records}, json)
    say("written: " + ", ".join(str(path) for path in written))


@app.command()
def classifiers(
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", help="digits, breast-cancer, wine or iris; may be repeated.", metavar="NAME"),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Parts of the cross-validation.")] = 5,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is kept already.")] = False,
    kept: Annotated[bool, typer.Option("--kept", help="Only show what is kept; measure nothing.")] = False,
    out: Out = RESULTS,
    json: Json = False,
) -> None:
    """GPCNoiseClassifier beside scikit-learn's classifiers: accuracy and nll on four small sets, mean ± standard error.

    scikit-learn's Gaussian process takes a long time on digits. Each fold is kept as soon as it is measured.
    """
    from gpcnoise_cli.bench.classifiers import DATASETS, measure_classifiers

    if kept and fresh:
        raise UsageError("--kept measures nothing and --fresh measures everything; choose one of them.")
    machine = _machine(None)
    with _progress() as told:
        records = measure_classifiers(dataset or DATASETS, folds, out, machine, told, fresh=fresh, only_kept=kept)
    if not records:
        raise UsageError(f"nothing is kept in {out} for {folds} folds; omit --kept to measure.")
    show({"machine": machine, "classifiers": records}, json)


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
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is kept already.")] = False,
    kept: Annotated[bool, typer.Option("--kept", help="Only show what is kept; measure nothing.")] = False,
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
    from gpcnoise_cli.bench.command import (
        DATASETS,
        GPYTORCH,
        STEPS,
        SYSTEMS,
        Request,
        kept_command,
        measure_command,
    )
    from gpcnoise_cli.bench.gpytorch_client import find_gpytorch
    from gpcnoise_cli.grid.request import parse_names

    if kept and fresh:
        raise UsageError("--kept measures nothing and --fresh measures everything; choose one of them.")
    request = Request(
        parse_names(datasets) if datasets is not None else DATASETS,
        parse_names(systems) if systems is not None else SYSTEMS,
        repeats,
        stock_steps if stock_steps is not None else STEPS,
        tuple(overrides or ()),
    )
    gpytorch = find_gpytorch() if GPYTORCH in request.systems and not kept else None
    if GPYTORCH in request.systems and not kept:
        _tell_about(gpytorch)
    machine = _machine(gpytorch)
    if kept:
        records = kept_command(request, out)
        if not records:
            raise UsageError(f"nothing is kept in {out} for {', '.join(request.datasets)}; omit --kept to measure.")
    else:
        with _progress() as told:
            records = measure_command(request, out, machine, gpytorch, told, fresh=fresh)
    show({"machine": machine, "command": records}, json)


@app.command()
def grid(
    preset: Annotated[str, typer.Option("--preset", help="fast or paper.")] = "fast",
    protocol: Annotated[str, typer.Option("--protocol", help="paper or clean.")] = "paper",
    splits: Annotated[str, typer.Option("--splits", help="Numbers and ranges, such as 0-9.")] = "0",
    datasets: Annotated[
        str | None, typer.Option("--datasets", help="Names between commas. Default: all that are here.")
    ] = None,
    likelihoods: Annotated[
        str | None, typer.Option("--likelihoods", help="Of step, probit, logit, softmax. Default: all.")
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

    request = Request(preset, protocol, splits, datasets, likelihoods, iterations, workers, tuple(overrides or ()))
    machine = _machine(None)
    record = measure_grid(request, out, machine, keep)
    show({"machine": machine, "grid": record}, json)
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

    machine = _machine(None)
    show({"machine": machine, "memory": measure_memory(rows, columns, iterations)}, json)


def _time(*parts: str, quick: bool, out: Path, json: bool) -> None:
    from gpcnoise_cli.runtime import load_tensorflow

    load_tensorflow()  # first, and without its notices: the modules below import it
    from gpcnoise_cli.bench.case import STANDARD_CASES
    from gpcnoise_cli.bench.files import write_bench
    from gpcnoise_cli.bench.gpytorch_client import find_gpytorch
    from gpcnoise_cli.bench.growth import AXES, BASE, EFFORT, QUICK_AXES, measure_growth
    from gpcnoise_cli.bench.steps import measure_steps

    gpytorch = find_gpytorch() if "steps" in parts else None
    if "steps" in parts:
        _tell_about(gpytorch)
    result: dict[str, Any] = {"machine": _machine(gpytorch)}
    effort = _prepared(quick)
    with _progress() as told:
        if "steps" in parts:
            result["steps"] = measure_steps(STANDARD_CASES, effort, gpytorch, told)
        if "growth" in parts:
            result["growth"] = (
                measure_growth(QUICK_AXES, BASE, effort, told) if quick else measure_growth(AXES, BASE, EFFORT, told)
            )
    written = write_bench(result, out)
    show(result, json)
    say("written: " + ", ".join(str(path) for path in written))


def _tell_about(gpytorch: Installation | None) -> None:
    """Say what a reader of the table should know about the GPyTorch in it."""
    from gpcnoise_cli.bench.gpytorch_client import HOW_TO_GET_IT, OLDEST_FAST

    if gpytorch is None:
        say(f"GPyTorch is not installed, so it is left out ({HOW_TO_GET_IT}).")
    elif gpytorch.is_older_than(OLDEST_FAST):
        say(
            f"GPyTorch {gpytorch.versions['gpytorch']} is older than {'.'.join(map(str, OLDEST_FAST))}, "
            f"from which on its variational strategy is faster; compare with a newer one ({HOW_TO_GET_IT})."
        )


def _machine(gpytorch: Installation | None) -> dict[str, Any]:
    from gpcnoise_cli.bench.machine import describe_machine

    machine = describe_machine(gpytorch)
    if machine["busy"]:
        say(f"this machine is busy (load {machine['load_average']:.1f}): the times will be noisy.")
    return machine


def _prepared(quick: bool) -> Effort:
    """TensorFlow set up as every training run does it, and how much to measure."""
    from gpcnoise_cli.bench.interleave import QUICK, USUAL
    from gpcnoise_cli.config.compose import compose
    from gpcnoise_cli.runtime import prepare

    prepare(compose().runtime)
    return QUICK if quick else USUAL


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """One changing line on a terminal, plain lines elsewhere."""
    console = stderr()
    if not console.is_terminal:
        yield console.print
        return
    with console.status("starting") as status:
        yield status.update


def show(result: dict[str, Any], json: bool) -> None:
    """The whole result as JSON, or its tables."""
    from gpcnoise_cli.bench.tables import (
        aims_table,
        classifiers_table,
        command_table,
        grid_table,
        growth_table,
        machine_line,
        memory_table,
        quality_table,
        slowest_cells_table,
        steps_table,
    )

    if json:
        emit_json(result)
        return
    say(machine_line(result["machine"]))
    tables = [steps_table(record) for record in result.get("steps", ())]
    if "steps" in result:
        tables.append(aims_table(result["steps"]))
    if "growth" in result:
        tables.append(growth_table(result["growth"]["points"]))
    if "quality" in result:
        tables.append(quality_table(result["quality"].values()))
    if "classifiers" in result:
        tables.append(classifiers_table(result["classifiers"]))
    if "command" in result:
        tables.append(command_table(result["command"]))
    if "grid" in result:
        tables += [grid_table([result["grid"]]), slowest_cells_table(result["grid"])]
    if "memory" in result:
        tables.append(memory_table(result["memory"]))
    for table in tables:
        print_table(table.columns, table.rows, title=table.title)
