"""The options that describe a training run, declared once for every command that trains.

The signature of `collect_overrides` is the declaration: `@with_train_options` copies its parameters into the signature
Typer sees and hands the command the resulting list of Hydra overrides. Names and numbers are plain strings that the
configuration checks, so that a wrong one is answered in one sentence, with the nearest right ones.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from gpcnoise_cli.config.groups import choices
from gpcnoise_cli.config.quoting import Scalar, assign
from gpcnoise_cli.errors import UsageError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]

_DATA = "Data"
_MODEL = "Model"
_TRAINING = "Training"
_RUN = "Run"


def _group(group: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in choices(group) if name.startswith(incomplete)]

    return complete


def _values(key: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        from gpcnoise_cli.config.validate import allowed

        return [name for name in allowed(key) if name.startswith(incomplete)]

    return complete


def _option(*names: str, help: str, panel: str, complete: Callable[[str], list[str]] | None = None, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, autocompletion=complete, **more)


def collect_overrides(
    dataset: Annotated[
        str | None,
        _option(
            "--dataset",
            help="A registered data set (`gpcnoise data list`). Default: waveform-noise, generated, no download.",
            panel=_DATA,
            complete=_group("dataset"),
            metavar="NAME",
        ),
    ] = None,
    data: Annotated[
        str | None,
        _option("--data", help="Your own CSV, TSV or Parquet file; needs --target.", panel=_DATA, metavar="FILE"),
    ] = None,
    target: Annotated[
        str | None,
        _option("--target", help="The column of --data that holds the class.", panel=_DATA, metavar="COLUMN"),
    ] = None,
    protocol: Annotated[
        str | None,
        _option(
            "--protocol",
            help="clean, or paper (row number as a feature, scaling over all rows). Default: clean.",
            panel=_DATA,
            complete=_values("protocol"),
            metavar="NAME",
        ),
    ] = None,
    split: Annotated[
        str | None, _option("--split", help="Which random train/test split. Default: 0.", panel=_DATA, metavar="K")
    ] = None,
    likelihood: Annotated[
        str | None,
        _option(
            "--likelihood",
            help="step, probit, logit or softmax. Default: softmax.",
            panel=_MODEL,
            complete=_group("likelihood"),
            metavar="NAME",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        _option(
            "--kernel",
            help="rbf, matern32, matern52 or matern52+rbf. Default: rbf.",
            panel=_MODEL,
            complete=_group("kernel"),
            metavar="NAME",
        ),
    ] = None,
    ard: Annotated[
        bool | None,
        _option("--ard/--no-ard", help="One lengthscale per feature, or one for all. Default: ard.", panel=_MODEL),
    ] = None,
    kernel_per_class: Annotated[
        bool | None,
        _option(
            "--kernel-per-class/--shared-kernel",
            help="A kernel of its own for each class, or one for all. Default: by preset.",
            panel=_MODEL,
        ),
    ] = None,
    inducing: Annotated[
        str | None,
        _option("--inducing", "-m", help="Number of inducing points. Default: 300.", panel=_MODEL, metavar="M"),
    ] = None,
    delta: Annotated[
        str | None,
        _option(
            "--delta",
            help="How the label noise δ is set: free, fixed or optimal. Default: by preset.",
            panel=_MODEL,
            complete=_group("delta"),
            metavar="MODE",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        _option(
            "--objective",
            help="elbo, or predictive: the log density of the labels, no bound on the evidence. Default: elbo.",
            panel=_TRAINING,
            complete=_values("objective"),
            metavar="NAME",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        _option(
            "--preset",
            help="fast, or paper (its settings to the letter, 10000 steps). Default: fast.",
            panel=_TRAINING,
            complete=_group("experiment"),
            metavar="NAME",
        ),
    ] = None,
    batch_size: Annotated[
        str | None, _option("--batch-size", help="Rows per minibatch. Default: 1024.", panel=_TRAINING, metavar="ROWS")
    ] = None,
    iterations: Annotated[
        str | None,
        _option("--iterations", help="Number of steps. Default: by preset.", panel=_TRAINING, metavar="STEPS"),
    ] = None,
    learning_rate: Annotated[
        str | None, _option("--learning-rate", help="Adam's rate. Default: by preset.", panel=_TRAINING, metavar="RATE")
    ] = None,
    seed: Annotated[
        str | None,
        _option(
            "--seed", help="Seed of everything random but the split. Default: 0.", panel=_TRAINING, metavar="NUMBER"
        ),
    ] = None,
    precision: Annotated[
        str | None,
        _option(
            "--precision",
            help="mixed, float64 or float32. Default: mixed.",
            panel=_RUN,
            complete=_values("runtime.precision"),
            metavar="NAME",
        ),
    ] = None,
    device: Annotated[
        str | None,
        _option(
            "--device",
            help="auto, cpu or gpu. Default: auto.",
            panel=_RUN,
            complete=_values("runtime.device"),
            metavar="NAME",
        ),
    ] = None,
    out: Annotated[
        str | None, _option("--out", help="The run folder. Default: a new one in runs/.", panel=_RUN, metavar="DIR")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="Hydra overrides, such as optimizer.learning_rate=0.005; they beat options. See `gpcnoise config`.",
            show_default=False,
        ),
    ] = None,
) -> list[str]:
    """The Hydra overrides that the options stand for, followed by the raw ones."""
    if data is not None:
        if dataset not in (None, "file"):
            raise UsageError(f"--data and --dataset {dataset} name two data sets; give one of them.")
        if target is None:
            raise UsageError("--data needs --target COLUMN: the column that holds the class.")
        dataset = "file"
    elif target is not None and dataset != "file":
        raise UsageError(f"--target {target!r} needs --data FILE: registered data sets know their class column.")
    asked: dict[str, Scalar | None] = {
        "experiment": preset,
        "dataset": dataset,
        "dataset.path": data,
        "dataset.target": target,
        "likelihood": likelihood,
        "kernel": kernel,
        "kernel.ard": ard,
        "kernel.shared": None if kernel_per_class is None else not kernel_per_class,
        "delta": delta,
        "objective": objective,
        "inducing": inducing,
        "batch_size": batch_size,
        "iterations": iterations,
        "optimizer.learning_rate": learning_rate,
        "runtime.precision": precision,
        "runtime.device": device,
        "protocol": protocol,
        "split": split,
        "seed": seed,
        "out": out,
    }
    return [assign(key, value) for key, value in asked.items() if value is not None] + list(overrides or ())


def with_train_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give `command(overrides: list[str], ...)` all training options; its other parameters stay its own.

    A parameter of its own with the name of a training option would hide that option, so it is refused.
    """
    shared = inspect.signature(collect_overrides, eval_str=True).parameters
    own = dict(inspect.signature(command, eval_str=True).parameters)
    own.pop("overrides")
    if own.keys() & shared.keys():
        raise TypeError(f"{command.__name__} declares training options again: {sorted(own.keys() & shared.keys())}")

    @functools.wraps(command)
    def with_overrides(**given: Any) -> Any:
        options = {name: given.pop(name) for name in shared if name in given}
        return command(overrides=collect_overrides(**options), **given)

    parameters = [*shared.values(), *own.values()]
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    with_overrides.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_overrides.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_overrides
