"""A verdict on each claim, from the cells and figures of a results folder.

The cells of one preset and protocol are used for a claim: of the presets that are asked for, the one with the most
splits (then with the most sets), and preset paper where there are as many. An average or a statement about several sets
uses the splits that all of these sets have. A statement may compare a method with itself under an ablation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpcnoise_cli.claims.ablations import ABLATIONS
from gpcnoise_cli.claims.claim import NO_DATA, Claim, all_claims, column_of
from gpcnoise_cli.claims.equivalence import Decision, Sample, Verdict, below, same_as, within
from gpcnoise_cli.claims.evidence import Evidence, Source
from gpcnoise_cli.claims.reasons import NOT_KNOWN, reason_for
from gpcnoise_cli.claims.shown import SHOWN, judge_shown
from gpcnoise_cli.tables.published import published_figures, published_sets
from gpcnoise_cli.tables.uci import PRESETS, PROTOCOLS

_CELL_CHECKS = ("same", "better", "alike", "competitive", "rises")


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and all that it rests on."""

    claim: Claim
    verdict: Verdict
    note: str
    source: Source | None = None
    ours: Sample | None = None
    """Our mean over splits; for a statement, the mean of first minus second."""
    published: float | None = None
    """What it was compared with: for an average, of the sets that were run."""
    more: int | None = None
    reason: str = ""
    cells: tuple[str, ...] = ()

    @property
    def margin(self) -> float | None:
        return self.claim.margin

    @property
    def difference(self) -> float | None:
        return None if self.ours is None or self.published is None else self.ours.mean - self.published

    @property
    def lies_within_margin(self) -> bool:
        """Whether the difference does, whatever its error."""
        return self.difference is not None and self.margin is not None and abs(self.difference) <= self.margin


def judge_all(
    results: Path,
    presets: Sequence[str] = PRESETS,
    protocol: str = PROTOCOLS[0],
    claims: Sequence[Claim] | None = None,
) -> list[Judged]:
    """Every claim (or those that are given) by what `results` holds."""
    evidence = Evidence.read(results)
    judged = []
    for claim in all_claims() if claims is None else claims:
        one = judge(claim, evidence, presets, protocol)
        if one.verdict is Verdict.CONTRADICTED:
            reason = reason_for(one.claim, one.source, one.published, evidence)
            one = replace(one, reason=reason or NOT_KNOWN)
        judged.append(one)
    return judged


@dataclass(frozen=True)
class _Side:
    """Whose cells stand on one side of a comparison."""

    evidence: Evidence
    source: Source
    kernel: str
    label: str

    def averages(self, names: Sequence[str], metric: str) -> dict[int, float]:
        return self.evidence.averages(self.source, self.kernel, names, self.label, metric)

    def has(self, name: str, metric: str) -> bool:
        return bool(self.evidence.values(self.source, self.kernel, name, self.label, metric))

    def paths(self, name: str) -> tuple[str, ...]:
        return self.evidence.paths(self.source, self.kernel, name, self.label)


def _sides(claim: Claim, evidence: Evidence, source: Source) -> list[_Side]:
    """One for a figure and for what happens under a flip by itself, two for a comparison."""
    first = _Side(evidence, source, claim.kernel, claim.label)
    flip = ABLATIONS.get(claim.against)
    if flip is None:
        return [first, replace(first, label=claim.against, kernel=claim.against_kernel)] if claim.against else [first]
    flipped = replace(first, evidence=flip.evidence(evidence), source=flip.source(source))
    return [flipped] if claim.check == "rises" else [first, flipped]


