"""A folder of results as the content of the page: parts, comparisons, every cell, what failed, where it was made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.repeat import repeat_cell
from gpcnoise_cli.page.bench import BenchPart, read_bench
from gpcnoise_cli.page.claims_part import ClaimsPart, claims_part
from gpcnoise_cli.page.drawings import Spark, spark
from gpcnoise_cli.page.found import Failure, FoundCell, find, is_number, tell
from gpcnoise_cli.page.pictures import PictureGroup, read_pictures
from gpcnoise_cli.page.sweep_part import SweepPart, sweeps_of
from gpcnoise_cli.page.table_view import TableView, view_table, with_first
from gpcnoise_cli.page.uci_parts import MARKS, SETS, Part, Section, comparisons_of, parts_of
from gpcnoise_cli.tables.measured import label_of
from gpcnoise_cli.tables.table import NOT_COMPUTED, figure, optional_figure, table_of
from gpcnoise_cli.tables.uci_figures import labelled_likelihoods


@dataclass(frozen=True)
class CellLine:
    """One cell in the table of all cells."""

    record: Mapping[str, Any]
    path: str
    mark: str
    label: str
    spark: Spark | None
    command: str | None

    @property
    def likelihood(self) -> str:
        """Named beside the label where it says more than that: other methods have none."""
        return str(self.record.get("likelihood", "")) if self.label in labelled_likelihoods() else ""

    def number(self, key: str, digits: int) -> str:
        value = self.record.get(key)
        return f"{value:.{digits}f}" if is_number(value) else "–"

    def told(self, key: str) -> str:
        value = self.record.get(key)
        return "–" if value is None else str(value)

    @property
    def generated(self) -> bool:
        return self.record.get("source") == "generated"

    @property
    def departs(self) -> bool:
        return bool(self.record.get("departures"))


@dataclass(frozen=True)
class FailureLine:
    path: str
    reason: str
    attempts: str
    again: bool  # another attempt is worth it
    command: str | None


@dataclass(frozen=True)
class ResultsPage:
    name: str
    told: str
    parts: tuple[Part, ...]
    comparisons: tuple[Section, ...]
    cells: tuple[CellLine, ...]
    failures: tuple[FailureLine, ...]
    unreadable: tuple[tuple[str, str], ...]
    pictures: tuple[PictureGroup, ...]
    left_out: tuple[str, ...]
    bench: tuple[BenchPart, ...]
    claims: ClaimsPart | None
    sweeps: tuple[SweepPart, ...]

    trouble = ""

    @property
    def largest(self) -> Part | None:
        """The part that is open when the page is: the one with the most cells."""
        return max(self.parts, key=lambda part: len(part.records), default=None)

    def overview(self) -> TableView:
        """The grids, with links to their parts."""
        rows = [
            {
                "preset": part.preset,
                "protocol": part.place.protocol,
                "kernel": part.place.kernel,
                "cells": len(part.records),
                "sets": len(part.sets),
                "splits": part.splits or NOT_COMPUTED,
                "acc − paper": optional_figure(part.mean_difference("acc"), 2, sign=True),
                "nll − paper": optional_figure(part.mean_difference("nll"), 4, sign=True),
                "hours": figure(part.seconds / 3600, 1),
            }
            for part in self.parts
        ]
        note = (
            "acc − paper, nll − paper: the mean of our figure minus the published one over all sets and methods that "
            "have both (under protocol clean without the sets marked leak, whose published figures rest on the row "
            "number); acc in points, nll in nats."
        )
        table = table_of("overview-table", "The grids of the UCI benchmark that have results here", rows)
        marks = ["departs" if part.departs else "" for part in self.parts]
        links = [part.anchor for part in self.parts]
        return with_first(view_table(replace(table, notes=(note,))), marks, links)

    def environment(self) -> TableView:
        """On what kinds of machines and with which versions the cells were computed."""
        return view_table(
            table_of("environment-table", "Machines and versions behind the cells", _environments(self.cells))
        )

    @property
    def sets(self) -> int:
        return len({name for part in self.parts for name in part.sets})

    @property
    def datasets(self) -> int:
        return len({line.record["dataset"] for line in self.cells})

    @property
    def swept(self) -> list[str]:
        return list(dict.fromkeys(key for sweep in self.sweeps for key in sweep.keys))

    @property
    def all_sets(self) -> int:
        return len(SETS)

    @property
    def hours(self) -> float:
        return sum(float(line.record.get("train_seconds") or 0.0) for line in self.cells) / 3600

    @property
    def marked(self) -> bool:
        return any(line.mark for line in self.cells)


def results_page(folder: Path) -> ResultsPage:
    """Read everything; refuses a folder that has nothing to show."""
    found = find(folder)
    pictures, left_out = read_pictures(folder / "figures")
    bench, broken = read_bench(folder / "bench")
    if not (found or pictures or bench or broken):
        raise UsageError(
            f"{folder} holds no results, figures or benchmarks; compute some by, for instance: "
            "gpcnoise reproduce uci --preset fast --datasets waveform --splits 0."
        )
    parts = parts_of(found.cells)
    return ResultsPage(
        Path(os.path.realpath(folder)).name or "results",
        tell(folder),
        tuple(parts),
        tuple(comparisons_of(parts)),
        tuple(_line(cell) for cell in found.cells),
        tuple(_failure(one) for one in found.failures),
        (*found.unreadable, *((name, "it is torn or of another version") for name in broken)),
        tuple(pictures),
        tuple(left_out),
        tuple(bench),
        claims_part(folder),
        tuple(sweeps_of(found.cells)),
    )


def _line(cell: FoundCell) -> CellLine:
    record = cell.record
    return CellLine(
        record,
        cell.path,
        MARKS.get(record["dataset"], ""),
        label_of(record),
        spark(record.get("curve")),
        _command(record, uci=cell.place is not None),
    )


def _failure(one: Failure) -> FailureLine:
    return FailureLine(
        one.path,
        str(one.record.get("reason", "no reason was recorded")),
        str(one.record.get("attempts", "–")),
        bool(one.record.get("transient")),
        _command(one.record, uci=one.place is not None),
    )


def _command(record: Mapping[str, Any], *, uci: bool) -> str | None:
    stored = record.get("config")
    return repeat_cell(stored, uci=uci) if isinstance(stored, Mapping) else None


def _environments(cells: Sequence[CellLine]) -> list[dict[str, object]]:
    """A row for each kind of machine and set of versions, the most used first."""
    commits: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        key = describe_host(cell.record), describe_versions(cell.record)
        commits.setdefault(key, []).append(str(cell.record.get("commit") or ""))
    return [
        {"machine": host, "cells": len(found), "versions": versions, "commits": _several(sorted({*found} - {""}))}
        for (host, versions), found in sorted(commits.items(), key=lambda one: -len(one[1]))
    ]


def describe_host(record: Mapping[str, Any]) -> str:
    """The machine in general terms."""
    host = record.get("host")
    if not isinstance(host, Mapping):
        return "not recorded"
    words = [str(host[key]) for key in ("system", "machine", "cpu") if host.get(key)]
    threads = record.get("threads")
    return ", ".join([*words, f"{host.get('cores')} cores", *([f"{threads} threads a cell"] if threads else [])])


def describe_versions(record: Mapping[str, Any]) -> str:
    versions = record.get("versions")
    if not isinstance(versions, Mapping):
        return "not recorded"
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _several(names: Sequence[str], most: int = 6) -> str:
    return (", ".join(names[:most]) or NOT_COMPUTED) + (f" and {len(names) - most} more" if len(names) > most else "")
