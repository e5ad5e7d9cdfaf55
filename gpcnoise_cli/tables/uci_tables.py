"""The tables of the UCI benchmark in the layout of the paper: III and IV (a metric), V (a kernel), II (averages).

Figures of other authors' methods are the published ones; those of GPC-I to GPCsm are measured here. An average is taken
over the sets for which every figure of its line is there, and says how many these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import (
    BASELINES,
    METHODS,
    METRICS,
    PublishedSet,
    notes_beside,
    published_figures,
    published_sets,
)
from gpcnoise_cli.tables.table import NOT_APPLICABLE, NOT_COMPUTED, Column, Row, Table, Value, figure, text

DIGITS = {"acc": 2, "nll": 4}
AVERAGE_DIGITS = {"acc": 1, "nll": 4}
TITLES = {"acc": "Classification accuracy in percent (acc)", "nll": "Negative log likelihood in nats (nll)"}
# The paper's Table II gives these averages a second time without the one set on which the method fails.
FAILURES = {"GPCep": "nursery", "GPCaug": "waveform-noise"}


def metric_table(metric: str, measured: Measured) -> Table:
    """Table III (acc) or IV (nll)."""
    baselines = baselines_of(metric)
    columns = (*_set_columns(), *(Column(name) for name in (*baselines, *METHODS)), Column("splits", optional=True))
    published = published_figures(metric, "rbf")

    def cells(one: PublishedSet) -> list[Figure | str]:
        known = [published_figure(published.get((one.name, name))) for name in baselines]
        return known + [measured_figure(measured, metric, one, name) for name in METHODS]

    rows = []
    for one in published_sets():
        values = _marked(cells(one), metric)
        rows.append(Row((*_set_values(one, measured.protocol), *values, text(splits_behind(measured, metric, one)))))
    rows += _average_rows(lambda one: cells(one), [metric] * (len(baselines) + len(METHODS)), padding=1)
    what = f"{TITLES[metric]}, {measured.kernel} kernel, protocol {measured.protocol}"
    notes = (_SOURCES, *notes_beside(measured.protocol), *measured.notes)
    return Table(f"uci-{metric}", what, columns, tuple(rows), notes)


def kernel_table(measured: Measured) -> Table:
    """Table V: both metrics of the four methods."""
    columns = (*_set_columns(), *(Column(name, group=metric) for metric in METRICS for name in METHODS))
    metrics = [metric for metric in METRICS for _ in METHODS]

    def cells(one: PublishedSet) -> list[Figure | str]:
        return [measured_figure(measured, metric, one, name) for metric in METRICS for name in METHODS]

    rows = []
    for one in published_sets():
        found, k = cells(one), len(METHODS)
        values = [*_marked(found[:k], "acc"), *_marked(found[k:], "nll")]
        rows.append(Row((*_set_values(one, measured.protocol), *values)))
    rows += _average_rows(cells, metrics)
    what = f"Accuracy and negative log likelihood, {measured.kernel} kernel, protocol {measured.protocol}"
    splits = sorted({one.splits for one in measured.figures.values()})
    notes = (f"splits behind each figure: {' or '.join(map(str, splits)) or 'none'}.", *measured.notes)
    return Table("uci-kernel", what, columns, tuple(rows), notes)


def averages_table(measured: Measured) -> Table:
    """Table II: averages over the binary and the multi-class sets, each over the sets that are complete here."""
    names = (*BASELINES, *METHODS)
    columns = (Column("", left=True), Column("", left=True), Column("sets"), *(Column(name) for name in names))
    rows = []
    for binary in (True, False):
        for metric in METRICS:
            complete = complete_sets(metric, measured, binary)
            values: list[Figure | str] = [_average(metric, name, complete, measured) for name in names]
            label = ("binary" if binary else "multi-class") if metric == "acc" else ""
            total = sum(one.binary == binary for one in published_sets())
            shown = _bracketed(_marked(values, metric, AVERAGE_DIGITS[metric]), metric, complete)
            rows.append(Row((text(label), text(metric), text(f"{len(complete)}/{total}"), *shown), rule=label != ""))
    note = (
        "averages over the sets complete here; in brackets without nursery (GPCep) and waveform-noise (GPCaug), "
        "as in the paper."
    )
    what = f"Averages over UCI sets, {measured.kernel} kernel, protocol {measured.protocol}"
    notes = (note, *notes_beside(measured.protocol), *measured.notes)
    return Table("uci-averages", what, columns, (Row(rows[0].values), *rows[1:]), notes)


_SOURCES = (
    "Selu, ORTH, GPCep, GPCaug: published; GPC-I to GPCsm: measured here; NA: not applicable; –: not computed here; "
    "averages: in brackets over how many complete sets."
)


def baselines_of(metric: str) -> tuple[str, ...]:
    """Other authors' methods with published figures: Selu has no nll."""
    return BASELINES if metric == "acc" else BASELINES[1:]


