"""Tables that set figures side by side: measured here and published, with and without the row number as a feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import METHODS, leak_verdicts, published_figures, published_sets
from gpcnoise_cli.tables.table import Column, Row, Table, Value, figure, text
from gpcnoise_cli.tables.uci_tables import (
    DIGITS,
    TITLES,
    measured_figure,
    plain_value,
    published_figure,
    splits_behind,
    starts_multiclass,
)

_LEAKS = (
    "row: leak or weak where the row number, a feature under protocol paper, gives the class away "
    "(gpcnoise data audit)."
)


def against_table(metric: str, measured: Measured) -> Table:
    """The measured figures beside the published ones; sets whose row number gives the class away are marked."""
    published, digits = published_figures(metric, measured.kernel), DIGITS[metric]
    parts = ("here", "paper", "diff")
    columns = (
        Column("set", left=True),
        Column("row", left=True),
        *(Column(part, group=name) for name in METHODS for part in parts),
        Column("splits", optional=True),
    )
    rows = []
    for one in published_sets():
        values: list[Value] = []
        for name in METHODS:
            here, there = measured_figure(measured, metric, one, name), published.get((one.name, name))
            values.append(plain_value(here, digits, error=False))
            values.append(plain_value(published_figure(there), digits))
            both = isinstance(here, Figure) and there is not None
            values.append(figure(here.mean - there, digits, sign=True) if both else text(""))  # type: ignore[union-attr, operator]
        marks = (text(one.name), text(_leak(one.name)), *values, text(splits_behind(measured, metric, one)))
        rows.append(Row(marks, rule=starts_multiclass(one)))
    what = f"{TITLES[metric]}: here and published, {measured.kernel} kernel, protocol {measured.protocol}"
    return Table(f"uci-{metric}-against-paper", what, columns, tuple(rows), (_LEAKS, *measured.notes))


def protocols_table(metric: str, paper: Measured, clean: Measured) -> Table:
    """The same methods with and without the row number as a feature."""
    table = _side_by_side(metric, {"paper": paper, "clean": clean})
    what = f"{TITLES[metric]}: protocol paper and protocol clean, {paper.kernel} kernel"
    return replace(table, name=f"uci-{metric}-protocols", title=what, notes=(_LEAKS, *paper.notes))


def presets_table(metric: str, paper: Measured, fast: Measured) -> Table:
    """The same methods with the paper's settings and with the fast ones."""
    table = _side_by_side(metric, {"paper": paper, "fast": fast})
    what = f"{TITLES[metric]}: preset paper and preset fast, {paper.kernel} kernel, protocol {paper.protocol}"
    notes = tuple(dict.fromkeys((*_extremes(metric, paper, fast), _LEAKS, *paper.notes, *fast.notes)))
    return replace(table, name=f"uci-{metric}-presets", title=what, notes=notes)


def _extremes(metric: str, paper: Measured, fast: Measured) -> tuple[str, ...]:
    """The differences furthest to either side, in words."""
    both = [key for key in paper.figures if key[0] == metric and key in fast.figures]
    if not both:
        return ()
    ordered = sorted((fast.figures[key].mean - paper.figures[key].mean, *key[1:]) for key in both)
    least, most = (
        f"{diff:+.{DIGITS[metric]}f} ({dataset}, {method})" for diff, dataset, method in (ordered[0], ordered[-1])
    )
    sets = len({dataset for _, dataset, _ in ordered})
    return (f"fast minus paper: from {least} to {most}; {len(both)} figures of {sets} sets.",)


def _side_by_side(metric: str, sides: Mapping[str, Measured]) -> Table:
    """Two kinds of figures of every method, and the second minus the first."""
    columns = (
        Column("set", left=True),
        Column("row", left=True),
        *(Column(part, group=name) for name in METHODS for part in (*sides, "diff")),
    )
    rows, digits = [], DIGITS[metric]
    for one in published_sets():
        values: list[Value] = []
        for name in METHODS:
            first, second = (measured_figure(side, metric, one, name) for side in sides.values())
            values += [plain_value(first, digits, error=False), plain_value(second, digits, error=False)]
            if isinstance(first, Figure) and isinstance(second, Figure):
                values.append(figure(second.mean - first.mean, digits, sign=True))
            else:
                values.append(text(""))
        rows.append(Row((text(one.name), text(_leak(one.name)), *values), rule=starts_multiclass(one)))
    return Table("", "", columns, tuple(rows))


def _leak(name: str) -> str:
    verdict = leak_verdicts()[name]
    return "" if verdict == "none" else verdict