def judge(claim: Claim, evidence: Evidence, presets: Sequence[str] = PRESETS, protocol: str = "paper") -> Judged:
    """One claim; the reason of a contradiction is not looked for."""
    if claim.check in SHOWN:
        return Judged(claim, *judge_shown(claim, evidence.base))
    if claim.check not in _CELL_CHECKS:
        return _without_cells(claim)
    source = _best_source(claim, evidence, presets, protocol)
    sides = _sides(claim, evidence, source)

    def here(name: str) -> bool:
        return all(side.has(name, claim.metric) for side in sides)

    names = [name for name in claim.members() if name not in NO_DATA or here(name)]
    if not names or not all(column_of(side.label) for side in sides):
        return _without_cells(claim)
    by_side = [side.averages(names, claim.metric) for side in sides]
    splits = sorted(set.intersection(*(set(one) for one in by_side)))
    if not splits:
        return Judged(claim, Verdict.NOT_COMPUTED, _lacking([name for name in names if not here(name)], names))
    left_out = [name for name in claim.members() if name not in names]
    cells = tuple(path for name in names for side in sides for path in side.paths(name))
    if claim.check == "same":
        return _judge_figure(claim, evidence, source, names, [by_side[0][split] for split in splits], left_out, cells)
    # A side by itself is compared with zero.
    lines = ([one[split] for one in by_side] for split in splits)
    ours = Sample.of([first - sum(second) for first, *second in lines])
    worse = ours if claim.metric == "nll" else ours.negative()
    margin = claim.margin or 0.0
    if claim.check == "alike":
        decision = within(worse, margin)
    else:  # competitive: not worse by as much as the margin
        decision = below(worse, -margin if claim.check == "competitive" else margin)
    note = _note(decision, ours, left_out)
    return Judged(claim, decision.verdict, note, source, ours, None, decision.more, "", cells)


def _judge_figure(
    claim: Claim,
    evidence: Evidence,
    source: Source,
    names: Sequence[str],
    values: Sequence[float],
    left_out: Sequence[str],
    cells: tuple[str, ...],
) -> Judged:
    assert claim.value is not None
    assert claim.margin is not None
    elsewhere, least, published = [], 0.0, claim.value
    if len(names) == 1 and not left_out:
        elsewhere = evidence.elsewhere(source, claim.kernel, names[0], claim.label, claim.metric)
        least = _one_row(names[0]) if claim.metric == "acc" else 0.0
    elif left_out:
        figures = published_figures(claim.metric, _published_kernel(claim))
        published = sum(figures[name, claim.label] for name in names) / len(names)
    ours = Sample.of(values, elsewhere=elsewhere, least_spread=least)
    decision = same_as(ours, published, claim.margin)
    note = _note(decision, ours, left_out)
    return Judged(claim, decision.verdict, note, source, ours, published, decision.more, "", cells)


def _published_kernel(claim: Claim) -> str:
    # Other authors' columns stand in the tables of the RBF kernel, whatever kernel they had.
    return "matern52+rbf" if claim.table == "V" else "rbf"


def _best_source(claim: Claim, evidence: Evidence, presets: Sequence[str], protocol: str) -> Source:
    sources = [Source(preset, protocol) for preset in PRESETS if preset in presets]
    names = [name for name in claim.members() if name not in NO_DATA] or list(claim.members())

    def extent(source: Source) -> tuple[int, int]:
        sides = _sides(claim, evidence, source)
        complete = [name for name in names if all(side.has(name, claim.metric) for side in sides)]
        return min(len(side.averages(names, claim.metric)) for side in sides), len(complete)

    return max(sources, key=extent)  # the first of equals, which is preset paper


def _one_row(name: str) -> float:
    """One test row in points of accuracy: counts that are equal on a few splits do not mean that there is no spread."""
    size = next(one.n for one in published_sets() if one.name == name)
    return 100 / (size - int(0.9 * size))


def _without_cells(claim: Claim) -> Judged:
    """A claim that no cell of the UCI grid can be behind."""
    labels = [label for label in (claim.label, claim.against) if label and " to " not in label]
    unknown = [label for label in labels if column_of(label) is None and label not in ABLATIONS]
    if unknown:
        return Judged(claim, Verdict.NOT_RUNNABLE, f"no method {unknown[0]} here")
    if claim.sets in NO_DATA:
        return Judged(claim, Verdict.NOT_RUNNABLE, NO_DATA[claim.sets])
    return Judged(claim, Verdict.NOT_COMPUTED, f"{claim.label} was not run on {claim.sets}")


def _lacking(lacking: Sequence[str], names: Sequence[str]) -> str:
    if len(names) == 1:
        return "no cell"
    return f"no cells: {len(lacking)} of {len(names)} sets" if lacking else "no split that all sets have"


def _note(decision: Decision, ours: Sample, left_out: Sequence[str]) -> str:
    without = f" (without {', '.join(left_out)})" if left_out else ""
    if decision.verdict is not Verdict.UNDECIDED:
        return without.strip()
    if ours.spread is None:
        return f"one split{without}"
    if decision.more is None:
        return f"more splits do not help{without}"
    return f"about {decision.more} more split{'' if decision.more == 1 else 's'}{without}"
