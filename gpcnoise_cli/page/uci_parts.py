"""The UCI results of a folder, part by part: one for each ledger, protocol and kernel, with all that is known of it.

Beside these, the parts that differ only in their protocol, or only in their preset, are set next to each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean
from typing import Any

from gpcnoise_cli.page.drawings import Drawing, difference_drawing, rank_drawing
from gpcnoise_cli.page.found import FoundCell, Place
from gpcnoise_cli.page.table_view import TableView, view_table
from gpcnoise_cli.tables.measured import Measured, measured_from
from gpcnoise_cli.tables.published import (
    METRICS,
    PAPER_KERNEL,
    leak_verdicts,
    published_figures,
    published_sets,
)
from gpcnoise_cli.tables.statistics import LEAST_SETS
from gpcnoise_cli.tables.table import Table
from gpcnoise_cli.tables.uci_comparisons import against_table, presets_table, protocols_table
from gpcnoise_cli.tables.uci_figures import DIGITS, labels_here
from gpcnoise_cli.tables.uci_ranks import comparisons, in_words, pair_table, rank_table
from gpcnoise_cli.tables.uci_tables import averages_table, kernel_table, metric_table

SETS = tuple(one.name for one in published_sets())
MARKS = {name: verdict for name, verdict in leak_verdicts().items() if verdict != "none"}
_LARGER = {"acc": True, "nll": False}
_ORDER = {"paper": 0, "clean": 1, "fast": 1, PAPER_KERNEL: 0}


@dataclass(frozen=True)
class Ranks:
    diagram: Drawing
    tables: tuple[TableView, TableView]


@dataclass(frozen=True)
class Section:
    """Tables of one metric, or of one comparison, under a heading."""

    title: str
    tables: tuple[TableView, ...]


@dataclass(frozen=True)
class Part:
    """One ledger, protocol and kernel."""

    place: Place
    records: tuple[Mapping[str, Any], ...]

    @property
    def preset(self) -> str:
        return " and ".join(sorted({record["preset"] for record in self.records}))

    @property
    def anchor(self) -> str:
        return "-".join(("part", *_words(self.place.ledger), self.place.protocol, *_words(self.place.kernel)))

    @property
    def title(self) -> str:
        return f"Preset {self.preset}, protocol {self.place.protocol}, {self.place.kernel} kernel"

    @cached_property
    def measured(self) -> Measured:
        return measured_from(self.records, self.place.protocol, self.place.kernel)

    @property
    def departs(self) -> bool:
        """Whether some of it was made with other settings than its preset's."""
        return any(record.get("departures") for record in self.records)

    @property
    def sets(self) -> list[str]:
        found = {record["dataset"] for record in self.records}
        return [name for name in SETS if name in found]

    @property
    def splits(self) -> str:
        counts = sorted({one.splits for one in self.measured.figures.values()})
        return "" if not counts else str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"

    @property
    def seconds(self) -> float:
        return sum(float(record.get("train_seconds") or 0.0) for record in self.records)

    def differences(self, metric: str) -> dict[str, dict[str, float]]:
        """Ours minus the paper's, by set and method."""
        published = published_figures(metric, self.place.kernel)
        found: dict[str, dict[str, float]] = {}
        for name in SETS:
            for label in labels_here(self.measured):
                here, there = self.measured.get(metric, name, label), published.get((name, label))
                if here is not None and there is not None:
                    found.setdefault(name, {})[label] = here.mean - there
        return found

    def _is_published(self, metric: str, label: str) -> bool:
        return any((name, label) in published_figures(metric, self.place.kernel) for name in SETS)

    def mean_difference(self, metric: str) -> float | None:
        """Over all sets and methods; without those whose published figures rest on what is not a feature here."""
        clean = self.place.protocol == "clean"
        values = [
            value
            for name, by_method in self.differences(metric).items()
            if not (clean and MARKS.get(name) == "leak")
            for value in by_method.values()
        ]
        return mean(values) if values else None

    def charts(self) -> list[Drawing]:
        """Both metrics beside the paper's, at a glance."""
        drawn = [
            difference_drawing(
                f"{self.anchor}-{metric}",
                f"{'Accuracy in points' if metric == 'acc' else 'nll in nats'}: here minus the paper",
                self.differences(metric),
                [label for label in labels_here(self.measured) if self._is_published(metric, label)],
                better="right" if metric == "acc" else "left",
                digits=DIGITS[metric],
            )
            for metric in METRICS
        ]
        return [chart for chart in drawn if chart is not None]

    def sections(self) -> list[Section]:
        sections = []
        for metric, name in (("acc", "Accuracy"), ("nll", "Negative log likelihood")):
            tables = []
            if published_figures(metric, self.place.kernel):
                tables.append(self._view(against_table(metric, self.measured), metric))
            if self.place.kernel == PAPER_KERNEL:
                table = metric_table(metric, self.measured)
                title = f"{table.title}: beside the published figures of other methods"
                tables.append(self._view(replace(table, title=title), metric))
            if tables:
                sections.append(Section(name, tuple(tables)))
        if self.place.kernel == PAPER_KERNEL:
            averages = view_table(averages_table(self.measured), name=f"{self.anchor}-averages")
            sections.append(Section("Averages", (replace(averages, sortable=False),)))
        else:
            sections.append(Section("Both metrics", (self._view(kernel_table(self.measured)),)))
        return sections

    def ranks(self) -> list[Ranks]:
        if self.place.kernel != PAPER_KERNEL:
            return []
        found = []
        for metric in METRICS:
            for kind, comparison in comparisons(metric, self.measured).items():
                tables = (rank_table, pair_table)
                views = [view_table(make(metric, kind, comparison, self.measured)) for make in tables]
                views = [replace(view, name=f"{self.anchor}-{view.name}") for view in views]
                title = f"{metric}, {in_words(kind)} (n = {len(comparison.sets)})"
                diagram = rank_drawing(f"{self.anchor}-ranks-{metric}-{kind}", title, comparison)
                found.append(Ranks(diagram, (views[0], views[1])))
        return found

    @property
    def too_few_for_ranks(self) -> str:
        return f"Ranks need at least {LEAST_SETS} sets with a figure for every method."

    def _view(self, table: Table, metric: str | None = None) -> TableView:
        return view_table(
            table,
            sets=SETS,
            here=self.sets,
            marks=MARKS,
            larger_is_better=None if metric is None else _LARGER[metric],
            name=f"{self.anchor}-{table.name}",
        )


