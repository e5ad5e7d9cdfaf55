"""The statistics of the UCI benchmark as tables: average ranks of all methods, and the methods two by two.

Two questions, and two kinds of comparisons. As in the paper: its own methods, measured here, among the published
columns of others, over all sets or the multi-class ones. And, where other methods were measured too: all that was
measured here, over the sets that every compared column has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import (
    PAPER_KERNEL,
    PublishedSet,
    notes_beside,
    published_figures,
    published_sets,
)
from gpcnoise_cli.tables.statistics import ALPHA, Comparison, compare
from gpcnoise_cli.tables.table import Column, Row, Table, figure, table_of, text
from gpcnoise_cli.tables.uci_figures import (
    PUBLISHED,
    labels_here,
    paired_line,
    paper_methods,
    published_columns,
    sets_of_kind,
    shared,
)

_MEASURED = "measured-"


def comparisons(metric: str, measured: Measured) -> dict[str, Comparison]:
    """By the kind of sets: `all` and `multi-class` among the published; `measured-all`, … of what was measured."""
    found = {
        "all": _among_published(metric, measured, published_sets()),
        "multi-class": _among_published(metric, measured, sets_of_kind(binary=False)),
    }
    if measured.labels(metric) - set(paper_methods()):
        kinds = {"all": published_sets(), "binary": sets_of_kind(True), "multi-class": sets_of_kind(False)}
        found |= {f"{_MEASURED}{kind}": _of_measured(metric, measured, sets) for kind, sets in kinds.items()}
    return {kind: comparison for kind, comparison in found.items() if comparison is not None}


def _among_published(metric: str, measured: Measured, sets: Sequence[PublishedSet]) -> Comparison | None:
    """The columns with published figures on all sets say which are complete; GPCsm enters where it has these."""
    labels, published = [*published_columns(metric), *paper_methods()], published_figures(metric, PAPER_KERNEL)
    figures = {
        (one.name, label): here.mean
        for one in sets
        for label, here in paired_line(metric, measured, one, labels).items()
        if isinstance(here, Figure)
    }
    needed = [label for label in labels if all((one.name, label.removesuffix(PUBLISHED)) in published for one in sets)]
    complete = [one.name for one in sets if all((one.name, label) in figures for label in needed)]
    ranked = [label for label in labels if all((name, label) in figures for name in complete)]
    return compare(ranked, figures, complete, larger_is_better=metric == "acc")


def _of_measured(metric: str, measured: Measured, sets: Sequence[PublishedSet]) -> Comparison | None:
    common = shared([metric], measured, sets)
    figures = {
        (one.name, label): here.mean
        for one in common.sets
        for label, here in paired_line(metric, measured, one, common.labels).items()
        if isinstance(here, Figure)
    }
    return compare(common.labels, figures, [one.name for one in common.sets], larger_is_better=metric == "acc")


def is_measured(kind: str) -> bool:
    """Whether a comparison is of what was measured here alone."""
    return kind.startswith(_MEASURED)


def in_words(kind: str) -> str:
    """The kind of sets, and whose they are."""
    return f"{kind.removeprefix(_MEASURED)} sets" + (" that all compared methods have" * is_measured(kind))


def rank_table(metric: str, kind: str, comparison: Comparison, measured: Measured) -> Table:
    """The average ranks, with the Friedman test below."""
    order = comparison.order
    columns = (Column("method", left=True), *(Column(comparison.methods[index]) for index in order))
    best = min(comparison.ranks)
    values = [figure(comparison.ranks[i], 2, best=comparison.ranks[i] == best) for i in order]
    n = len(comparison.sets)
    candidates = labels_here(measured) if is_measured(kind) else (*published_columns(metric), *paper_methods())
    left_out = [label for label in candidates if label not in comparison.methods]
    why = "with a figure on too few sets" if is_measured(kind) else "without a figure on some of these sets"
    beside = () if is_measured(kind) else notes_beside(measured.protocol)
    notes = (
        f"n = {n} sets with every figure: {', '.join(comparison.sets)}.",
        f"splits of each set that all of those measured here have: {_splits(metric, comparison, measured)}.",
        f"Friedman: chi-squared {comparison.friedman:.2f}, p = {comparison.friedman_p:.4f}; "
        f"critical difference of two ranks (Nemenyi, {ALPHA:g}): {comparison.critical_difference:.2f}.",
        *([f"not ranked, {why}: {', '.join(left_out)}."] if left_out else []),
        *beside,
    )
    where = f"{measured.kernel} kernel, protocol {measured.protocol}"
    what = f"Average ranks by {metric}, {in_words(kind)}, {where} (1 is best)"
    row = Row((text("average rank"), *values))
    return Table(f"uci-ranks-{metric}-{kind}", what, columns, (row,), notes)


def _splits(metric: str, comparison: Comparison, measured: Measured) -> str:
    """How many splits the comparison rests on; a range where sets differ."""
    compared = [one for one in published_sets() if one.name in comparison.sets]
    lines = [paired_line(metric, measured, one, comparison.methods).values() for one in compared]
    counts = [here.splits for line in lines for here in line if isinstance(here, Figure) and not here.published]
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least} to {most}"


def pair_table(metric: str, kind: str, comparison: Comparison, measured: Measured) -> Table:
    """Wilcoxon's signed-rank test for each pair that has a method measured here."""
    here = labels_here(measured)
    rows = [
        {
            "first": pair.first,
            "second": pair.second,
            "better": pair.wins,
            "worse": pair.losses,
            "p": figure(pair.p, 4),
            "p (Holm)": figure(pair.p_holm, 4, best=pair.p_holm < ALPHA),
        }
        for pair in comparison.pairs
        if pair.first in here or pair.second in here
    ]
    what = f"Pairwise Wilcoxon signed-rank tests by {metric}, {in_words(kind)}, n = {len(comparison.sets)}"
    note = f"better, worse: on how many sets the first is; Holm corrects for all {len(comparison.pairs)} pairs."
    table = table_of(f"uci-pairs-{metric}-{kind}", what, rows)
    return replace(table, notes=(note, *(() if is_measured(kind) else notes_beside(measured.protocol))))
