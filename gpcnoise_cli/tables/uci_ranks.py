"""The statistics of the UCI benchmark as tables: average ranks of all methods, and the methods two by two."""

from __future__ import annotations

from gpcnoise_cli.tables.measured import Measured
from gpcnoise_cli.tables.published import METHODS, notes_beside, published_figures, published_sets
from gpcnoise_cli.tables.statistics import ALPHA, Comparison, compare
from gpcnoise_cli.tables.table import Column, Row, Table, figure, text
from gpcnoise_cli.tables.uci_tables import baselines_of

KINDS = ("all", "multi-class")


def comparisons(metric: str, measured: Measured) -> dict[str, Comparison]:
    """Over all sets without GPCsm, which has no binary figures, and over the multi-class sets with it."""
    figures = dict(published_figures(metric, "rbf"))
    figures = {key: value for key, value in figures.items() if key[1] not in METHODS}
    figures |= {(dataset, method): f.mean for (m, dataset, method), f in measured.figures.items() if m == metric}
    names = (*baselines_of(metric), *METHODS)
    everything = [one.name for one in published_sets()]
    multiclass = [one.name for one in published_sets() if not one.binary]
    asked = {"all": (names[:-1], everything), "multi-class": (names, multiclass)}
    found = {
        kind: compare(methods, figures, sets, larger_is_better=metric == "acc")
        for kind, (methods, sets) in asked.items()
    }
    return {kind: comparison for kind, comparison in found.items() if comparison is not None}


def rank_table(metric: str, kind: str, comparison: Comparison, measured: Measured) -> Table:
    """The average ranks, with the Friedman test below."""
    order = comparison.order
    columns = (Column("", left=True), *(Column(comparison.methods[index]) for index in order))
    best = min(comparison.ranks)
    values = [figure(comparison.ranks[i], 2, best=comparison.ranks[i] == best) for i in order]
    n = len(comparison.sets)
    notes = (
        f"n = {n} sets with every figure: {', '.join(comparison.sets)}.",
        f"Friedman: chi-squared {comparison.friedman:.2f}, p = {comparison.friedman_p:.4f}; "
        f"critical difference of two ranks (Nemenyi, {ALPHA:g}): {comparison.critical_difference:.2f}.",
        *notes_beside(measured.protocol),
    )
    what = f"Average ranks by {metric}, {kind} sets, {measured.kernel} kernel, protocol {measured.protocol} (1 is best)"
    row = Row((text("average rank"), *values))
    return Table(f"uci-ranks-{metric}-{kind}", what, columns, (row,), notes)


def pair_table(metric: str, kind: str, comparison: Comparison, measured: Measured) -> Table:
    """Wilcoxon's signed-rank test for each pair that has a method of ours."""
    columns = (
        Column("first", left=True),
        Column("second", left=True),
        Column("better"),
        Column("worse"),
        Column("p"),
        Column("p (Holm)"),
    )
    rows = [
        Row(
            (
                text(pair.first),
                text(pair.second),
                text(pair.wins),
                text(pair.losses),
                figure(pair.p, 4),
                figure(pair.p_holm, 4, best=pair.p_holm < ALPHA),
            )
        )
        for pair in comparison.pairs
        if pair.second in METHODS
    ]
    what = f"Pairwise Wilcoxon signed-rank tests by {metric}, {kind} sets, n = {len(comparison.sets)}"
    note = f"better, worse: on how many sets the first is; Holm corrects for all {len(comparison.pairs)} pairs."
    return Table(f"uci-pairs-{metric}-{kind}", what, columns, tuple(rows), (note, *notes_beside(measured.protocol)))