def parts_of(cells: Sequence[FoundCell]) -> list[Part]:
    """The parts, the paper's own settings first."""
    grouped: dict[Place, list[Mapping[str, Any]]] = {}
    for cell in cells:
        if cell.place is not None:
            grouped.setdefault(cell.place, []).append(cell.record)
    parts = [Part(place, tuple(records)) for place, records in grouped.items()]
    return sorted(parts, key=_order)


def comparisons_of(parts: Sequence[Part]) -> list[Section]:
    """Protocols side by side for each preset, and presets side by side for each protocol."""
    sections = []
    for one in parts:
        for other in parts:
            places = one.place, other.place
            if places[0].kernel != places[1].kernel:
                continue
            same_ledger = places[0].ledger == places[1].ledger
            if same_ledger and (places[0].protocol, places[1].protocol) == ("paper", "clean"):
                title = f"Protocols: with and without the row number ({one.place.kernel} kernel, preset {one.preset})"
                sections.append(_beside(title, one, other, protocols_table, coloured=False))
            plain = not (one.departs or other.departs) and places[0].protocol == places[1].protocol
            if plain and (one.preset, other.preset) == ("paper", "fast"):
                title = f"Presets: paper and fast ({one.place.kernel} kernel, protocol {one.place.protocol})"
                sections.append(_beside(title, one, other, presets_table, coloured=True))
    return [section for section in sections if section.tables]


def _beside(title: str, one: Part, other: Part, make: Any, *, coloured: bool) -> Section:
    shared = [name for name in one.sets if name in other.sets]
    tables = [
        view_table(
            make(metric, one.measured, other.measured).only(shared),
            marks=MARKS,
            larger_is_better=_LARGER[metric] if coloured else None,
            name=f"{one.anchor}-{make.__name__}-{metric}",
        )
        for metric in METRICS
        if shared
    ]
    return Section(title, tuple(tables))


def _order(part: Part) -> tuple[Any, ...]:
    place = part.place
    return (
        part.departs,
        _ORDER.get(part.preset, 2),
        place.ledger,
        _ORDER.get(place.kernel, 1),
        place.kernel,
        _ORDER.get(place.protocol, 2),
    )


def _words(text: str) -> list[str]:
    """The parts of a path that may stand in the address of a heading."""
    return [word for word in "".join(c if c.isalnum() else " " for c in text).split() if word]
