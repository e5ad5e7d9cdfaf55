"""The statistics of the UCI benchmark as tables: average ranks of all methods, and the methods two by two."""

from __future__ import annotations

from dataclasses import replace

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import PAPER_KERNEL, notes_beside, published_figures, published_sets
from gpcnoise_cli.tables.statistics import ALPHA, Comparison, compare
from gpcnoise_cli.tables.table import Column, Row, Table, figure, table_of, text
from gpcnoise_cli.tables.uci_figures import content, labels_beside, labels_here, sets_of_kind


def comparisons(metric: str, measured: Measured) -> dict[str, Comparison]:
    """Over all sets and over the multi-class ones.

    The methods with published figures on all of them say which sets are complete; others, such as GPCsm on all sets,
    enter where they have a figure on each of these, so that a column that has just been begun takes no set away.
    """
    labels, published = labels_beside(metric, measured), published_figures(metric, PAPER_KERNEL)
    figures = {
        (one.name, label): here.mean
        for one in published_sets()
        for label in labels
        if isinstance(here := content(metric, measured, one, label), Figure)
    }
    found: dict[str, Comparison] = {}
    for kind, sets in {"all": published_sets(), "multi-class": sets_of_kind(binary=False)}.items():
        needed = [label for label in labels if all((one.name, label) in published for one in sets)]
        complete = [one.name for one in sets if all((one.name, label) in figures for label in needed)]
        ranked = [label for label in labels if all((name, label) in figures for name in complete)]
        comparison = compare(ranked, figures, complete, larger_is_better=metric == "acc")
        if comparison is not None:
            found[kind] = comparison
    return found


def rank_table(metric: str, kind: str, comparison: Comparison, measured: Measured) -> Table:
    """The average ranks, with the Friedman test below."""
    order = comparison.order
    columns = (Column("method", left=True), *(Column(comparison.methods[index]) for index in order))
    best = min(comparison.ranks)
    values = [figure(comparison.ranks[i], 2, best=comparison.ranks[i] == best) for i in order]
    n = len(comparison.sets)
    left_out = [label for label in labels_beside(metric, measured) if label not in comparison.methods]
    notes = (
        f"n = {n} sets with every figure: {', '.join(comparison.sets)}.",
        f"Friedman: chi-squared {comparison.friedman:.2f}, p = {comparison.friedman_p:.4f}; "
        f"critical difference of two ranks (Nemenyi, {ALPHA:g}): {comparison.critical_difference:.2f}.",
        *([f"not ranked, without a figure on some of these sets: {', '.join(left_out)}."] if left_out else []),
        *notes_beside(measured.protocol),
    )
    what = f"Average ranks by {metric}, {kind} sets, {measured.kernel} kernel, protocol {measured.protocol} (1 is best)"
    row = Row((text("average rank"), *values))
    return Table(f"uci-ranks-{metric}-{kind}", what, columns, (row,), notes)


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
    what = f"Pairwise Wilcoxon signed-rank tests by {metric}, {kind} sets, n = {len(comparison.sets)}"
    note = f"better, worse: on how many sets the first is; Holm corrects for all {len(comparison.pairs)} pairs."
    table = table_of(f"uci-pairs-{metric}-{kind}", what, rows)
    return replace(table, notes=(note, *notes_beside(measured.protocol)))
