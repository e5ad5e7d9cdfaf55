"""Settings that may make a figure differ from the published one, each flipped by itself, and the cells that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gpcnoise_cli.claims.evidence import ABLATIONS_FOLDER, Evidence, Source
from gpcnoise_cli.config.groups import either
from gpcnoise_cli.config.schema import SVGP
from gpcnoise_cli.data.registry import UCI_NAMES, get_spec
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.grid.uci import Grid
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, likelihood_spec, paper_likelihoods
from gpcnoise_cli.tables.uci import PRESETS, PROTOCOLS

COPIED_COLUMN = "copied column"


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
