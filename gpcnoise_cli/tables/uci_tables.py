"""The tables of the UCI benchmark in the layout of the paper: III and IV (a metric), V (a kernel), II (averages).

An average is taken over the sets for which the paper's methods have all been measured, and says how many these are.
Where other methods were measured on fewer of them, a second one is taken over the sets that all of these have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, repeat

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import METRICS, PublishedSet, notes_beside, published_sets
from gpcnoise_cli.tables.table import Column, Row, Table, Value, figure, text
from gpcnoise_cli.tables.uci_figures import (
    DIGITS,
    PUBLISHED,
    Content,
    Shared,
    average,
    complete_sets,
    content,
    labels_beside,
    labels_here,
    paired_line,
    sets_of_kind,
    shared,
    splits_behind,
)

AVERAGE_DIGITS = {"acc": 1, "nll": 4}
TITLES = {"acc": "Classification accuracy in percent (acc)", "nll": "Negative log likelihood in nats (nll)"}
# The paper's Table II gives these averages a second time without the one set on which the method fails.
FAILURES = {f"GPCep{PUBLISHED}": "nursery", f"GPCaug{PUBLISHED}": "waveform-noise"}
_SHARED = "shared: over the sets, and on each the splits, that all of the measured columns have"
_LEGEND = (
    f"{PUBLISHED}: published; all other columns are measured here; NA: not applicable; –: not computed here; averages: "
    "in brackets over how many sets, those on which all of the paper's methods were measured"
)


def metric_table(metric: str, measured: Measured) -> Table:
    """Table III (acc) or IV (nll)."""
    labels = [(metric, label) for label in labels_beside(metric, measured)]
    splits = [splits_behind(metric, measured, one) for one in published_sets()]
    lines = zip(_rows(labels, measured), chain(splits, repeat("")), strict=False)  # averages have none
    rows = tuple(replace(row, values=(*row.values, text(behind))) for row, behind in lines)
    columns = (*_set_columns(), *(Column(label) for _, label in labels), Column("splits", optional=True))
    what = f"{TITLES[metric]}, {measured.kernel} kernel, protocol {measured.protocol}"
    notes = (f"{_LEGEND}{_shared_note([metric], measured)}.", *notes_beside(measured.protocol), *measured.notes)
    return Table(f"uci-{metric}", what, columns, rows, notes)


def kernel_table(measured: Measured) -> Table:
    """Table V: both metrics of what was measured."""
    labels = [(metric, label) for metric in METRICS for label in labels_here(measured)]
    columns = (*_set_columns(), *(Column(label, group=metric) for metric, label in labels))
    what = f"Accuracy and negative log likelihood, {measured.kernel} kernel, protocol {measured.protocol}"
    splits = sorted({one.splits for one in measured.figures.values()})
    behind = f"splits behind each figure: {' or '.join(map(str, splits)) or 'none'}"
    notes = (f"{behind}{_shared_note(METRICS, measured)}.", *measured.notes)
    return Table("uci-kernel", what, columns, tuple(_rows(labels, measured)), notes)


def averages_table(measured: Measured) -> Table:
    """Table II: averages over the binary and the multi-class sets, each over the sets that are complete here."""
    labels = labels_beside(None, measured)
    columns = (
        Column("kind", left=True),
        Column("metric", left=True),
        Column("sets"),
        *(Column(label) for label in labels),
    )
    rows = []
    for binary in (True, False):
        kind = "binary" if binary else "multi-class"
        for metric in METRICS:
            for called, whose in _averaged([metric], measured, binary).items():
                sets, lines = whose.sets, _lines(metric, measured, whose, labels)
                values = _marked([average(line) for line in lines.values()], metric, AVERAGE_DIGITS[metric])
                shown = [
                    _bracketed(value, metric, label, sets, lines[label])
                    for value, label in zip(values, labels, strict=True)
                ]
                counted = f"{len(sets)}/{len(sets_of_kind(binary))}"
                first = metric == METRICS[0] and not called
                rows.append(
                    Row(
                        (text(f"{kind}{called}" if first or called else ""), text(metric), text(counted), *shown),
                        rule=first and not binary,
                    )
                )
    notes = (
        f"averages over the sets on which all of the paper's methods were measured{_shared_note(METRICS, measured)}; "
        f"{PUBLISHED}: of published figures, in brackets without nursery (GPCep) and waveform-noise (GPCaug), as in "
        "the paper.",
        *notes_beside(measured.protocol),
        *measured.notes,
    )
    what = f"Averages over UCI sets, {measured.kernel} kernel, protocol {measured.protocol}"
    return Table("uci-averages", what, columns, tuple(rows), notes)


def _rows(labels: Sequence[tuple[str, str]], measured: Measured) -> list[Row]:
    """A line for each set, and two of averages; `labels` are metric and method of each column."""
    metrics = tuple(dict.fromkeys(metric for metric, _ in labels))
    rows = []
    for one in published_sets():
        d = one.d if measured.protocol == "paper" else one.d - 1
        values = [
            value
            for metric in metrics
            for value in _marked(
                [content(metric, measured, one, label) for of, label in labels if of == metric], metric
            )
        ]
        rows.append(Row((text(one.name), text(one.n), text(d), text(one.classes), *values)))
    for binary in (True, False):
        for called, whose in _averaged(metrics, measured, binary).items():
            lines = {
                metric: _lines(metric, measured, whose, [label for of, label in labels if of == metric])
                for metric in metrics
            }
            values = [_value(average(lines[metric][label]), DIGITS[metric]) for metric, label in labels]
            kind = f"{'binary' if binary else 'multi-class'}{called} ({len(whose.sets)})"
            rows.append(Row((text(kind), *[text("")] * 3, *values), rule=binary and not called))
    return rows


def _averaged(metrics: Sequence[str], measured: Measured, binary: bool) -> dict[str, Shared]:
    """The sets of each average, and the columns that are compared by it, by what its line adds to the kind.

    There is a second one only where it is another.
    """
    complete = tuple(complete_sets(metrics, measured, binary))
    common = shared(metrics, measured, complete)
    every = Shared((), complete)
    differs = len(common.sets) < len(complete) or any(
        _lines(metric, measured, every, common.labels) != _lines(metric, measured, common, common.labels)
        for metric in metrics
    )
    return {"": every} | ({", shared": common} if common.sets and differs else {})


def _lines(metric: str, measured: Measured, whose: Shared, labels: Sequence[str]) -> dict[str, list[Content]]:
    """The columns over some sets; those that are compared over the splits that they share on each."""
    compared = [paired_line(metric, measured, one, whose.labels) for one in whose.sets]
    return {
        label: [
            line[label] if label in line else content(metric, measured, one, label)
            for one, line in zip(whose.sets, compared, strict=True)
        ]
        for label in labels
    }


def _shared_note(metrics: Sequence[str], measured: Measured) -> str:
    """What is to be said of the second averages, where there are any."""
    found = {}
    for kind, binary in (("binary", True), ("multi-class", False)):
        if len(_averaged(metrics, measured, binary)) > 1:
            found[kind] = shared(metrics, measured, complete_sets(metrics, measured, binary)).labels
    if not found:
        return ""
    return f"; {_SHARED} ({'; '.join(f'{kind}: ' + ', '.join(labels) for kind, labels in found.items())})"


def _set_columns() -> tuple[Column, ...]:
    return (Column("set", left=True), *(Column(name, optional=True) for name in ("n", "d", "C")))


def _value(one: Content, digits: int, *, best: bool = False) -> Value:
    if isinstance(one, str):
        return text(one)
    return figure(one.mean, digits, one.error, best=best)


def _marked(contents: Sequence[Content], metric: str, digits: int | None = None) -> list[Value]:
    """The values of a line, the best as printed in bold: ties are ties to the reader."""
    digits = DIGITS[metric] if digits is None else digits
    rounded = [round(one.mean, digits) for one in contents if isinstance(one, Figure)]
    best = (max if metric == "acc" else min)(rounded, default=None)
    return [_value(one, digits, best=isinstance(one, Figure) and round(one.mean, digits) == best) for one in contents]


def _bracketed(value: Value, metric: str, label: str, sets: Sequence[PublishedSet], line: Sequence[Content]) -> Value:
    """An average with its second one, where the set on which the published method fails is part of it."""
    kept = [one for each, one in zip(sets, line, strict=True) if each.name != FAILURES.get(label)]
    without = average(kept)
    if len(kept) == len(line) or isinstance(without, str):
        return value
    return replace(value, text=f"{value.text} ({without.mean:.{AVERAGE_DIGITS[metric]}f})")
