"""A folder of results as the content of the page: parts, comparisons, every cell, what failed, where it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.repeat import repeat_cell
from gpcnoise_cli.page.bench import BenchPart, read_bench
from gpcnoise_cli.page.drawings import Spark, spark
from gpcnoise_cli.page.found import Failure, Found, FoundCell, find, is_number, tell
from gpcnoise_cli.page.pictures import PictureGroup, read_pictures
from gpcnoise_cli.page.uci_parts import MARKS, SETS, Part, Section, comparisons_of, parts_of
from gpcnoise_cli.tables.measured import label_of
from gpcnoise_cli.tables.uci_figures import own_methods


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
        return str(self.record["likelihood"]) if self.label in own_methods() else ""

    def number(self, key: str, digits: int) -> str:
        value = self.record.get(key)
        return f"{value:.{digits}f}" if is_number(value) else "–"

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
class Environment:
    """Cells that were made on the same kind of machine with the same versions."""

    cells: int
    host: str
    versions: str
    commits: str


@dataclass(frozen=True)
class ResultsPage:
    name: str
    told: str
    parts: tuple[Part, ...]
    comparisons: tuple[Section, ...]
    cells: tuple[CellLine, ...]
    failures: tuple[FailureLine, ...]
    unreadable: tuple[tuple[str, str], ...]
    environments: tuple[Environment, ...]
    pictures: tuple[PictureGroup, ...]
    left_out: tuple[str, ...]
    bench: tuple[BenchPart, ...]

    trouble = ""

    @property
    def largest(self) -> Part | None:
        """The part that is open when the page is: the one with the most cells."""
        return max(self.parts, key=lambda part: len(part.records), default=None)

    @property
    def sets(self) -> int:
        return len({name for part in self.parts for name in part.sets})

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
        folder.resolve().name or "results",
        tell(folder),
        tuple(parts),
        tuple(comparisons_of(parts)),
        tuple(_line(cell) for cell in found.cells),
        tuple(_failure(one) for one in found.failures),
        (*found.unreadable, *((name, "it is torn or of another version") for name in broken)),
        tuple(_environments(found)),
        tuple(pictures),
        tuple(left_out),
        tuple(bench),
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


def _environments(found: Found) -> list[Environment]:
    counts: Counter[tuple[str, str]] = Counter()
    commits: dict[tuple[str, str], set[str]] = {}
    for cell in found.cells:
        key = describe_host(cell.record), describe_versions(cell.record)
        counts[key] += 1
        commits.setdefault(key, set()).add(str(cell.record.get("commit") or ""))
    return [
        Environment(number, host, versions, _several(sorted(commits[host, versions] - {""})))
        for (host, versions), number in counts.most_common()
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
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
