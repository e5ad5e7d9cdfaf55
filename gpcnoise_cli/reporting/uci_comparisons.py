"""Tables that set figures side by side: measured here and published, with and without the row number as a feature."""

from __future__ import annotations

from gpcnoise_cli.reporting.measured import Figure, Measured
from gpcnoise_cli.reporting.published import METHODS, leak_verdicts, published_figures, published_sets
from gpcnoise_cli.reporting.table import Column, Row, Table, Value, figure, text
from gpcnoise_cli.reporting.uci_tables import (
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
    columns = (
        Column("set", left=True),
        Column("row", left=True),
        *(Column(part, group=name) for name in METHODS for part in ("paper", "clean", "diff")),
    )
    rows, digits = [], DIGITS[metric]
    for one in published_sets():
        values: list[Value] = []
        for name in METHODS:
            with_row, without = (measured_figure(side, metric, one, name) for side in (paper, clean))
            values += [plain_value(with_row, digits, error=False), plain_value(without, digits, error=False)]
            if isinstance(with_row, Figure) and isinstance(without, Figure):
                values.append(figure(without.mean - with_row.mean, digits, sign=True))
            else:
                values.append(text(""))
        rows.append(Row((text(one.name), text(_leak(one.name)), *values), rule=starts_multiclass(one)))
    what = f"{TITLES[metric]}: protocol paper and protocol clean, {paper.kernel} kernel"
    return Table(f"uci-{metric}-protocols", what, columns, tuple(rows), (_LEAKS, *paper.notes))


def _leak(name: str) -> str:
    verdict = leak_verdicts()[name]
    return "" if verdict == "none" else verdict
