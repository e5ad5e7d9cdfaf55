"""The group of commands, and the options that several of them have."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gpcnoise_cli.data.registry import DATASETS, PROTOCOLS, SOURCES, UCI_NAMES, get_spec

app = typer.Typer(
    name="data",
    help="List, get, check, inspect and export data sets; look at your own table.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)


def _any_set(incomplete: str) -> list[str]:
    return [name for name in DATASETS if name.startswith(incomplete)]


def _archive_set(incomplete: str) -> list[str]:
    return [name for name in UCI_NAMES if name.startswith(incomplete)]


def starting_with(choices: tuple[str, ...]) -> Any:
    return lambda incomplete: [name for name in choices if name.startswith(incomplete)]


Name = Annotated[str, typer.Argument(help="A registered set, or `file`.", autocompletion=_any_set, metavar="NAME")]
ArchiveNames = Annotated[
    list[str] | None,
    typer.Argument(help="Sets of the archive.", autocompletion=_archive_set, metavar="[NAME]...", show_default=False),
]
Protocol = Annotated[str, typer.Option(help="clean or paper.", autocompletion=starting_with(PROTOCOLS), metavar="NAME")]
SplitNumber = Annotated[int, typer.Option("--split", help="Which random train/test split.", metavar="K")]
Source = Annotated[
    str,
    typer.Option(
        help=f"Where to read from: {', '.join(SOURCES)}.", autocompletion=starting_with(SOURCES), metavar="NAME"
    ),
]
OwnFile = Annotated[str | None, typer.Option("--data", help="Your own file, for NAME `file`.", metavar="FILE")]
Target = Annotated[str | None, typer.Option(help="The class column of --data.", metavar="COLUMN")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


def check_names(names: list[str] | None) -> tuple[str, ...]:
    return tuple(get_spec(name).name for name in names or ())
