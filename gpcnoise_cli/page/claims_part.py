"""The verdicts on the paper's claims as a part of the page, with the ablations that give reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpcnoise_cli.claims.ablations import ABLATIONS
from gpcnoise_cli.claims.equivalence import Verdict
from gpcnoise_cli.claims.evidence import Evidence, Source
from gpcnoise_cli.claims.judge import Judged, judge_all
from gpcnoise_cli.claims.reasons import movements
from gpcnoise_cli.claims.table import claims_tables, counts, counts_table, movements_table
from gpcnoise_cli.page.drawings import Drawing
from gpcnoise_cli.page.table_view import TableView, view_table
from gpcnoise_cli.page.verdict_map import verdict_drawing
from gpcnoise_cli.tables.uci import PRESETS, PROTOCOLS


@dataclass(frozen=True)
class ClaimsPart:
    counts: TableView
    map: Drawing | None
    tables: tuple[TableView, ...]
    ablations: tuple[TableView, ...]
    told: str


def claims_part(folder: Path) -> ClaimsPart | None:
    """None where the folder has no cells of the benchmark in their usual place."""
    evidence = Evidence.read(folder)
    if not evidence:
        return None
    judged = judge_all(folder)
    number = {name: count for name, count in counts(judged).items() if count}
    told = f"{len(judged)} claims: " + ", ".join(f"{count} {name}" for name, count in number.items()) + "."
    by_table = replace(view_table(counts_table(judged)), sortable=False)
    return ClaimsPart(
        by_table,
        verdict_drawing(judged),
        tuple(map(view_table, claims_tables(judged, in_full=True))),
        _ablations(folder, evidence, judged),
        told,
    )


def _ablations(folder: Path, evidence: Evidence, judged: Sequence[Judged]) -> tuple[TableView, ...]:
    """Of a flip that is a grid of its own, only the contradicted figures."""
    contradicted = {
        (one.claim.sets, one.claim.label, one.claim.metric, one.claim.kernel)
        for one in judged
        if one.claim.is_figure and one.verdict is Verdict.CONTRADICTED
    }
    views = []
    for ablation in ABLATIONS.values():
        filed = ablation.evidence(evidence)
        for preset in PRESETS:
            for protocol in PROTOCOLS:
                for kernel in sorted({kernel for _, kernel, _, _ in filed.cells}):
                    moved = [
                        one
                        for one in movements(ablation, Source(preset, protocol), kernel, evidence)
                        if not ablation.is_plain or (one.dataset, one.label, one.metric, kernel) in contradicted
                    ]
                    if moved:
                        title = f"{ablation.reason}: {ablation.says} (preset {preset}, protocol {protocol}, {kernel})"
                        name = f"ablation-{ablation.name}-{preset}-{protocol}-{kernel.replace('+', '-')}"
                        views.append(view_table(movements_table(moved, title), name=name))
    return tuple(views)
