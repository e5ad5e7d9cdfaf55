"""Why a figure differs: a setting flipped, and how far that moves the figure towards the published one.

A contradiction has a reason only where cells are filed that flip one thing and close at least half of the gap on the
splits that both have; of several, the one that closes the most. An average moves with those of its sets that were
flipped. A statement has a reason where it holds with all of its sets flipped. Otherwise the reason is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Literal

from gpcnoise_cli.claims.claim import Claim
from gpcnoise_cli.claims.evidence import ABLATIONS_FOLDER, Evidence, Source
from gpcnoise_cli.config.groups import either
from gpcnoise_cli.config.schema import SVGP
from gpcnoise_cli.data.registry import UCI_NAMES, get_spec
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.grid.uci import Grid
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, likelihood_spec, paper_likelihoods
from gpcnoise_cli.tables.published import COPIED, METRICS, published_figures
from gpcnoise_cli.tables.uci import PRESETS, PROTOCOLS

NOT_KNOWN = "not known"
COPIED_COLUMN = "copied column"
LEAST_CLOSED = 0.5


@dataclass(frozen=True)
class Ablation:
    """One thing flipped, for each preset in which it can be; computed for `datasets` and `methods` by default, of which
    the SVGP has a column for each of `likelihoods`.

    With `other` it is the other protocol or preset that is trained. If nothing else is flipped, those cells are a plain
    grid's, and are filed there.
    """

    name: str
    reason: str
    says: str
    overrides: Mapping[str, tuple[str, ...]]
    datasets: tuple[str, ...]
    likelihoods: tuple[str, ...] = ()
    methods: tuple[str, ...] = (SVGP,)
    other: Literal["protocol", "preset"] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether its cells are those of a plain grid."""
        return self.other is not None and not any(self.overrides.values())

    def source(self, flipped_from: Source) -> Source:
        """Whose cells show the flip."""
        if self.other == "protocol":
            return replace(flipped_from, protocol=next(name for name in PROTOCOLS if name != flipped_from.protocol))
        if self.other == "preset":
            return replace(flipped_from, preset=next(name for name in PRESETS if name != flipped_from.preset))
        return flipped_from

    def grid(
        self,
        source: Source,
        kernel: str,
        splits: Sequence[int],
        datasets: Sequence[str] | None = None,
        likelihoods: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
    ) -> Grid:
        """The cells that flip it, starting from `source`; None stands for its own."""
        if source.preset not in self.overrides:
            raise UsageError(
                f"{self.name} flips nothing in preset {source.preset}; name {either(list(self.overrides))}."
            )
        there = self.source(source)
        return Grid(
            there.preset,
            there.protocol,
            kernel,
            self.datasets if datasets is None else tuple(datasets),
            self.likelihoods if likelihoods is None else tuple(likelihoods),
            tuple(splits),
            self.overrides[source.preset],
            methods=self.methods if methods is None else tuple(methods),
        )

    def folder(self, results: Path) -> Path:
        return results if self.is_plain else results / ABLATIONS_FOLDER / self.name

    def evidence(self, plain: Evidence) -> Evidence:
        """The cells that are filed for it, beside or among those of the plain grids."""
        return plain if self.is_plain else plain.flipped(self.name)


