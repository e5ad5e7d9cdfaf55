"""The options that describe a training run, for every command that trains: the table of `config.options` for Typer.

`@with_train_options` adds them to the signature that Typer sees and hands the command the resulting list of Hydra
overrides.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from gpcnoise_cli.config.options import OF_TRAIN, Option, overrides_for

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]

_RAW = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Hydra overrides, such as optimizer.learning_rate=0.005; they beat options. See `gpcnoise config`.",
        show_default=False,
    ),
]


def with_train_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give `command(overrides: list[str], ...)` all training options; its other parameters stay its own.

    A parameter of its own with the name of a training option would hide that option, so it is refused.
    """
    annotations = {option.name: _annotation(option) for option in OF_TRAIN}
    own = dict(inspect.signature(command, eval_str=True).parameters)
    own.pop("overrides")
    if own.keys() & annotations.keys():
        raise TypeError(
            f"{command.__name__} declares training options again: {sorted(own.keys() & annotations.keys())}"
        )

    @functools.wraps(command)
    def with_overrides(overrides: list[str] | None = None, **given: Any) -> Any:
        options = {name: given.pop(name) for name in annotations if name in given}
        return command(overrides=overrides_for(options, overrides or ()), **given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=None, annotation=annotation)
        for name, annotation in {**annotations, "overrides": _RAW}.items()
    ]
    parameters += [parameter.replace(kind=keyword) for parameter in own.values()]
    with_overrides.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_overrides.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_overrides


def _annotation(option: Option) -> Any:
    declared = typer.Option(
        *option.flags,
        help=option.help,
        rich_help_panel=option.panel,
        metavar=option.metavar,
        autocompletion=_completion(option) if option.values() else None,
    )
    if option.repeated:
        return Annotated[list[str] | None, declared]
    return Annotated[bool | None if option.metavar is None else str | None, declared]


def _completion(option: Option) -> Callable[[str], list[str]]:
    return lambda incomplete: sorted(name for name in option.values() if name.startswith(incomplete))
