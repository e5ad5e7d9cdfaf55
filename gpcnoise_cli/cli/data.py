"""`gpcnoise data`: which sets there are, getting them, checking them, looking at them, handing them on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.columns import Encoding, Separator
from gpcnoise_cli.cli.console import emit_json, print_table, say, stderr
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.data.registry import ARCHIVE_URL, DATASETS, MISSING_POLICIES, PROTOCOLS, SOURCES, UCI_NAMES, get_spec
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    from gpcnoise_cli.data.audit import Audit
    from gpcnoise_cli.data.fetch import Progress
    from gpcnoise_cli.data.intake import Intake
    from gpcnoise_cli.data.split import Split

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


def _choice(choices: tuple[str, ...]) -> Any:
    return lambda incomplete: [name for name in choices if name.startswith(incomplete)]


Name = Annotated[str, typer.Argument(help="A registered set, or `file`.", autocompletion=_any_set, metavar="NAME")]
ArchiveNames = Annotated[
    list[str] | None,
    typer.Argument(help="Sets of the archive.", autocompletion=_archive_set, metavar="[NAME]...", show_default=False),
]
Protocol = Annotated[str, typer.Option(help="clean or paper.", autocompletion=_choice(PROTOCOLS), metavar="NAME")]
SplitNumber = Annotated[int, typer.Option("--split", help="Which random train/test split.", metavar="K")]
Source = Annotated[
    str,
    typer.Option(help=f"Where to read from: {', '.join(SOURCES)}.", autocompletion=_choice(SOURCES), metavar="NAME"),
]
OwnFile = Annotated[str | None, typer.Option("--data", help="Your own file, for NAME `file`.", metavar="FILE")]
Target = Annotated[str | None, typer.Option(help="The class column of --data.", metavar="COLUMN")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


def _check_names(names: list[str] | None) -> tuple[str, ...]:
    return tuple(get_spec(name).name for name in names or ())


@app.command("list")
def list_command(json: Json = False) -> None:
    """List the data sets with their sizes, and which are here. Example: gpcnoise data list"""
    from gpcnoise_cli.data.folder import data_dir
    from gpcnoise_cli.data.inventory import entry_facts, list_sets

    entries = list_sets()
    if json:
        emit_json({"data_dir": str(data_dir()), "datasets": [entry_facts(entry) for entry in entries]})
        return
    say(f"data folder: {data_dir()}")
    columns = ("name", "state", "n", "d", "d (paper)", "classes", "MB")
    rows = [
        (s.name, e.state, s.n, s.d, s.d_paper, s.num_classes, round(e.num_bytes / 1e6, 1) if e.num_bytes else None)
        for e in entries
        for s in (e.spec,)
    ]
    print_table(columns, rows)
    absent = [entry.spec for entry in entries if entry.state == "absent"]
    archived = [spec.name for spec in absent if spec.kind == "uci"]
    if archived:
        get = f"gpcnoise data fetch {' '.join(archived) if len(archived) < 5 else '--all'}"
        say(f"not here: {', '.join(archived)}; get them with: {get} (or: gpcnoise data import FOLDER_OR_TAR)")
    for spec in absent:
        if spec.kind != "uci":
            say(f"not here: {spec.name}; get it with: {spec.how_to_get}")


@app.command()
def fetch(
    names: ArchiveNames = None,
    all_sets: Annotated[bool, typer.Option("--all", help="All 19 sets of the archive.")] = False,
    url: Annotated[str, typer.Option(help="A mirror of the archive.", metavar="URL")] = ARCHIVE_URL,
    force: Force = False,
    json: Json = False,
) -> None:
    """Download the archive (195 MB) and take sets out of it. Example: gpcnoise data fetch magic letter"""
    from gpcnoise_cli.data.fetch import fetch_sets

    if bool(names) == all_sets:
        raise UsageError("name the sets to fetch, or give --all for all 19 of the archive.")
    asked = _check_names(names)
    with _download_bar() as progress:
        intake = fetch_sets(asked, url=url, force=force, progress=progress)
    _report_intake(intake, json)


@app.command("import")
def import_command(
    source: Annotated[Path, typer.Argument(help="A folder, a tar archive or one data file.", metavar="DIR|FILE")],
    force: Force = False,
    json: Json = False,
) -> None:
    """Take files that you already have into the data folder. Example: gpcnoise data import data.tar.gz"""
    from gpcnoise_cli.data.intake import take_in

    _report_intake(take_in(source, force=force), json)


def _report_intake(intake: Intake, json: bool) -> None:
    from gpcnoise_cli.data.folder import data_dir

    if json:
        emit_json({"data_dir": str(data_dir()), **asdict(intake)})
        return
    rows = [(place, "taken") for place in intake.taken] + [(place, "already here") for place in intake.already]
    print_table(("file", "state"), [(place, state + _unknown(place, intake)) for place, state in sorted(rows)])


def _unknown(place: str, intake: Intake) -> str:
    return ", no known sha256" if place in intake.unverified else ""


@app.command()
def verify(names: ArchiveNames = None, json: Json = False) -> None:
    """Check the archive's files against their sha256. Example: gpcnoise data verify"""
    from gpcnoise_cli.data.verify import verify_sets

    found = verify_sets(_check_names(names))
    count = {
        status: sum(one.status == status for one in found) for status in ("correct", "unverified", "wrong", "absent")
    }
    if json:
        emit_json({"sets": [asdict(one) for one in found], **count})
    else:
        print_table(("set", "status", "detail"), [(one.dataset, one.status, one.detail) for one in found])
        others = "".join(f", {number} {status}" for status, number in list(count.items())[1:] if number)
        say(f"{count['correct']} of {len(found)} present and correct{others}.")
    if count["wrong"]:
        raise typer.Exit(1)


