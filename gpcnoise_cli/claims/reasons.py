"""Why a figure differs: how far the flip of a setting moves it towards the published one.

A contradiction has a reason only where cells are filed that flip one thing and close at least half of the gap on the
splits that both have; of several, the one that closes the most. An average moves with those of its sets that were
flipped. The gap of a comparison is what it is missed by, before and after all of its sets are flipped. Otherwise the
reason is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from gpcnoise_cli.claims.ablations import ABLATIONS, COPIED_COLUMN, Ablation
from gpcnoise_cli.claims.claim import Claim
from gpcnoise_cli.claims.evidence import Evidence, Source
from gpcnoise_cli.tables.published import COPIED, METRICS, published_figures

NOT_KNOWN = "not known"
LEAST_CLOSED = 0.5


@dataclass(frozen=True)
class Movement:
    """A figure before and after the flip, on the splits that both have, and the part of the gap that it closes."""

    ablation: str
    dataset: str
    label: str
    metric: str
    splits: int
    before: float
    after: float
    published: float | None

    @property
    def closed(self) -> float | None:
        """1 where the flip gives the published figure, 0 where it changes nothing, negative where it leads away."""
        if self.published is None or self.before == self.published:
            return None
        return 1 - abs(self.after - self.published) / abs(self.before - self.published)


def movement(
    ablation: Ablation, source: Source, kernel: str, dataset: str, label: str, metric: str, evidence: Evidence
) -> Movement | None:  # fmt: skip
    """How the flip moves one figure; None where no split has both."""
    published = published_figures(metric, kernel).get((dataset, label))
    return _moved(ablation, source, kernel, (dataset,), label, metric, evidence, published)


def _moved(
    ablation: Ablation, source: Source, kernel: str, names: Sequence[str], label: str, metric: str,
    evidence: Evidence, published: float | None,
) -> Movement | None:  # fmt: skip
    """The mean over sets, on the splits on which any of them was flipped; the others stay as they are."""
    flipped, there = ablation.evidence(evidence), ablation.source(source)
    lines = [evidence.values(source, kernel, name, label, metric) for name in names]
    flips = [flipped.values(there, kernel, name, label, metric) for name in names]
    both = [split for split in lines[0] if all(split in one for one in lines) and any(split in one for one in flips)]
    if not both:
        return None
    before = mean(line[split] for split in both for line in lines)
    after = mean(flip.get(split, line[split]) for split in both for line, flip in zip(lines, flips, strict=True))
    touched = ", ".join(name for name, flip in zip(names, flips, strict=True) if flip)
    return Movement(ablation.name, touched, label, metric, len(both), before, after, published)


def movements(ablation: Ablation, source: Source, kernel: str, evidence: Evidence) -> list[Movement]:
    """All figures that the filed cells of an ablation move."""
    flipped, there = ablation.evidence(evidence), ablation.source(source)
    keys = [(name, label) for one, its_kernel, name, label in flipped.cells if (one, its_kernel) == (there, kernel)]
    found = [
        movement(ablation, source, kernel, name, label, metric, evidence)
        for name, label in sorted(keys)
        for metric in METRICS
    ]
    return [one for one in found if one is not None]


def reason_for(claim: Claim, source: Source | None, published: float | None, evidence: Evidence) -> str | None:
    """The reason code of the ablation that explains most; `published` is what our figure was compared with."""
    if source is None:
        return None
    names = [name for name in claim.members() if evidence.values(source, claim.kernel, name, claim.label, claim.metric)]
    best: tuple[float, str] | None = None
    for ablation in ABLATIONS.values():
        if source.preset not in ablation.overrides:
            continue
        found = _explains(ablation, claim, source, names, published, evidence)
        best = max(filter(None, (best, found)), default=None)
    return best[1] if best else None


def _explains(
    ablation: Ablation,
    claim: Claim,
    source: Source,
    names: Sequence[str],
    published: float | None,
    evidence: Evidence,
) -> tuple[float, str] | None:
    """The part of the gap that the flip closes, if that is at least half of it, and the reason in words."""
    copied = ablation.other == "protocol" and {claim.label, claim.against} & {*COPIED}
    reason = COPIED_COLUMN if copied else ablation.reason
    if claim.value is None:
        closed = _closes(ablation, claim, source, names, evidence)
        return (closed, reason) if closed is not None and closed >= LEAST_CLOSED else None
    moved = _moved(ablation, source, claim.kernel, names, claim.label, claim.metric, evidence, published)
    if moved is None or moved.closed is None or moved.closed < LEAST_CLOSED:
        return None
    partly = len(names) > 1 and moved.dataset != ", ".join(names)
    return moved.closed, f"{reason} ({moved.dataset})" if partly else reason


def _closes(
    ablation: Ablation, claim: Claim, source: Source, names: Sequence[str], evidence: Evidence
) -> float | None:  # fmt: skip
    """The part that is gone of what a comparison is missed by; 1 where it comes out as the text says.

    A column that the paper copied is flipped alone: the paper compared it with cells that have the row number.
    """
    if claim.check != "better":
        return None
    here, there = (evidence, source), (ablation.evidence(evidence), ablation.source(source))
    alone = ablation.other == "protocol" and claim.against in COPIED

    def missed_by(first: tuple[Evidence, Source], second: tuple[Evidence, Source]) -> dict[int, float]:
        ours = first[0].averages(first[1], claim.kernel, names, claim.label, claim.metric)
        theirs = second[0].averages(second[1], claim.against_kernel, names, claim.against, claim.metric)
        sign = -1.0 if claim.metric == "acc" else 1.0
        return {split: sign * (ours[split] - theirs[split]) for split in ours.keys() & theirs.keys()}

    before, after = missed_by(here, here), missed_by(here if alone else there, there)
    both = before.keys() & after.keys()
    if not both:
        return None
    gap, rest = (mean(one[split] for split in both) + (claim.margin or 0.0) for one in (before, after))
    return 1 - max(rest, 0.0) / gap if gap > 0 else None
