"""`gpcnoise reproduce toy|errors|noise|delta|airline|capabilities|bounds|all`: the paper's figures, one command each.

Every verb computes an experiment, draws it, writes pictures and numbers, and says what they show. What is trained is
kept in a work folder, so that a second call trains nothing and an interrupted one continues.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.console import emit_json, print_table, say
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.figures import settings as published
from gpcnoise_cli.figures.settings import Settings

if TYPE_CHECKING:
    from gpcnoise_cli.figures.catalogue import Experiment
    from gpcnoise_cli.figures.drawings.publish import Published
    from gpcnoise_cli.figures.runs import Runs
    from gpcnoise_cli.training.events import TrainingEvents

FIGURES = Path("results") / "figures"
WORK = ".work"
INDEX = "index.md"


def _number(default: int | None, what: str, name: str, short: str | None = None) -> Any:
    shown = f"{default:,}" if default is not None else "the preset's"
    names = (name, short) if short else (name,)
    return typer.Option(*names, min=1, help=f"{what} Default: {shown}.", metavar="N", show_default=False)


def _names(default: tuple[str, ...], what: str, name: str) -> Any:
    return typer.Option(
        name, help=f"{what}, between commas. Default: {', '.join(default)}.", metavar="NAMES", show_default=False
    )


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

_toy, _noise, _delta = published.ToySettings(), published.NoiseSettings(), published.DeltaSettings()
_airline, _bounds = published.AirlineSettings(), published.BoundsSettings()


def toy(
    iterations: Annotated[int | None, _number(_toy.iterations, "Adam iterations.", "--iterations")] = None,
    inducing: Annotated[int | None, _number(_toy.inducing, "Inducing points.", "--inducing", "-m")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Decision boundaries and inducing points on two toys (Fig. 2).

    Example: gpcnoise reproduce toy
    """
    _show(_one("toy", published.ToySettings, out, iterations=iterations, inducing=inducing), json)


def errors(out: Out = None, json: Json = False) -> None:
    """The error distributions, their Gaussian approximations, and the best noise variance a* (Fig. 5).

    Example: gpcnoise reproduce errors
    """
    _show(_one("errors", published.ErrorsSettings, out), json)