@app.command()
def show(
    name: Name,
    protocol: Protocol = "clean",
    split: SplitNumber = 0,
    source: Source = "auto",
    data: OwnFile = None,
    target: Target = None,
    json: Json = False,
) -> None:
    """Shape, class balance, scaling and citation of a set. Example: gpcnoise data show magic --protocol paper"""
    from gpcnoise_cli.data.inventory import Entry, entry_facts, peak_memory_mb, split_facts, state_of

    spec = get_spec(name)
    known = entry_facts(Entry(spec, state_of(spec), 0))
    del known["bytes"]
    loaded = known["state"] != "absent" or source != "auto"
    facts: dict[str, Any] = {}
    if loaded:
        start = time.perf_counter()
        facts = split_facts(_load(name, protocol, split, source, data, target))
        facts |= {"load_seconds": round(time.perf_counter() - start, 2), "peak_memory_mb": peak_memory_mb()}
    if json:
        emit_json({**known, "loaded": facts or None})
        return
    lines = [(key, value) for key, value in known.items() if value is not None]
    keys = ("protocol", "split", "read_from", "n_train", "n_test", "d", "dtype", "load_seconds", "peak_memory_mb")
    lines += [(f"{key} (loaded)" if key == "d" else key, facts[key]) for key in keys if facts]
    print_table(("fact", "value"), [(key, str(value)) for key, value in lines])
    if not facts:
        say(f"{name} is not here; get it with: {spec.how_to_get}")
        return
    balance = [(str(one["class"]), one["train"], one["test"], one["percent"]) for one in facts["balance"]]
    print_table(("class", "train", "test", "%"), balance, title="\nclass balance")
    scaling = zip(facts["features"], facts["scaling"]["mean"], facts["scaling"]["scale"], strict=True)
    rows = [(feature, float(f"{mean:.6g}"), float(f"{scale:.6g}")) for feature, mean, scale in scaling]
    print_table(("feature", "mean", "scale"), rows, title="\nscaling: (x - mean) / scale")


def _load(name: str, protocol: str, split: int, source: str, data: str | None, target: str | None) -> Split:
    from gpcnoise_cli.data import load_split

    return load_split(name, protocol=protocol, split=split, source=source, path=data, target=target)


