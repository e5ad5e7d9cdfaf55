"""`gpcnoise config`: what a training command would run with, or what there is to choose from."""

from __future__ import annotations

import dataclasses
import sys
from typing import Annotated

import typer

from gpcnoise_cli.cli.console import emit_json, print_table
from gpcnoise_cli.cli.options import Json, with_train_options
from gpcnoise_cli.config.groups import GROUPS, choices


@with_train_options
def config(
    overrides: list[str],
    list_groups: Annotated[bool, typer.Option("--list", help="List the groups and their choices instead.")] = False,
    json: Json = False,
) -> None:
    """Print the configuration that the same options and overrides give `gpcnoise train`."""
    if list_groups:
        groups = {group: choices(group) for group in GROUPS}
        if json:
            emit_json(groups)
        else:
            print_table(("group", "choices"), [(group, ", ".join(names)) for group, names in groups.items()])
        return

    from gpcnoise_cli.config.compose import compose, to_yaml

    composed = compose(overrides)
    if json:
        emit_json(dataclasses.asdict(composed))
    else:
        sys.stdout.write(to_yaml(composed))
