"""`gpcnoise reproduce NAME` for every figure of the catalogue, and `gpcnoise reproduce all`.

Every verb computes a figure, draws it, writes pictures and numbers, and says what they show. Its options are the fields
of the figure's settings. What is trained is kept in a work folder, so that a second call trains nothing and an
interrupted one continues.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from gpcnoise_cli.cli.console import emit_json, print_table, say
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.errors import GpcnoiseError, UsageError, unknown_choice

if TYPE_CHECKING:
    from gpcnoise_cli.figures.experiment import Experiment, Option, Settings
    from gpcnoise_cli.figures.publish import Published
    from gpcnoise_cli.figures.runs import Runs
    from gpcnoise_cli.training.events import TrainingEvents

FIGURES = Path("results") / "figures"
WORK = ".work"
INDEX = "index.md"

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="The folder to write to. Default: a folder of the figure's name in results/figures; settings other than "
        "the full ones are part of the name.",
        metavar="DIR",
        show_default=False,
    ),
]


class FigureGroup(TyperGroup):
    """A group with a command for every figure, made when one is asked for: other commands need not wait for NumPy."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self.commands.update(_commands())
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        self.commands.update(_commands())
        return super().list_commands(ctx)


@functools.cache
def _commands() -> Mapping[str, Any]:
    from gpcnoise_cli.figures.catalogue import EXPERIMENTS

    app = typer.Typer()
    for experiment in EXPERIMENTS.values():
        app.command(experiment.name)(_command(experiment))
    app.command("all")(everything)
    group: Any = typer.main.get_command(app)
    commands: Mapping[str, Any] = group.commands
    return commands


def _command(experiment: Experiment) -> Callable[..., None]:
    """The function that Typer turns into the command of a figure."""

    def command(out: Path | None, json: bool, **given: Any) -> None:
        settings = _settings(experiment.settings, given)
        folder = out or FIGURES / settings.folder_name(experiment.name)
        with _working((out or FIGURES) / WORK) as runs:
            done = _published(experiment, settings, folder, runs)
        if out is None and (FIGURES / INDEX).exists():
            _write_index(FIGURES, {})
        _show(done, json)

    annotations: dict[str, Any] = {}
    for name, option in experiment.settings.options().items():
        annotations |= _parameters(name, option)
    annotations |= {"out": Out, "json": Json}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(kind), annotation=kind)
            for name, kind in annotations.items()
        ]
    )
    command.__annotations__ = annotations
    example = f"gpcnoise reproduce {experiment.name} {experiment.example}".strip()
    command.__doc__ = f"{experiment.shows[0].upper()}{experiment.shows[1:]}.\n\nExample: {example}"
    return command


def _parameters(name: str, option: Option) -> dict[str, Any]:
    """What Typer needs to know of a setting; a setting that may be empty has a flag for that besides."""
    flag = f"--{name.replace('_', '-')}"
    if not option.what:
        return {name: Annotated[int | None, _number(option.help, flag, option.short)]}

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{choice}" for choice in option.choices if choice.startswith(last)]

    more: dict[str, Any] = {"metavar": "NAMES", "show_default": False, "autocompletion": complete}
    listed = {name: Annotated[str | None, typer.Option(flag, help=option.help, **more)]}
    if option.empty is None:
        return listed
    empty, help = option.empty
    return {**listed, _variable(empty): Annotated[bool, typer.Option(empty, help=help)]}


def _number(help: str, flag: str, short: str | None = None) -> Any:
    return typer.Option(flag, *([short] if short else []), min=1, help=help, metavar="N", show_default=False)


