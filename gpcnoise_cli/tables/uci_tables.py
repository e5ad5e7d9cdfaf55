"""The tables of the UCI benchmark in the layout of the paper: III and IV (a metric), V (a kernel), II (averages).

An average is taken over the sets for which the paper's methods have all been measured, and says how many these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import METRICS, PublishedSet, notes_beside, published_sets
from gpcnoise_cli.tables.table import Column, Row, Table, Value, figure, text
from gpcnoise_cli.tables.uci_figures import (
    DIGITS,
    Content,
    average,
    complete_sets,
    content,
    labels_beside,
    labels_here,
    sets_of_kind,
    splits_behind,
)

AVERAGE_DIGITS = {"acc": 1, "nll": 4}
TITLES = {"acc": "Classification accuracy in percent (acc)", "nll": "Negative log likelihood in nats (nll)"}
# The paper's Table II gives these averages a second time without the one set on which the method fails.
FAILURES = {"GPCep": "nursery", "GPCaug": "waveform-noise"}
PUBLISHED = "†"
_LEGEND = (
    f"{PUBLISHED}: published (an average: at least in part); all other figures are measured here; NA: not applicable; "
    "–: not computed here; averages: in brackets over how many complete sets."
)


def metric_table(metric: str, measured: Measured) -> Table:
    """Table III (acc) or IV (nll)."""
    labels = [(metric, label) for label in labels_beside(metric, measured)]
    splits = [*(splits_behind(metric, measured, one) for one in published_sets()), "", ""]
    lines = zip(_rows(labels, measured), splits, strict=True)
    rows = tuple(replace(row, values=(*row.values, text(behind))) for row, behind in lines)
    columns = (*_set_columns(), *(Column(label) for _, label in labels), Column("splits", optional=True))
    what = f"{TITLES[metric]}, {measured.kernel} kernel, protocol {measured.protocol}"
    notes = (_LEGEND, *notes_beside(measured.protocol), *measured.notes)
    return Table(f"uci-{metric}", what, columns, rows, notes)


def kernel_table(measured: Measured) -> Table:
    """Table V: both metrics of what was measured."""
    labels = [(metric, label) for metric in METRICS for label in labels_here(measured)]
    columns = (*_set_columns(), *(Column(label, group=metric) for metric, label in labels))
    what = f"Accuracy and negative log likelihood, {measured.kernel} kernel, protocol {measured.protocol}"
    splits = sorted({one.splits for one in measured.figures.values()})
    notes = (f"splits behind each figure: {' or '.join(map(str, splits)) or 'none'}.", *measured.notes)
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
        for metric in METRICS:
            complete = complete_sets([metric], measured, binary)
            lines = {label: [content(metric, measured, one, label) for one in complete] for label in labels}
            values = _marked([average(line) for line in lines.values()], metric, AVERAGE_DIGITS[metric])
            shown = [
                _bracketed(value, metric, label, complete, lines[label])
                for value, label in zip(values, labels, strict=True)
            ]
            kind = ("binary" if binary else "multi-class") if metric == "acc" else ""
            counted = f"{len(complete)}/{len(sets_of_kind(binary))}"
            rows.append(Row((text(kind), text(metric), text(counted), *shown), rule=kind == "multi-class"))
    notes = (
        f"averages over the sets complete here; {PUBLISHED}: of figures published, at least in part; in brackets "
        "without nursery (GPCep) and waveform-noise (GPCaug), as in the paper.",
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
        complete = complete_sets(metrics, measured, binary)
        averages = [average([content(metric, measured, one, label) for one in complete]) for metric, label in labels]
        values = [_value(one, DIGITS[metric]) for one, (metric, _) in zip(averages, labels, strict=True)]
        kind = f"{'binary' if binary else 'multi-class'} ({len(complete)})"
        rows.append(Row((text(kind), *[text("")] * 3, *values), rule=binary))
    return rows


def _set_columns() -> tuple[Column, ...]:
    return (Column("set", left=True), *(Column(name, optional=True) for name in ("n", "d", "C")))


def _value(one: Content, digits: int, *, best: bool = False) -> Value:
    if isinstance(one, str):
        return text(one)
    return figure(one.mean, digits, one.error, best=best, mark=PUBLISHED if one.published else "")


def _marked(contents: Sequence[Content], metric: str, digits: int | None = None) -> list[Value]:
    """The values of a line, the best as printed in bold: ties are ties to the reader."""
    digits = DIGITS[metric] if digits is None else digits
    rounded = [round(one.mean, digits) for one in contents if isinstance(one, Figure)]
    best = (max if metric == "acc" else min)(rounded, default=None)
    return [_value(one, digits, best=isinstance(one, Figure) and round(one.mean, digits) == best) for one in contents]


def _bracketed(value: Value, metric: str, label: str, sets: Sequence[PublishedSet], line: Sequence[Content]) -> Value:
    """An average with its second one, where the set on which the published method fails is part of it."""
    failed = [
        isinstance(one, Figure) and one.published and each.name == FAILURES.get(label)
        for each, one in zip(sets, line, strict=True)
    ]
    without = average([one for one, is_failure in zip(line, failed, strict=True) if not is_failure])
    if not any(failed) or isinstance(without, str):
        return value
    return replace(value, text=f"{value.text} ({without.mean:.{AVERAGE_DIGITS[metric]}f})")