def complete_sets(metric: str, measured: Measured, binary: bool) -> list[PublishedSet]:
    """The sets of a kind for which every method that applies was measured."""
    methods = METHODS[:-1] if binary else METHODS
    return [
        one
        for one in published_sets()
        if one.binary == binary and all(measured.get(metric, one.name, name) for name in methods)
    ]


def _set_columns() -> tuple[Column, ...]:
    return (
        Column("set", left=True),
        Column("n", optional=True),
        Column("d", optional=True),
        Column("C", optional=True),
    )


def _set_values(one: PublishedSet, protocol: str) -> tuple[Value, ...]:
    d = one.d if protocol == "paper" else one.d - 1
    return text(one.name), text(one.n), text(d), text(one.classes)


def published_figure(number: float | None) -> Figure | str:
    return NOT_APPLICABLE if number is None else Figure(number, None, 10)


def measured_figure(measured: Measured, metric: str, one: PublishedSet, method: str) -> Figure | str:
    found = measured.get(metric, one.name, method)
    if found is not None:
        return found
    return NOT_APPLICABLE if one.binary and method == "GPCsm" else NOT_COMPUTED


def plain_value(content: Figure | str, digits: int, error: bool = True) -> Value:
    if isinstance(content, str):
        return text(content)
    return figure(content.mean, digits, content.error if error else None)


def _marked(contents: Sequence[Figure | str], metric: str, digits: int | None = None) -> list[Value]:
    """The values of a line, the best as printed in bold: ties are ties to the reader."""
    digits = DIGITS[metric] if digits is None else digits
    rounded = [round(one.mean, digits) for one in contents if isinstance(one, Figure)]
    best = (max if metric == "acc" else min)(rounded) if rounded else None
    return [
        text(one) if isinstance(one, str) else figure(one.mean, digits, one.error, best=round(one.mean, digits) == best)
        for one in contents
    ]


def splits_behind(measured: Measured, metric: str, one: PublishedSet) -> str:
    """How many splits are behind the figures of a line: one number where they agree."""
    counts = [found.splits for name in METHODS if (found := measured.get(metric, one.name, name)) is not None]
    return "/".join(map(str, counts if len(set(counts)) > 1 else counts[:1])) or NOT_COMPUTED


def starts_multiclass(one: PublishedSet) -> bool:
    return one.name == next(other.name for other in published_sets() if not other.binary)


def _average_rows(
    cells: Callable[[PublishedSet], list[Figure | str]], metrics: Sequence[str], padding: int = 0
) -> Iterable[Row]:
    """The averages of every column over the sets whose line has no gap."""
    rows = []
    for binary in (True, False):
        lines = [cells(one) for one in published_sets() if one.binary == binary]
        complete = [line for line in lines if NOT_COMPUTED not in line]
        label = f"{'binary' if binary else 'multi-class'} ({len(complete)})"
        values = []
        for column, metric in enumerate(metrics):
            figures = [line[column] for line in complete]
            numbers = [one.mean for one in figures if isinstance(one, Figure)]
            if not complete:
                values.append(text(NOT_COMPUTED))
            elif len(numbers) < len(complete):
                values.append(text(NOT_APPLICABLE))
            else:
                values.append(figure(mean(numbers), DIGITS[metric]))
        rows.append(Row((text(label), *[text("")] * 3, *values, *[text("")] * padding), rule=binary))
    return rows


def _average(metric: str, method: str, sets: Sequence[PublishedSet], measured: Measured) -> Figure | str:
    if not sets:
        return NOT_COMPUTED
    numbers = [_number(metric, method, one.name, measured) for one in sets]
    known = [number for number in numbers if number is not None]
    return Figure(mean(known), None, 1) if len(known) == len(numbers) else NOT_APPLICABLE


def _number(metric: str, method: str, dataset: str, measured: Measured) -> float | None:
    if method in METHODS:
        found = measured.get(metric, dataset, method)
        return found.mean if found is not None else None
    return published_figures(metric, "rbf").get((dataset, method))


def _bracketed(values: list[Value], metric: str, sets: Sequence[PublishedSet]) -> list[Value]:
    shown = list(values)
    for method, failure in FAILURES.items():
        others = [one for one in sets if one.name != failure]
        if len(others) == len(sets) or not others:
            continue
        published, index = published_figures(metric, "rbf"), BASELINES.index(method)
        without = mean(published[one.name, method] for one in others)
        value = values[index]
        again = f"{value.text} ({without:.{AVERAGE_DIGITS[metric]}f})"
        shown[index] = Value(again, value.number, value.error, value.best)
    return shown
