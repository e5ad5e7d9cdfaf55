"""The registered sets: which there are, getting them, checking them, looking at them, handing them on."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.console import emit_json, print_table, say
from gpcnoise_cli.cli.data.download_bar import download_bar
from gpcnoise_cli.cli.data.shared import (
    ArchiveNames,
    Force,
    Name,
    OwnFile,
    Protocol,
    Source,
    SplitNumber,
    Target,
    app,
    check_names,
)
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.data.registry import ARCHIVE_URL, get_spec
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    from gpcnoise_cli.data.intake import Intake
    from gpcnoise_cli.data.split import Split


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
    asked = check_names(names)
    with download_bar() as progress:
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

    found = verify_sets(check_names(names))
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
