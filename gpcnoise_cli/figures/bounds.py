"""How loose the bounds on the expected log likelihood are, and what a tighter one does to a trained model.

First, per point: each bound beside a reference value of E_q(f)[log p(y|f)], averaged over random marginals, as their
variance ν grows. For the softmax the reference is quasi-Monte-Carlo; for the binary probit it is quadrature, and beside
the bound of the noisy model (eq_elbo_binary) stands the term of L_HS (section II-C), log p(y|g ~ N(μ, 1)) − ν/2.
Second, on data: the same training with the paper's softmax bound and with the tilted one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.quoting import Scalar
from gpcnoise_cli.data.folder import present_sets
from gpcnoise_cli.figures.experiment import Experiment, Row, Settings, datasets, number
from gpcnoise_cli.figures.style import BLUE, GREEN, GREY, PAGE, PURPLE, VERMILION, label_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Runs

Array = NDArray[np.float64]

CLASSES = (3, 10, 26)
VARIANCES = np.geomspace(0.01, 30.0, 25)
DELTAS = (1e-3, 0.1)
REFERENCE_DRAWS = 4096
SOFTMAX_BOUNDS = ("gumbel", "tilted")
SETS = (
    "page-blocks",
    "thyroid",
    "wall-following",
    "waveform-noise",
    "wine-quality-white",
    "statlog-landsat",
    "pendigits",
)


@dataclass(frozen=True)
class BoundsSettings(Settings):
    """Random marginals for the curves; preset fast with either bound for the sets."""

    points: int = number(200, "Random marginals behind each curve.")
    iterations: int | None = number(None, "Iterations on each set.")
    inducing: int = number(300, "Inducing points.", short="-m")
    splits: int = number(1, "Random splits of each set.")
    sets: tuple[str, ...] = datasets(
        SETS,
        "Sets to train on with either bound",
        empty=("--curves-only", "Train nothing: only the bounds as such."),
    )

    def departures(self) -> dict[str, Any]:
        """No sets at all leaves the second half out; the first is complete by itself."""
        return {key: value for key, value in super().departures().items() if value != ()}


@dataclass(frozen=True)
class LooseCurve:
    """The reference and the bounds at each variance, averaged over points."""

    panel: str
    variances: Array
    reference: Array
    bounds: dict[str, Array]

    def gap(self, bound: str) -> Array:
        return self.reference - self.bounds[bound]


@dataclass(frozen=True)
class Comparison:
    """One split of one set, trained with either softmax bound."""

    dataset: str
    split: int
    n_test: int
    acc: dict[str, float]
    nll: dict[str, float]
    seconds: dict[str, float]


@dataclass(frozen=True)
class BoundsResult:
    softmax: tuple[LooseCurve, ...]
    binary: tuple[LooseCurve, ...]
    comparisons: tuple[Comparison, ...]
    absent: tuple[str, ...]

    def tables(self) -> dict[str, Sequence[Row]]:
        curves = [
            {"panel": curve.panel, "variance": v, "reference": curve.reference[i], "bound": name, "value": values[i]}
            for curve in (*self.softmax, *self.binary)
            for name, values in curve.bounds.items()
            for i, v in enumerate(curve.variances)
        ]
        tables: dict[str, Sequence[Row]] = {"bounds": curves}
        if self.comparisons:
            tables["tilted"] = [
                {
                    "dataset": c.dataset,
                    "split": c.split,
                    "n_test": c.n_test,
                    **{f"{metric}_{b}": getattr(c, metric)[b] for metric in ("acc", "nll", "seconds") for b in c.acc},
                }
                for c in self.comparisons
            ]
        return tables

    def findings(self) -> list[str]:
        said = []
        for curve in self.softmax:
            at = int(np.argmin(np.abs(curve.variances - 4.0)))
            gumbel, tilted = (float(curve.gap(bound)[at]) for bound in SOFTMAX_BOUNDS)
            said.append(
                f"Softmax, {curve.panel}, ν = {curve.variances[at]:.1f}: the paper's bound is {gumbel:.2f} nats below "
                f"E[log p], the tilted one {tilted:.2f} ({100 * (1 - tilted / gumbel):.0f}% of the gap closed)."
            )
        for curve in self.binary:
            ours, hensman = curve.gap("eq_elbo_binary"), curve.gap("L_HS")
            better = ours < hensman
            crossing = curve.variances[int(np.argmax(better))] if better.any() else None
            where = (
                "at no variance"
                if crossing is None
                else "at every variance"
                if better.all()
                else f"from ν ≈ {crossing:.2g} on"
                if better[-1]
                else f"for some variances from ν ≈ {crossing:.2g}"
            )
            at = int(np.argmin(np.abs(curve.variances - 4.0)))
            said.append(
                f"Probit, {curve.panel}: for the same q(f), eq_elbo_binary is tighter than L_HS {where}; at ν = "
                f"{curve.variances[at]:.1f} the gaps are {ours[at]:.2f} and {hensman[at]:.2f} nats, at ν = "
                f"{curve.variances[0]:g} they are {ours[0]:.2f} and {hensman[0]:.3f}."
            )
        below = min(float(np.min(curve.gap(b))) for curve in (*self.softmax, *self.binary) for b in curve.bounds)
        said.append(
            f"Every bound lies below its reference (smallest gap {below:.1e})."
            if below > -5e-3
            else f"A bound exceeds its reference by {-below:.1e}: it is no bound."
        )
        return said + self._about_training() + self._about_absent()

    def gains(self, metric: str) -> dict[str, list[float]]:
        """Tilted minus gumbel on each set, a value for each split."""
        gains: dict[str, list[float]] = {}
        for c in self.comparisons:
            values = getattr(c, metric)
            gains.setdefault(c.dataset, []).append(values["tilted"] - values["gumbel"])
        return gains

    def _about_training(self) -> list[str]:
        if not self.comparisons:
            return []
        nll, acc = ({name: np.mean(gains) for name, gains in self.gains(metric).items()} for metric in ("nll", "acc"))
        lower, higher = [name for name in nll if nll[name] < 0], [name for name in acc if acc[name] > 0]
        return [
            f"Trained with the tilted bound instead of the paper's, the nll is lower on {len(lower)} of {len(nll)} "
            f"sets ({', '.join(lower) or 'none'}) and changes by {np.mean([*nll.values()]):+.4f} nats on average; "
            f"the accuracy is higher on {len(higher)} ({', '.join(higher) or 'none'}) and changes by "
            f"{np.mean([*acc.values()]):+.2f} points on average."
        ]

    def _about_absent(self) -> list[str]:
        return [f"Not in the data folder, so left out: {', '.join(self.absent)}."] if self.absent else []

    def summary(self) -> dict[str, Any]:
        at = int(np.argmin(np.abs(VARIANCES - 4.0)))
        return {
            "gap_at_variance": float(VARIANCES[at]),
            "softmax_gaps": {c.panel: {b: float(c.gap(b)[at]) for b in c.bounds} for c in self.softmax},
            "binary_gaps": {c.panel: {b: float(c.gap(b)[at]) for b in c.bounds} for c in self.binary},
            "tilted_against_gumbel": [
                {"dataset": c.dataset, "split": c.split, "acc": c.acc, "nll": c.nll} for c in self.comparisons
            ],
            "absent": list(self.absent),
        }


def compute(settings: BoundsSettings, runs: Runs) -> BoundsResult:
    """Curves first, then one pair of trainings per set and split."""
    from gpcnoise_cli.runtime import load_tensorflow

    load_tensorflow()
    softmax = tuple(softmax_curve(classes, settings.points) for classes in CLASSES)
    binary = tuple(binary_curve(delta, settings.points) for delta in DELTAS)
    here, absent = present_sets(settings.sets)
    comparisons = tuple(compare(name, split, settings, runs) for name in here for split in range(settings.splits))
    return BoundsResult(softmax, binary, comparisons, tuple(absent))


def softmax_curve(classes: int, points: int, seed: int = 0) -> LooseCurve:
    """Marginals with means N(0, 2) and variances spread by a factor of two about ν; the label is drawn from them."""
    import tensorflow as tf

    from gpcnoise_cli.likelihoods.registry import build_likelihood
    from gpcnoise_cli.predictor.nodes import normal_draws

    rng = np.random.default_rng(seed)
    mu = rng.normal(0.0, np.sqrt(2.0), (points, classes))
    spread = 2.0 ** rng.uniform(-1.0, 1.0, (points, classes))
    y = np.array([rng.choice(classes, p=np.exp(row) / np.exp(row).sum()) for row in mu])
    draws = normal_draws(REFERENCE_DRAWS, classes, seed)
    likelihoods = {bound: build_likelihood("softmax", classes, bound=bound) for bound in SOFTMAX_BOUNDS}
    reference: list[float] = []
    values: dict[str, list[float]] = {bound: [] for bound in SOFTMAX_BOUNDS}
    for variance in VARIANCES:
        nu = variance * spread
        total = 0.0
        for row in range(points):
            f = mu[row] + np.sqrt(nu[row]) * draws
            top = f.max(axis=1)
            total += float(np.mean(f[:, y[row]] - top - np.log(np.exp(f - top[:, None]).sum(axis=1))))
        reference.append(total / points)
        for bound, likelihood in likelihoods.items():
            terms = likelihood.variational_expectations(np.zeros((points, 0)), mu, nu, y[:, None])
            values[bound].append(float(tf.reduce_mean(terms)))
    bounds = {bound: np.array(column) for bound, column in values.items()}
    return LooseCurve(f"C = {classes}", VARIANCES, np.array(reference), bounds)


def binary_curve(delta: float, points: int, seed: int = 0) -> LooseCurve:
    """Probit (a = 1) with label noise δ: means N(0, 4), the label drawn from the model at the mean."""
    import tensorflow as tf
    from scipy.special import ndtr

    from gpcnoise_cli.likelihoods.registry import build_likelihood
    from gpcnoise_cli.predictor.nodes import gauss_hermite

    rng = np.random.default_rng(seed)
    mu = rng.normal(0.0, 2.0, points)
    y = (rng.uniform(size=points) < (1 - 2 * delta) * ndtr(mu) + delta).astype(int)
    sign = 2.0 * y - 1.0
    likelihood = build_likelihood("probit", 2, delta=delta, delta_mode="fixed")
    nodes, weights = gauss_hermite(150)
    reference, ours, hensman = [], [], []
    for nu in VARIANCES:
        f = mu[:, None] + np.sqrt(nu) * nodes
        reference.append(float(np.mean(np.log((1 - 2 * delta) * ndtr(sign[:, None] * f) + delta) @ weights)))
        terms = likelihood.variational_expectations(
            np.zeros((points, 0)), mu[:, None], np.full((points, 1), nu), y[:, None]
        )
        ours.append(float(tf.reduce_mean(terms)))
        hensman.append(float(np.mean(np.log((1 - 2 * delta) * ndtr(sign * mu) + delta) - nu / 2)))
    bounds = {"eq_elbo_binary": np.array(ours), "L_HS": np.array(hensman)}
    return LooseCurve(f"δ = {delta:g}", VARIANCES, np.array(reference), bounds)


def compare(dataset: str, split: int, settings: BoundsSettings, runs: Runs) -> Comparison:
    """The preset `fast` with either bound and nothing else changed."""
    common: dict[str, Scalar] = {
        "preset": "fast",
        "dataset": dataset,
        "likelihood": "softmax",
        "inducing": settings.inducing,
        "split": split,
    }
    if settings.iterations is not None:
        common["iterations"] = settings.iterations
    records = {bound: runs.train({**common, "likelihood.bound": bound}).record for bound in SOFTMAX_BOUNDS}

    def by_bound(key: str) -> dict[str, float]:
        return {bound: float(record[key]) for bound, record in records.items()}

    n_test = int(records["gumbel"]["n_test"])
    return Comparison(dataset, split, n_test, by_bound("acc"), by_bound("nll"), by_bound("train_seconds"))


_LOOKS = {
    "gumbel": (VERMILION, "--", "gumbel: the paper's\n(eq_ELBO_sm)"),
    "tilted": (BLUE, "-", "tilted"),
    "eq_elbo_binary": (GREEN, "-.", "the paper's\n(eq_elbo_binary)"),
    "L_HS": (PURPLE, ":", "Hensman's L_HS\n(section II-C)"),
}


def draw(result: BoundsResult, note: str) -> dict[str, Figure]:
    """How far each bound lies below E[log p] as the variance grows, and what tilting does in training."""
    figures = {"bounds": _curves(result, note)}
    if result.comparisons:
        figures["tilted"] = _comparisons(result, note)
    return figures


def _curves(result: BoundsResult, note: str) -> Figure:
    figure = new_figure(PAGE, 4.6, note=note)
    parts: Any = figure.subfigures(2, 1)
    for part, curves, what in zip(parts, (result.softmax, result.binary), ("softmax", "probit, a = 1"), strict=True):
        panels = part.subplots(1, len(curves), sharey=True)
        for axes, curve in zip(panels, curves, strict=True):
            _panel(axes, curve)
            label_axes(axes, x="variance ν of q(f)", title=f"{what}, {curve.panel}")
        panels[0].set_ylabel("E[log p(y|f)] − bound, nats")
        part.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", alignment="left")
    return figure


def _panel(axes: Axes, curve: LooseCurve) -> None:
    for name in curve.bounds:
        colour, line, label = _LOOKS[name]
        axes.plot(curve.variances, curve.gap(name), color=colour, linestyle=line, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1e-3, 60.0)


def _comparisons(result: BoundsResult, note: str) -> Figure:
    """Tilted minus gumbel: side by side the two would hide each other."""
    names = list(result.gains("nll"))
    figure = new_figure(PAGE, 1.1 + 0.3 * len(names), note=note)
    panels = figure.subplots(1, 2, sharey=True)
    labels = "nll, tilted − gumbel, nats (left is better)", "accuracy, tilted − gumbel, points (right is better)"
    for axes, metric, label, better in zip(panels, ("nll", "acc"), labels, (-1, 1), strict=True):
        for row, gains in enumerate(result.gains(metric).values()):
            mean = float(np.mean(gains))
            axes.barh(row, mean, height=0.5, color=BLUE if better * mean > 0 else GREY)
            if len(gains) > 1:
                axes.plot(gains, np.full(len(gains), row), ".", color=VERMILION, markersize=4)
        axes.axvline(0.0, color="black", lw=0.8)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        label_axes(axes, x=label)
        axes.margins(x=0.08)
    return figure


EXPERIMENT = Experiment(
    "bounds",
    "how loose each bound is, the paper's softmax bound against the tilted one, and what that does on real sets",
    BoundsSettings,
    compute,
    draw,
    example="--curves-only",
)
