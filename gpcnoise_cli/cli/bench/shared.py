"""What the verbs of `gpcnoise bench` share: options, progress, the machine they ran on, and how results are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.console import emit_json, say, stderr
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    from gpcnoise_cli.bench.gpytorch_client import Installation

app = typer.Typer()
SCRATCH, RESULTS = Path("runs/bench"), Path("results/bench")

Quick = Annotated[bool, typer.Option("--quick", help="Fewer and shorter rounds: a first impression.")]
Out = Annotated[Path, typer.Option("--out", help="The folder for numbers and plots.", metavar="DIR")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Measure again what is kept already.")]
Kept = Annotated[bool, typer.Option("--kept", help="Only show what is kept; measure nothing.")]


def check_out(out: Path) -> None:
    """Find out that numbers can be written before minutes or hours are spent on them."""
    from gpcnoise_cli.figures.files import check_folder

    check_folder(out)


def check_kept(kept: bool, fresh: bool) -> None:
    if kept and fresh:
        raise UsageError("--kept measures nothing and --fresh measures everything; choose one of them.")


def found_gpytorch() -> Installation | None:
    """The GPyTorch to compare with; says what a reader of the table should know about it."""
    from gpcnoise_cli.bench.gpytorch_client import HOW_TO_GET_IT, OLDEST_FAST, find_gpytorch

    gpytorch = find_gpytorch()
    if gpytorch is None:
        say(f"GPyTorch is not installed, so it is left out ({HOW_TO_GET_IT}).")
    elif gpytorch.is_older_than(OLDEST_FAST):
        say(
            f"GPyTorch {gpytorch.versions['gpytorch']} is older than {'.'.join(map(str, OLDEST_FAST))}, "
            f"from which on its variational strategy is faster; compare with a newer one ({HOW_TO_GET_IT})."
        )
    return gpytorch


def this_machine(gpytorch: Installation | None = None) -> dict[str, Any]:
    from gpcnoise_cli.bench.machine import describe_machine

    machine = describe_machine(gpytorch)
    if machine["busy"]:
        say(f"this machine is busy (load {machine['load_average']:.1f}): the times will be noisy.")
    return machine


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """One changing line on a terminal, plain lines elsewhere."""
    console = stderr()
    if not console.is_terminal:
        yield console.print
        return
    with console.status("starting") as status:
        yield status.update


def show(machine: Mapping[str, Any], found: Mapping[str, Any], json: bool) -> None:
    """The whole result as JSON, or its tables; `found` by the verb that measured it."""
    from gpcnoise_cli.bench.tables import bench_tables, machine_line
    from gpcnoise_cli.cli.tables import print_tables

    if json:
        emit_json({"machine": machine, **found})
        return
    say(machine_line(machine))
    print_tables([table for part, content in found.items() for table in bench_tables(part, content)])