def _variable(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _default(annotation: Any) -> bool | None:
    return False if annotation.__origin__ is bool else None


def _settings(kind: type[Settings], given: Mapping[str, Any]) -> Settings:
    """What was not asked for keeps its published setting."""
    asked: dict[str, Any] = {}
    for name, option in kind.options().items():
        value = given[name]
        if option.empty and given[_variable(option.empty[0])]:
            if value is not None:
                raise UsageError(f"{option.empty[0]} leaves no {name} to choose from; omit --{name}.")
            asked[name] = ()
        elif value is not None:
            asked[name] = _split(value, option.what, option.choices) if option.what else value
    return kind(**asked)


def everything(
    only: Annotated[
        str | None, typer.Option("--only", help="Some of them, between commas. Default: all.", show_default=False)
    ] = None,
    iterations: Annotated[
        int | None, _number("Iterations of every training, to shorten. Default: the figure's.", "--iterations")
    ] = None,
    inducing: Annotated[
        int | None, _number("Inducing points of every model. Default: the figure's.", "--inducing", "-m")
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """All figures in order, resumable; ends with an index of what was written.

    Example: gpcnoise reproduce all --only errors,toy
    """
    from gpcnoise_cli.figures.catalogue import EXPERIMENTS

    names = tuple(EXPERIMENTS) if only is None else _split(only, "experiment", EXPERIMENTS)
    base = out or FIGURES
    outcomes: dict[str, Published | str] = {}
    with _working(base / WORK) as runs:
        for name in names:
            experiment = EXPERIMENTS[name]
            settings = _shortened(experiment.settings(), iterations, inducing)
            say(f"{name}: {experiment.shows}")
            try:
                outcomes[name] = _published(experiment, settings, base / settings.folder_name(name), runs)
            except GpcnoiseError as error:
                say(f"{name}: {error}")
                outcomes[name] = str(error)
    _write_index(base, outcomes)
    _show_all(outcomes, base / INDEX, json)
    if any(isinstance(outcome, str) for outcome in outcomes.values()):
        raise typer.Exit(1)


def _write_index(base: Path, outcomes: Mapping[str, Published | str]) -> None:
    """These, and what is there in full from before."""
    from gpcnoise_cli.figures.catalogue import EXPERIMENTS
    from gpcnoise_cli.figures.publish import read_published, write_index

    parts = [
        (experiment, outcomes.get(name) or read_published(experiment, base / name))
        for name, experiment in EXPERIMENTS.items()
    ]
    write_index(base / INDEX, [(experiment, part) for experiment, part in parts if part is not None])


def _published(experiment: Experiment, settings: Settings, folder: Path, runs: Runs) -> Published:
    from gpcnoise_cli.figures.publish import publish

    return publish(experiment, settings, experiment.compute(settings, runs), folder)


@contextmanager
def _working(folder: Path) -> Iterator[Runs]:
    """Runs under `folder`, shown while they last; a signal ends them at a checkpoint and the command with code 130."""
    from gpcnoise_cli.cli.interruption import stop_on_signal

    with stop_on_signal() as stop_requested:
        from gpcnoise_cli.figures.runs import Runs, Stopped

        try:
            yield Runs(folder, listen=_listen, stop_requested=stop_requested)
        except Stopped as stop:
            say(f"{stop}; the same command continues there.")
            raise typer.Exit(130) from stop


@contextmanager
def _listen(label: str) -> Iterator[TrainingEvents]:
    from gpcnoise_cli.cli.progress import show_progress

    say(label)
    with show_progress() as events:
        yield events


def _shortened(settings: Settings, iterations: int | None, inducing: int | None) -> Settings:
    """`settings` with every number of iterations and of inducing points replaced where one is given."""
    import dataclasses

    wanted = {"iterations": iterations, "inducing": inducing}
    changes = {
        field.name: value
        for field in dataclasses.fields(settings)
        for ending, value in wanted.items()
        if field.name.endswith(ending) and value is not None
    }
    return dataclasses.replace(settings, **changes)


def _show(done: Published, json: bool) -> None:
    if json:
        emit_json(_as_json(done))
        return
    for finding in done.findings:
        typer.echo(finding)
    say("written: " + ", ".join(str(path) for path in done.files))


def _show_all(outcomes: dict[str, Published | str], index: Path, json: bool) -> None:
    done = [outcome for outcome in outcomes.values() if not isinstance(outcome, str)]
    failed = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, str)}
    if json:
        emit_json({"index": index, "done": [_as_json(one) for one in done], "failed": failed})
        return
    rows = [(one.name, len(one.files), str(one.folder), one.note or "full settings") for one in done]
    rows += [(name, 0, "–", f"failed: {reason}") for name, reason in failed.items()]
    print_table(("experiment", "files", "folder", "settings"), rows)
    say(f"index: {index}")


def _as_json(done: Published) -> dict[str, Any]:
    return {**done.summary, "findings": done.findings, "folder": done.folder, "files": [str(p) for p in done.files]}


def _split(text: str, what: str, choices: Collection[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError(f"no {what} is named in {text!r}; write names between commas.")
    for name in names:
        if name not in choices:
            raise unknown_choice(what, name, choices)
    return names
