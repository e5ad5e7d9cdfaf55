"""The verdicts as tables, for the terminal, files and the page, and as plain records for JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpcnoise_cli.claims.ablations import ABLATIONS
from gpcnoise_cli.claims.claim import TABLES
from gpcnoise_cli.claims.equivalence import Verdict
from gpcnoise_cli.claims.judge import Judged
from gpcnoise_cli.claims.margins import ACC_POINTS, ALPHA, NLL_NATS, NLL_PART
from gpcnoise_cli.claims.reasons import Movement
from gpcnoise_cli.tables.table import Column, Row, Table, Value, figure, optional_figure, text
from gpcnoise_cli.tables.uci_figures import DIGITS

NOTES = (
    f"margin: {ACC_POINTS} points of accuracy; {NLL_NATS} nats and {NLL_PART:.0%} of the published nll. The 90% "
    f"interval of the difference by Student's t (two one-sided tests of {ALPHA:.0%}) inside it: confirmed; outside: "
    "contradicted; across: undecided. One split has no spread and decides nothing.",
    "here: the mean over splits ± its standard error; of a statement, the first method minus the second, or how far "
    "the nll ends above its lowest along training.",
)


PART = "‡"
PART_NOTE = f"{PART}: the published average over the sets that could be run here, from Tables III to V."


def counts(judged: Sequence[Judged]) -> dict[str, int]:
    """How many claims have each verdict, in a fixed order."""
    found = Counter(one.verdict for one in judged)
    return {verdict.value: found[verdict] for verdict in Verdict}


def whys(judged: Sequence[Judged]) -> dict[str, dict[str, int]]:
    """Why claims are contradicted, and why undecided, each with how many; the most frequent first."""
    found = {}
    for verdict in (Verdict.CONTRADICTED, Verdict.UNDECIDED):
        each = Counter(_in_general(one) for one in judged if one.verdict is verdict)
        found[verdict.value] = dict(each.most_common())
    return found


def _in_general(one: Judged) -> str:
    """The reason without the sets that it names, or what is missing without its number."""
    said = one.reason.partition(" (")[0] or why(one).partition(":")[0]
    return re.sub(r"^about \d+ more splits?$", "more splits would tell", said)


def counts_table(judged: Sequence[Judged]) -> Table:
    """The verdicts by table of the paper."""
    columns = (Column("table", left=True), Column("claims"), *(Column(verdict.value) for verdict in Verdict))
    rows = []
    for table in (*TABLES, "all"):
        some = [one for one in judged if table in (one.claim.table, "all")]
        if some:
            values = (text(table), text(len(some)), *(text(number) for number in counts(some).values()))
            rows.append(Row(values, rule=table == "all"))
    notes = [
        f"{verdict}: {', '.join(f'{said} {number}' for said, number in each.items())}."
        for verdict, each in whys(judged).items()
        if each
    ]
    near = [one.lies_within_margin for one in judged if one.verdict is Verdict.UNDECIDED and one.published is not None]
    if near:
        notes.append(f"undecided figures that lie within the margin as they stand: {sum(near)} of {len(near)}.")
    return Table("claims-counts", "Verdicts on the paper's claims", columns, tuple(rows), tuple(notes))


def figures_table(judged: Sequence[Judged]) -> Table:
    """One line for each published figure."""
    rows = []
    for one in judged:
        claim, digits = one.claim, DIGITS[one.claim.metric]
        values: dict[Column, Value] = {
            Column("set", left=True): text(_sets(one)),
            Column("method", left=True): text(claim.label),
            Column("metric", left=True): text(claim.metric),
            Column("kernel", left=True, optional=True): text(claim.kernel),
            Column("table", left=True): text(claim.table),
            Column("paper"): _published(one, digits),
            **_measured(one, digits),
        }
        rows.append(values)
    table = _table("claims-figures", "The paper's figures", rows)
    partly = any(value.mark for row in table.rows for value in row.values)
    return replace(table, notes=(*NOTES, PART_NOTE)) if partly else table


def statements_table(judged: Sequence[Judged], *, in_full: bool = False) -> Table:
    """One line for each statement of the text: by its name, or `in_full`, with what the paper says."""
    rows = []
    for one in judged:
        claim, digits = one.claim, DIGITS.get(one.claim.metric, 4)
        values: dict[Column, Value] = {
            Column("statement", left=True): text(claim.says if in_full else claim.name.removeprefix("text/")),
            Column("compared", left=True): text(_compared(one)),
            Column("metric", left=True): text(claim.metric),
            Column("sets", left=True, optional=True): text(claim.sets),
            **_measured(one, digits),
        }
        rows.append(values)
    return _table("claims-statements", "The paper's statements", rows)


def _published(one: Judged, digits: int) -> Value:
    """The figure that ours was compared with: of an average, over the sets that could be run."""
    value = one.claim.value if one.published is None else one.published
    assert value is not None
    return figure(value, digits, mark=PART if value != one.claim.value else "")


def _measured(one: Judged, digits: int) -> dict[Column, Value]:
    ours, signed = one.ours, one.claim.value is None
    return {
        Column("here"): text("") if ours is None else figure(ours.mean, digits, ours.error, sign=signed),
        Column("splits"): text("" if ours is None else ours.splits),
        Column("margin"): optional_figure(one.margin, digits, ""),
        Column("preset", left=True, optional=True): text("" if one.source is None else one.source.preset),
        Column("verdict", left=True): text(one.verdict.value),
        Column("why", left=True): text(why(one)),
    }


def _table(name: str, title: str, rows: Sequence[dict[Column, Value]]) -> Table:
    columns = tuple(rows[0]) if rows else ()
    return Table(name, title, columns, tuple(Row(tuple(row.values())) for row in rows), NOTES)


def claims_tables(judged: Sequence[Judged], *, in_full: bool = False) -> list[Table]:
    """The figures and the statements, each where there are any."""
    figures = [one for one in judged if one.claim.value is not None]
    statements = [one for one in judged if one.claim.value is None]
    tables = [figures_table(figures)] if figures else []
    return [*tables, statements_table(statements, in_full=in_full)] if statements else tables


def _sets(one: Judged) -> str:
    kind, without, _ = one.claim.sets.partition(" without ")
    return f"{kind} ({len(one.claim.members())})" if without else kind


def _compared(one: Judged) -> str:
    claim = one.claim
    signs = {"better": "><", "competitive": "≳≲", "alike": "≈≈"}.get(claim.check)
    other = f"{claim.label} {claim.against}" if claim.against in ABLATIONS else claim.against
    if claim.check == "rises":
        return other
    return f"{claim.label} {signs[claim.metric == 'nll']} {other}" if other and signs else claim.label


def why(one: Judged) -> str:
    """In a few words: the reason of a contradiction, what is missing for a decision, or why there is none."""
    if one.reason:
        return f"reason {one.reason}"
    return one.note.partition(" (")[0]  # the details are in the record


def record_of(one: Judged) -> dict[str, Any]:
    """Everything that is known, for JSON."""
    claim, source, ours = one.claim, one.source, one.ours
    return {
        "name": claim.name,
        "table": claim.table,
        "where": claim.where,
        "says": claim.says or f"{claim.label} has {claim.metric} {claim.value} on {claim.sets}",
        "set": claim.sets,
        "label": claim.label,
        "against": claim.against or None,
        "metric": claim.metric,
        "kernel": claim.kernel,
        "against_kernel": claim.against_kernel if claim.against else None,
        "check": claim.check,
        "published": claim.value,
        "compared_with": one.published,
        "margin": one.margin,
        "preset": source.preset if source else None,
        "protocol": source.protocol if source else None,
        "ours": ours.mean if ours else None,
        "standard_error": ours.error if ours else None,
        "splits": ours.splits if ours else 0,
        "difference": one.difference,
        "verdict": one.verdict.value,
        "more_splits": one.more,
        "reason": one.reason or None,
        "note": one.note,
        "command": claim.command(source.preset if source else "fast", source.protocol if source else "paper"),
        "cells": one.cells,
    }


def movements_table(moved: Sequence[Movement], title: str) -> Table:
    """How an ablation moved the figures."""
    columns = (
        Column("set", left=True),
        Column("method", left=True),
        Column("metric", left=True),
        Column("splits"),
        Column("before"),
        Column("after"),
        Column("moved"),
        Column("paper"),
        Column("gap closed"),
    )
    rows = []
    for one in moved:
        digits = DIGITS[one.metric]
        closed = "" if one.closed is None else f"{one.closed:.0%}"
        rows.append(
            Row(
                (
                    text(one.dataset),
                    text(one.label),
                    text(one.metric),
                    text(one.splits),
                    figure(one.before, digits),
                    figure(one.after, digits),
                    figure(one.after - one.before, digits, sign=True),
                    optional_figure(one.published, digits),
                    Value(closed, one.closed),
                )
            )
        )
    return Table("ablation", title, columns, tuple(rows))