def noise(
    iterations: Annotated[int | None, _number(_noise.iterations, "Iterations on the toys.", "--iterations")] = None,
    inducing: Annotated[
        int | None, _number(_noise.inducing, "Inducing points on the toys.", "--inducing", "-m")
    ] = None,
    sets: Annotated[str | None, _names(_noise.sets, "Larger sets besides the toys", "--sets")] = None,
    set_iterations: Annotated[
        int | None, _number(_noise.set_iterations, "Iterations on the larger sets.", "--set-iterations")
    ] = None,
    set_inducing: Annotated[
        int | None, _number(_noise.set_inducing, "Inducing points on the larger sets.", "--set-inducing")
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Whether the noise variance a could be learned: the bound and its derivative in a (App. B).

    Example: gpcnoise reproduce noise
    """
    asked = {"iterations": iterations, "inducing": inducing, "sets": _split(sets, "set")}
    more = {"set_iterations": set_iterations, "set_inducing": set_inducing}
    _show(_one("noise", published.NoiseSettings, out, **asked, **more), json)


def delta(
    iterations: Annotated[int | None, _number(_delta.iterations, "Adam iterations.", "--iterations")] = None,
    inducing: Annotated[int | None, _number(_delta.inducing, "Inducing points.", "--inducing", "-m")] = None,
    methods: Annotated[str | None, _names(_delta.methods, "Likelihoods", "--methods")] = None,
    sets: Annotated[str | None, _names(_delta.sets, "Data sets", "--sets")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Fixed, free and optimal δ: accuracy and nll along training, and what q(f) becomes (Fig. 4).

    Example: gpcnoise reproduce delta --methods step
    """
    asked = {"methods": _likelihoods(methods, published.GAUSSIAN_METHODS), "sets": _split(sets, "set")}
    _show(_one("delta", published.DeltaSettings, out, iterations=iterations, inducing=inducing, **asked), json)


def airline(
    iterations: Annotated[
        int | None, _number(_airline.iterations, "Adam iterations (the paper: 100,000).", "--iterations")
    ] = None,
    inducing: Annotated[int | None, _number(_airline.inducing, "Inducing points.", "--inducing", "-m")] = None,
    methods: Annotated[str | None, _names(_airline.methods, "Likelihoods", "--methods")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Accuracy and nll along training on two million flights (Fig. 3), with step time and peak memory.

    Example: gpcnoise reproduce airline --iterations 2000
    """
    asked = {"methods": _likelihoods(methods, published.METHODS)}
    _show(_one("airline", published.AirlineSettings, out, iterations=iterations, inducing=inducing, **asked), json)


def capabilities(out: Out = None, json: Json = False) -> None:
    """Which likelihoods scalable GP classifiers handle, and what this program adds (Table I).

    Example: gpcnoise reproduce capabilities
    """
    _show(_one("capabilities", published.CapabilitiesSettings, out), json)


def bounds(
    sets: Annotated[str | None, _names(_bounds.sets, "Sets to train on with either bound", "--sets")] = None,
    curves_only: Annotated[bool, typer.Option("--curves-only", help="Train nothing: only the bounds as such.")] = False,
    iterations: Annotated[int | None, _number(_bounds.iterations, "Iterations on each set.", "--iterations")] = None,
    inducing: Annotated[int | None, _number(_bounds.inducing, "Inducing points.", "--inducing", "-m")] = None,
    splits: Annotated[int | None, _number(_bounds.splits, "Random splits of each set.", "--splits")] = None,
    points: Annotated[int | None, _number(_bounds.points, "Random marginals behind each curve.", "--points")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """How loose each bound is, the paper's softmax bound against the tilted one, and what that does on real sets.

    Example: gpcnoise reproduce bounds --curves-only
    """
    if curves_only and sets is not None:
        raise UsageError("--curves-only trains on no set; omit --sets.")
    asked = {"sets": () if curves_only else _split(sets, "set"), "splits": splits, "points": points}
    _show(_one("bounds", published.BoundsSettings, out, iterations=iterations, inducing=inducing, **asked), json)


def everything(
    only: Annotated[
        str | None, typer.Option("--only", help="Some of them, between commas. Default: all.", show_default=False)
    ] = None,
    iterations: Annotated[
        int | None, _number(None, "Iterations of every training, to shorten.", "--iterations")
    ] = None,
    inducing: Annotated[int | None, _number(None, "Inducing points of every model.", "--inducing", "-m")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """All figures in order, resumable; ends with an index of what was written.

    Example: gpcnoise reproduce all --only errors,toy
    """
    from gpcnoise_cli.figures.catalogue import EXPERIMENTS
    from gpcnoise_cli.figures.drawings.publish import read_published, write_index

    names = _split(only, "experiment") or tuple(EXPERIMENTS)
    _check_known("experiment", names, EXPERIMENTS)
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
    # What was left out this time but is there in full from before belongs in the index too.
    parts = [
        (experiment, outcomes.get(name) or read_published(experiment, base / name))
        for name, experiment in EXPERIMENTS.items()
    ]
    write_index(base / INDEX, [(experiment, part) for experiment, part in parts if part is not None])
    _show_all(outcomes, base / INDEX, json)
    if any(isinstance(outcome, str) for outcome in outcomes.values()):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Mount the verbs on `gpcnoise reproduce`."""
    for verb in (toy, errors, noise, delta, airline, capabilities, bounds):
        app.command()(verb)
    app.command("all")(everything)


def _one(name: str, kind: type[Settings], out: Path | None, **asked: Any) -> Published:
    """Compute and publish one experiment; what was not asked for keeps its published setting."""
    from gpcnoise_cli.figures.catalogue import EXPERIMENTS

    settings = kind(**{key: value for key, value in asked.items() if value is not None})
    folder = out or FIGURES / settings.folder_name(name)
    with _working((out or FIGURES) / WORK) as runs:
        return _published(EXPERIMENTS[name], settings, folder, runs)


def _published(experiment: Experiment, settings: Settings, folder: Path, runs: Runs) -> Published:
    from gpcnoise_cli.figures.drawings.publish import publish

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


def _split(text: str | None, what: str) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError(f"no {what} is named in {text!r}; write names between commas.")
    if what == "set":
        from gpcnoise_cli.data.registry import get_spec

        for name in names:
            get_spec(name)
    return names


def _likelihoods(text: str | None, choices: tuple[str, ...]) -> tuple[str, ...] | None:
    names = _split(text, "likelihood")
    if names is not None:
        _check_known("likelihood", names, choices)
    return names


def _check_known(what: str, names: tuple[str, ...], choices: Any) -> None:
    from gpcnoise_cli.errors import unknown_choice

    for name in names:
        if name not in choices:
            raise unknown_choice(what, name, choices)
