"""Tables that set figures side by side: measured here and published, with and without the row number as a feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import (
    COPIED,
    PublishedSet,
    leak_verdicts,
    notes_beside,
    published_figures,
    published_sets,
)
from gpcnoise_cli.tables.table import (
    NOT_APPLICABLE,
    Column,
    Row,
    Table,
    Value,
    figure,
    optional_figure,
    text,
)
from gpcnoise_cli.tables.uci_figures import DIGITS, content, counted, labels_here, paired, paper_methods, splits_behind
from gpcnoise_cli.tables.uci_tables import TITLES

_LEAKS = (
    "row: leak or weak where the row number, a feature under protocol paper, gives the class away "
    "(gpcnoise data audit)."
)

_PAIRED = "splits: how many are behind each difference, those that both sides have; the figures beside it are of these."

_COPIED = (
    "the paper copied the figures of Selu and ORTH from other papers, whose runs did not have the row number; those of "
    "ORTH are of the kernel matern52+rbf."
)


def against_table(metric: str, measured: Measured) -> Table:
    """The measured figures beside the published ones; sets whose row number gives the class away are marked."""
    published, digits = published_figures(metric, measured.kernel), DIGITS[metric]
    known = {label for _, label in published}
    parts = {label: ("here", "paper", "diff") if label in known else ("here",) for label in labels_here(measured)}
    rows = []
    for one in published_sets():
        values: list[Value] = []
        for label in parts:
            here, there = content(metric, measured, one, label), published.get((one.name, label))
            values.append(_plain(here, digits))
            if label in known:
                values += [optional_figure(there, digits, NOT_APPLICABLE), _difference(here, there, digits)]
        rows.append(_row(one, (*values, text(splits_behind(metric, measured, one)))))
    what = f"{TITLES[metric]}: here and published, {measured.kernel} kernel, protocol {measured.protocol}"
    columns = (*_columns(parts), Column("splits", optional=True))
    copied = [_COPIED] if any(label in COPIED for label in parts) else []
    notes = (_LEAKS, *copied, *notes_beside(measured.protocol), *measured.notes)
    return Table(f"uci-{metric}-against-paper", what, columns, tuple(rows), notes)


def protocols_table(metric: str, paper: Measured, clean: Measured) -> Table:
    """The same methods with and without the row number as a feature."""
    table = _side_by_side(metric, {"paper": paper, "clean": clean})
    what = f"{TITLES[metric]}: protocol paper and protocol clean, {paper.kernel} kernel"
    return replace(table, name=f"uci-{metric}-protocols", title=what, notes=(_PAIRED, _LEAKS, *paper.notes))


def presets_table(metric: str, paper: Measured, fast: Measured) -> Table:
    """The same methods with the paper's settings and with the fast ones."""
    table = _side_by_side(metric, {"paper": paper, "fast": fast})
    what = f"{TITLES[metric]}: preset paper and preset fast, {paper.kernel} kernel, protocol {paper.protocol}"
    notes = tuple(dict.fromkeys((*_extremes(metric, paper, fast), _PAIRED, _LEAKS, *paper.notes, *fast.notes)))
    return replace(table, name=f"uci-{metric}-presets", title=what, notes=notes)


def _extremes(metric: str, paper: Measured, fast: Measured) -> tuple[str, ...]:
    """The differences furthest to either side, in words."""
    ordered = []
    for one in published_sets():
        for label in labels_here(paper, fast):
            pair = _pair(metric, (paper, fast), one, label)
            if pair is not None:
                ordered.append((pair[1].mean - pair[0].mean, one.name, label))
    if not ordered:
        return ()
    ordered.sort()
    least, most = (
        f"{diff:+.{DIGITS[metric]}f} ({dataset}, {method})" for diff, dataset, method in (ordered[0], ordered[-1])
    )
    sets = len({dataset for _, dataset, _ in ordered})
    return (f"fast minus paper: from {least} to {most}; {len(ordered)} figures of {sets} sets.",)


def _side_by_side(metric: str, sides: Mapping[str, Measured]) -> Table:
    """The figures of the paper's methods, and of others that both sides have, and the second minus the first."""
    of_both = set.intersection(*(side.labels(metric) for side in sides.values())) | {*paper_methods()}
    parts = {label: (*sides, "diff") for label in labels_here(*sides.values()) if label in of_both}
    rows, digits = [], DIGITS[metric]
    for one in published_sets():
        values: list[Value] = []
        pairs: list[Figure] = []
        for label in parts:
            pair = _pair(metric, tuple(sides.values()), one, label)
            if pair is None:
                values += [*(_plain(content(metric, side, one, label), digits) for side in sides.values()), text("")]
            else:
                first, second = pair
                values += [_plain(first, digits), _plain(second, digits), _difference(second, first.mean, digits)]
                pairs.append(second)
        rows.append(_row(one, (*values, text(counted(pairs)))))
    return Table("", "", (*_columns(parts), Column("splits", optional=True)), tuple(rows))


def _pair(metric: str, sides: Sequence[Measured], one: PublishedSet, label: str) -> tuple[Figure, Figure] | None:
    """A figure of either side over the same splits, where both have some."""
    match paired([content(metric, side, one, label) for side in sides]):
        case [Figure() as first, Figure() as second]:
            return first, second
    return None


def _plain(found: Figure | str, digits: int) -> Value:
    return figure(found.mean, digits) if isinstance(found, Figure) else text(found)


def _difference(found: Figure | str, other: float | None, digits: int) -> Value:
    both = isinstance(found, Figure) and other is not None
    return figure(found.mean - other, digits, sign=True) if both else text("")  # type: ignore[union-attr, operator]


def _columns(parts: Mapping[str, Sequence[str]]) -> tuple[Column, ...]:
    groups = (Column(part, group=label) for label, names in parts.items() for part in names)
    return (Column("set", left=True), Column("row", left=True), *groups)


def _row(one: PublishedSet, values: Sequence[Value]) -> Row:
    verdict = leak_verdicts()[one.name]
    first_multiclass = next(other for other in published_sets() if not other.binary)
    return Row((text(one.name), text("" if verdict == "none" else verdict), *values), rule=one == first_multiclass)
