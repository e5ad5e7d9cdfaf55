"""Why a figure differs: a setting flipped, and how far that moves the figure towards the published one.

A contradiction has a reason only where cells are filed that flip one thing and close at least half of the gap on the
splits that both have; of several, the one that closes the most. Otherwise its reason is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from gpcnoise_cli.claims.claim import Claim, column_of
from gpcnoise_cli.claims.evidence import ABLATIONS_FOLDER, Evidence, Source
from gpcnoise_cli.config.groups import either
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
    """One thing flipped, for each preset in which it can be; computed for `datasets` and `likelihoods` by default."""

    name: str
    reason: str
    says: str
    overrides: Mapping[str, tuple[str, ...]]
    datasets: tuple[str, ...]
    likelihoods: tuple[str, ...]
    other_protocol: bool = False

    def source(self, flipped_from: Source) -> Source:
        """Whose cells show the flip."""
        if not self.other_protocol:
            return flipped_from
        return Source(flipped_from.preset, next(name for name in PROTOCOLS if name != flipped_from.protocol))

    def grid(
        self,
        source: Source,
        kernel: str,
        splits: Sequence[int],
        datasets: Sequence[str] = (),
        likelihoods: Sequence[str] = (),
    ) -> Grid:
        """The cells that flip it, starting from `source`."""
        if source.preset not in self.overrides:
            raise UsageError(
                f"{self.name} flips nothing in preset {source.preset}; name {either(list(self.overrides))}."
            )
        return Grid(
            source.preset,
            self.source(source).protocol,
            kernel,
            tuple(datasets) or self.datasets,
            tuple(likelihoods) or self.likelihoods,
            tuple(splits),
            self.overrides[source.preset],
        )

    def folder(self, results: Path) -> Path:
        return results / ABLATIONS_FOLDER / self.name

    def evidence(self, results: Path) -> Evidence:
        """The cells that are filed for it."""
        return Evidence.read(self.folder(results), departing=True)


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
            other_protocol=True,
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
_OF_GAUSSIAN_NOISE = {"delta-prior": "δ, so there is no prior", "squash": "product of CDFs"}


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
    ablation: Ablation, source: Source, kernel: str, dataset: str, label: str, metric: str,
    evidence: Evidence, flipped: Evidence,
) -> Movement | None:  # fmt: skip
    """How the flip moves one figure; None where no split has both."""
    before = evidence.values(source, kernel, dataset, label, metric)
    there = ablation.source(source)
    after = flipped.values(there, kernel, dataset, label, metric)
    if not after and ablation.other_protocol:  # the grid of the other protocol is the same flip
        after = evidence.values(there, kernel, dataset, label, metric)
    both = sorted(before.keys() & after.keys())
    if not both:
        return None
    published = published_figures(metric, kernel).get((dataset, label))
    return Movement(
        ablation.name, dataset, label, metric, len(both),
        mean(before[split] for split in both), mean(after[split] for split in both), published,
    )  # fmt: skip


def movements(ablation: Ablation, source: Source, kernel: str, evidence: Evidence, flipped: Evidence) -> list[Movement]:
    """All figures that the filed cells of an ablation move."""
    there = ablation.source(source)
    keys = [(name, label) for one, its_kernel, name, label in flipped.cells if (one, its_kernel) == (there, kernel)]
    found = [
        movement(ablation, source, kernel, name, label, metric, evidence, flipped)
        for name, label in sorted(keys)
        for metric in METRICS
    ]
    return [one for one in found if one is not None]


def reason_for(claim: Claim, source: Source | None, evidence: Evidence, cache: dict[str, Evidence]) -> str | None:
    """The reason code of the ablation that closes most of the gap, if that is at least half of it."""
    if source is None or not claim.is_figure or column_of(claim.label) is None:
        return None
    best: tuple[float, str] | None = None
    for ablation in ABLATIONS.values():
        if ablation.name not in cache:
            cache[ablation.name] = ablation.evidence(evidence.base)
        moved = movement(
            ablation, source, claim.kernel, claim.sets, claim.label, claim.metric, evidence, cache[ablation.name]
        )
        if moved is not None and moved.closed is not None and moved.closed >= LEAST_CLOSED:
            copied = claim.label in COPIED and ablation.other_protocol
            best = max(best or (0.0, ""), (moved.closed, COPIED_COLUMN if copied else ablation.reason))
    return best[1] if best else None