@app.command()
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="The file to write.", metavar="FILE.npz")],
    protocol: Protocol = "clean",
    split: SplitNumber = 0,
    source: Source = "auto",
    data: OwnFile = None,
    target: Target = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a split as an npz file. Example: gpcnoise data export magic --protocol paper --split 3 --out magic.npz"""
    from gpcnoise_cli.data.export import check_target, export_split
    from gpcnoise_cli.data.inventory import split_facts

    get_spec(name)
    check_target(out, force=force)
    loaded = _load(name, protocol, split, source, data, target)
    export_split(loaded, out, force=force)
    if json:
        facts = split_facts(loaded)
        kept = ("dataset", "protocol", "split", "read_from", "n_train", "n_test", "d", "classes", "dtype")
        emit_json({"out": str(out), **{key: facts[key] for key in kept}})
        return
    rows = [(array, " × ".join(map(str, values.shape)), str(values.dtype)) for array, values in _arrays(loaded)]
    print_table(("array", "shape", "dtype"), rows)
    say(f"wrote {out} ({name}, protocol {protocol}, split {split}, read from {loaded.source}).")


def _arrays(split: Split) -> list[tuple[str, Any]]:
    return [(array, getattr(split, array)) for array in ("X_train", "y_train", "X_test", "y_test")]


@app.command()
def describe(
    file: Annotated[str, typer.Argument(help="Your own table; - is standard input.", metavar="FILE")],
    target: Annotated[str, typer.Option(help="The column that holds the class.", metavar="COLUMN")],
    treat: Annotated[
        list[str] | None,
        typer.Option(help="Take a column as number, category or date, or ignore it.", metavar="COLUMN=KIND"),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Leave a column out.", metavar="COLUMN")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Carry a column into predictions.", metavar="COLUMN")] = None,
    columns: Annotated[str | None, typer.Option(help="Lines `COLUMN: KIND`.", metavar="FILE.yaml")] = None,
    missing: Annotated[
        str,
        typer.Option(
            help="Missing values: impute or refuse.", autocompletion=_choice(MISSING_POLICIES), metavar="POLICY"
        ),
    ] = "impute",
    na_values: Annotated[
        list[str] | None,
        typer.Option(help="A text that means missing, in place of NA, null, None, …", metavar="TEXT"),
    ] = None,
    sep: Separator = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """What each column of your own table is taken for, without training. The options are those of `train`.

    Example: gpcnoise data describe customers.csv --target churned
    """
    from gpcnoise_cli.config.compose import compose
    from gpcnoise_cli.config.options import overrides_for
    from gpcnoise_cli.data.description import HEADINGS, describe_file, table_rows
    from gpcnoise_cli.data.treatment import Treatment

    said = {"treat": treat, "drop": drop, "keep": keep, "columns": columns, "missing": missing, "na_values": na_values}
    asked = overrides_for({"data": file, "target": target, **said, "sep": sep, "encoding": encoding})
    dataset = compose(asked).dataset  # checks them as `train` does
    treatment = Treatment(**{key: getattr(dataset, key) for key in (*said, "sep", "encoding")})
    found = describe_file(file, target, treatment)
    if json:
        emit_json({"file": file, **found.facts()})
        return
    print_table(HEADINGS, table_rows(found.findings))
    print_table(("class", "rows"), [(str(name), count) for name, count in found.classes.items()], title="\nclasses")
    for note in found.notes:
        say(note)


@app.command()
def audit(
    names: ArchiveNames = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Your own table instead; needs --target.", metavar="FILE")
    ] = None,
    target: Target = None,
    sep: Separator = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """How well the row number alone predicts the class. Example: gpcnoise data audit magic chess-krvk

    Of your own table, the order of its rows and each column that looks like a row number or an identifier:
    gpcnoise data audit --data customers.csv --target churned
    """
    from gpcnoise_cli.data.audit import LEAK_POINTS, NUM_NEIGHBOURS, NUM_SPLITS, WEAK_POINTS, audit_sets

    if data is None and target is None:
        audits = audit_sets(_check_names(names))
    elif data is None or target is None:
        raise UsageError("--data FILE and --target COLUMN belong together; give both.")
    elif names:
        raise UsageError(f"audit either sets of the archive ({', '.join(names)}) or --data {data}, not both.")
    else:
        audits = _audit_file(data, target, sep, encoding)
    if json:
        settings = {"neighbours": NUM_NEIGHBOURS, "splits": NUM_SPLITS, "leak": LEAK_POINTS, "weak": WEAK_POINTS}
        emit_json({**settings, "sets": [{**asdict(one), "gain": one.gain} for one in audits]})
        return
    rows = [(a.dataset, a.source, _percent(a.vote), _percent(a.majority), _percent(a.gain), a.verdict) for a in audits]
    what = "set" if data is None else "column"
    print_table((what, "read from", "row number %", "largest class %", "gain", "verdict"), rows)
    say(
        f"row number %: accuracy of the vote of the {NUM_NEIGHBOURS} nearest training rows by number alone, mean of "
        f"{NUM_SPLITS} splits; leak: {LEAK_POINTS:g} points or more above the largest class, "
        f"weak: {WEAK_POINTS:g} or more."
    )


def _audit_file(data: str, target: str, sep: str | None, encoding: str | None) -> list[Audit]:
    from gpcnoise_cli.data.file_audit import audit_file
    from gpcnoise_cli.data.treatment import Treatment

    return audit_file(data, target, Treatment(sep=sep, encoding=encoding))


def _percent(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


class _Bar:
    """rich's progress bar in the form pooch asks for."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("archive", total=None)
        self._total = 0

    @property
    def total(self) -> int:
        return self._total

    @total.setter
    def total(self, size: int) -> None:
        self._total = size
        self._progress.update(self._task, total=size or None)

    def update(self, size: int) -> None:
        self._progress.update(self._task, advance=size)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.stop()


@contextmanager
def _download_bar() -> Iterator[Progress | None]:
    """A progress bar on a terminal; elsewhere none."""
    console = stderr()
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress)