def _both(*overrides: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(PRESETS, overrides)


_WITH_DELTA = tuple(name for name in paper_likelihoods() if LIKELIHOODS[name].has_delta)
ABLATIONS: dict[str, Ablation] = {
    one.name: one
    for one in (
        Ablation(
            "row-number",
            "row number",
            "the other protocol: without the row number as a feature instead of with it",
            _both(),
            ("magic", "chess-krvk", "wall-following", "mushroom", "statlog-landsat", "nursery"),
            ("probit", "softmax"),
            other="protocol",
        ),
        Ablation(
            "test-file",
            COPIED_COLUMN,
            "the test file that comes with a set instead of random rows, and no row number",
            _both("dataset.test_rows=archive"),
            tuple(name for name in UCI_NAMES if get_spec(name).has_test_file),
            methods=("selu",),
            other="protocol",
        ),
        Ablation(
            "training",
            "the paper's training",
            "preset paper instead of fast: 10,000 steps of Adam from 0.1√d, δ by gradient, a kernel for every class",
            {"fast": ()},
            ("connect-4",),
            _WITH_DELTA,
            other="preset",
        ),
        Ablation(
            "notebooks",
            "the notebooks' training",
            "the same training with one kernel for all classes, as in the authors' notebooks",
            {"fast": ("kernel.shared=true",)},
            ("letter",),
            ("probit", "softmax"),
            other="preset",
        ),
        Ablation(
            "ard",
            "ARD",
            "one lengthscale for all features instead of one each",
            _both("kernel.ard=false"),
            ("magic", "thyroid", "wall-following"),
            ("probit", "softmax"),
        ),
        Ablation(
            "shared-kernel",
            "kernel per class",
            "one kernel for all classes, as in the authors' notebooks, instead of one each",
            _both("kernel.shared=true"),
            ("thyroid", "wall-following", "page-blocks"),
            ("probit", "softmax"),
        ),
        Ablation(
            "kernel-per-class",
            "kernel per class",
            "one kernel for each class where preset fast, with more than ten of them, has one for all",
            {"fast": ("kernel.shared=false",)},
            ("letter", "chess-krvk"),
            ("probit", "logit"),
        ),
        Ablation(
            "delta-prior",
            "δ prior",
            "a Beta(0.2, 5) prior on a δ learned by gradient, as in the authors' code",
            # The prior acts on a learned δ; preset fast sets δ to its optimum in closed form.
            {"paper": ("delta.prior=beta",), "fast": ("delta=free", "delta.prior=beta")},
            ("adult", "waveform-noise"),
            _WITH_DELTA,
        ),
        Ablation(
            "fixed-delta",
            "fixed δ",
            "δ fixed at 1e-3 instead of learned",
            _both("delta=fixed"),
            ("adult", "waveform-noise"),
            _WITH_DELTA,
        ),
        Ablation(
            "squash",
            "squashed CDFs",
            "every CDF in S kept 1e-4 from 0 and 1, on Gauss–Hermite nodes, as in the authors' code",
            _both("likelihood.squash=1e-4"),
            ("waveform-noise", "wine-quality-white", "wall-following"),
            _WITH_DELTA,
        ),
        Ablation(
            "k-means",
            "k-means",
            "inducing points from SciPy's k-means, the best of several starts, as in the authors' code",
            _both("inducing_start=scipy"),
            ("ringnorm", "wine-quality-white", "waveform-noise"),
            ("probit", "softmax"),
        ),
        Ablation(
            "steps",
            "number of steps",
            "many more steps, without an early end",
            {"paper": ("iterations=20000",), "fast": ("iterations=3000", "optimizer.early_stop=false")},
            ("connect-4", "adult", "ringnorm"),
            _WITH_DELTA,
        ),
    )
}
_OF_GAUSSIAN_NOISE = {
    "delta-prior": "δ, so there is no prior",
    "fixed-delta": "δ",
    "squash": "product of CDFs",
}


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


def get_ablation(name: str) -> Ablation:
    if name not in ABLATIONS:
        raise unknown_choice("ablation", name, ABLATIONS)
    return ABLATIONS[name]


def check_likelihoods(ablation: Ablation, likelihoods: Sequence[str]) -> None:
    """Refuse a flip that does not concern what is trained."""
    without = [name for name in likelihoods if not likelihood_spec(name).has_delta]
    if ablation.name in _OF_GAUSSIAN_NOISE and without:
        raise UsageError(
            f"{without[0]} has no {_OF_GAUSSIAN_NOISE[ablation.name]} to flip; name {either(_WITH_DELTA)}."
        )


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
        return (1.0, reason) if _makes_true(ablation, claim, source, names, evidence) else None
    moved = _moved(ablation, source, claim.kernel, names, claim.label, claim.metric, evidence, published)
    if moved is None or moved.closed is None or moved.closed < LEAST_CLOSED:
        return None
    partly = len(names) > 1 and moved.dataset != ", ".join(names)
    return moved.closed, f"{reason} ({moved.dataset})" if partly else reason


def _makes_true(ablation: Ablation, claim: Claim, source: Source, names: Sequence[str], evidence: Evidence) -> bool:
    """Whether a comparison comes out as the text says, on all its sets flipped.

    A column that the paper copied is flipped alone: the paper compared it with cells that have the row number.
    """
    if claim.check != "better":
        return False
    flipped = ablation.evidence(evidence), ablation.source(source)
    alone = ablation.other == "protocol" and claim.against in COPIED
    sides = (
        (*((evidence, source) if alone else flipped), claim.kernel, claim.label),
        (*flipped, claim.against_kernel, claim.against),
    )
    first, second = (cells.averages(whose, kernel, names, label, claim.metric) for cells, whose, kernel, label in sides)
    sign = -1.0 if claim.metric == "acc" else 1.0
    differences = [sign * (first[split] - second[split]) for split in first.keys() & second.keys()]
    return bool(differences) and mean(differences) < -(claim.margin or 0.0)
