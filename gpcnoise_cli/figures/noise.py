"""App. B: could the noise variance a be learned like a hyperparameter? The bound of trained models as a function of a.

q(f) and δ are kept as training left them, and a runs through a grid, so the KL term is a constant. The derivative is
taken three ways: by the paper's formulas, by automatic differentiation through the likelihood, and by central
differences. The paper argues that it is negative: in the binary case where y μ > 0, in the multi-class case by the sign
of two terms. Both are counted point by point, since the first leaves out the points that the model gets wrong, and the
second bounds an integrand that changes sign.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcnoise_cli.config.quoting import Scalar
from gpcnoise_cli.data.folder import present_sets
from gpcnoise_cli.figures.experiment import Experiment, Row, Settings, datasets, holds, number
from gpcnoise_cli.figures.noise_derivative import Array, agreement_derivative, elbo_and_autodiff, multiclass_terms
from gpcnoise_cli.figures.style import BLACK, GREY, METHOD_LOOKS, PAGE, label_axes, method_name, new_figure
from gpcnoise_cli.figures.toy import present_toys, toy_overrides
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Run, Runs

GRID = np.concatenate([[0.0], np.geomspace(0.03, 10.0, 22)])
# The likelihoods with Gaussian noise, by their a, the smallest first.
METHOD_A = {
    name: a
    for a, name in sorted((s.noise_variance, name) for name, s in LIKELIHOODS.items() if s.noise_variance is not None)
}
MOST_ROWS = 5000
# At a = 0 a point of tiny variance is a step to every quadrature: the derivatives are compared from here on.
DERIVATIVE_FROM = 0.03


@dataclass(frozen=True)
class NoiseSettings(Settings):
    """The toys' models, and two larger sets trained by preset fast."""

    iterations: int = number(5000, "Iterations on the toys.")
    inducing: int = number(32, "Inducing points on the toys.", short="-m")
    sets: tuple[str, ...] = datasets(("twonorm", "waveform-noise"), "Larger sets besides the toys")
    set_iterations: int | None = number(None, "Iterations on the larger sets.")
    set_inducing: int = number(100, "Inducing points on the larger sets.")


@dataclass(frozen=True)
class NoiseCurve:
    """One trained model: L(a) and its derivative on the grid."""

    dataset: str
    likelihood: str
    classes: int
    rows: int
    delta: float
    trained_elbo: float
    a: Array
    elbo: Array
    by_paper: Array
    by_autodiff: Array
    by_differences: Array
    at_methods: dict[str, float]
    right: float
    """Part of the rows whose observed class has the largest mean."""
    rising: float
    """Part of the rows whose term rises with a, at the model's own a (probit's for the step)."""
    rising_though_right: float
    """Part of the rows that are right and yet rise."""
    second_term_positive: float | None
    """Multi-class: part of the rows whose second term, which the paper bounds by zero, is positive."""
    second_term_positive_though_right: float | None

    @property
    def disagreement(self) -> float:
        """The largest relative difference between the three derivatives where all are taken."""
        use = self.a >= DERIVATIVE_FROM
        scale = np.abs(self.by_paper[use]).max()
        return float(
            max(np.abs(other[use] - self.by_paper[use]).max() for other in (self.by_autodiff, self.by_differences))
            / scale
        )

    @property
    def falls(self) -> bool:
        return bool(np.all(self.by_paper[self.a >= DERIVATIVE_FROM] < 0))

    @property
    def ordered(self) -> bool:
        """L_I > L_II > L_III for the same model: the larger a, the smaller the bound."""
        return all(one > next for one, next in itertools.pairwise(self.at_methods[name] for name in METHOD_A))


@dataclass(frozen=True)
class NoiseResult:
    curves: tuple[NoiseCurve, ...]
    missing: tuple[str, ...]

    def tables(self) -> dict[str, Sequence[Row]]:
        points = [
            {
                "dataset": c.dataset,
                "trained_as": c.likelihood,
                "a": a,
                "elbo": c.elbo[i],
                "derivative_paper": c.by_paper[i],
                "derivative_autodiff": c.by_autodiff[i],
                "derivative_differences": c.by_differences[i],
            }
            for c in self.curves
            for i, a in enumerate(c.a)
        ]
        models = [
            {
                "dataset": c.dataset,
                "trained_as": c.likelihood,
                "classes": c.classes,
                "rows": c.rows,
                "delta": c.delta,
                **{f"elbo_{name}": value for name, value in c.at_methods.items()},
                "elbo_when_trained": c.trained_elbo,
                "rows_right": c.right,
                "rows_rising": c.rising,
                "rows_rising_though_right": c.rising_though_right,
                "rows_second_term_positive": c.second_term_positive,
                "rows_second_term_positive_though_right": c.second_term_positive_though_right,
                "derivatives_disagree_by": c.disagreement,
            }
            for c in self.curves
        ]
        return {"noise": points, "models": models}

    def findings(self) -> list[str]:
        falling = [c for c in self.curves if c.falls]
        ordered = [c for c in self.curves if c.ordered]
        order = " > ".join(f"L_{LIKELIHOODS[name].label.removeprefix('GPC-')}" for name in METHOD_A)
        said = [
            f"The paper's derivative, automatic differentiation and differences agree to "
            f"{max(c.disagreement for c in self.curves):.1e} of its largest value, on all {len(self.curves)} models.",
            f"∂L/∂a is negative all along the grid for {len(falling)} of {len(self.curves)} models "
            f"({holds(len(falling) == len(self.curves))}): for these, learning a would drive it to 0."
            + _exceptions([c for c in self.curves if not c.falls]),
            f"With everything else kept, {order} for {len(ordered)} of {len(self.curves)} models "
            f"({holds(len(ordered) == len(self.curves))})." + _exceptions([c for c in self.curves if not c.ordered]),
        ]
        worst = max(self.curves, key=lambda c: c.rising)
        said.append(
            f"Point by point it is no law: up to {100 * worst.rising:.1f}% of the rows ({worst.likelihood} on "
            f"{worst.dataset}) have a term that rises with a"
            + (
                "; all of them are rows whose observed class is not the one with the largest mean."
                if all(c.rising_though_right == 0 for c in self.curves)
                else f", and not only rows that are classified wrongly: of the rightly classified too, up to "
                f"{100 * max(c.rising_though_right for c in self.curves):.1f}% of all rows, so the multi-class proof, "
                "which claims it for every point, does not hold as it stands."
            )
            if worst.rising > 0
            else "The term of every single row falls with a."
        )
        return said + self._about_the_proof() + self._retrained() + [f"Left out: {reason}" for reason in self.missing]

    def _about_the_proof(self) -> list[str]:
        """The multi-class proof bounds the second term of the derivative by zero for every row."""
        multi = [c for c in self.curves if c.second_term_positive is not None]
        if not multi:
            return []
        most = max(c.second_term_positive or 0.0 for c in multi)
        right = max(c.second_term_positive_though_right or 0.0 for c in multi)
        where = (
            f"{100 * right:.1f}% of the rows even though they are right" if right else "none of the rows that are right"
        )
        return [
            f"In the multi-class derivative the term that the paper bounds by zero for every row is positive at up to "
            f"{100 * most:.1f}% of the rows, and at {where}: the step "
            f"{'holds' if most == 0 else 'holds for sensible predictions only' if right == 0 else 'does not hold'}."
        ]

    def _retrained(self) -> list[str]:
        """What becomes of the order when each method is trained for itself."""
        said = []
        for name in dict.fromkeys(c.dataset for c in self.curves):
            own = {c.likelihood: c.trained_elbo for c in self.curves if c.dataset == name}
            if len(own) == len(METHOD_A):
                best = max(own, key=lambda key: own[key])
                values = ", ".join(f"{LIKELIHOODS[key].label} {own[key]:.1f}" for key in METHOD_A)
                winner = LIKELIHOODS[best].label
                said.append(f"Trained each for itself on {name}, the bounds are {values}: the highest is {winner}'s.")
        return said

    def summary(self) -> dict[str, Any]:
        return {"models": list(self.tables()["models"]), "missing": list(self.missing)}


def _exceptions(curves: list[NoiseCurve]) -> str:
    return f" Not for {', '.join(f'{c.likelihood} on {c.dataset}' for c in curves)}." if curves else ""


def compute(settings: NoiseSettings, runs: Runs) -> NoiseResult:
    """The Gaussian-noise methods on every toy and larger set that is here."""
    toys, missing = present_toys()
    asked: list[dict[str, Scalar]] = [
        toy_overrides(name, method, settings.iterations, settings.inducing) for name in toys for method in METHOD_A
    ]
    here, not_here = present_sets(settings.sets)
    for name in here:
        for method in METHOD_A:
            larger: dict[str, Scalar] = {"preset": "fast", "dataset": name, "likelihood": method}
            larger["inducing"] = settings.set_inducing
            if settings.set_iterations is not None:
                larger["iterations"] = settings.set_iterations
            asked.append(larger)
    curves = tuple(noise_curve(runs.train(overrides)) for overrides in asked)
    absent = tuple(f"{name!r} is not in the data folder." for name in not_here)
    return NoiseResult(curves, (*missing, *absent))


def noise_curve(run: Run) -> NoiseCurve:
    """L(a) on the grid for one model, over its training rows (the first 5000 of a larger set, scaled up)."""
    from gpcnoise_cli.methods.svgp import model_of

    trained, split = run.load()
    X, y = split.X_train[:MOST_ROWS], split.y_train[:MOST_ROWS]
    mu, nu = (np.asarray(block, dtype=np.float64) for block in model_of(trained).predict_f(X))
    nu = np.maximum(nu, 1e-9)
    classes, delta, scale = split.num_classes, float(run.record["delta"]), split.n_train / len(X)
    kl = float(model_of(trained).prior_kl())
    slope = np.log((1 - delta) * (classes - 1) / delta)
    methods = np.array(list(METHOD_A.values()))
    h = 1e-3 * np.maximum(GRID, 1e-2)
    above, below = GRID + h, np.maximum(GRID - h, 0.0)
    values, slopes = elbo_and_autodiff(mu, nu, y, classes, delta, np.concatenate([GRID, methods, above, below]))
    elbo, at_methods, up, down = np.split(values, np.cumsum([len(GRID), len(methods), len(GRID)]))
    by_paper = slope * np.array([agreement_derivative(mu, nu, y, a).sum() for a in GRID])
    here = METHOD_A[run.cell.config.likelihood.name] or min(a for a in METHOD_A.values() if a > 0)
    terms = agreement_derivative(mu, nu, y, here)
    right = mu.argmax(axis=1) == y if classes > 2 else (mu[:, 0] > 0) == (y == 1)
    positive = multiclass_terms(mu, nu, y, here)[1] > 0 if classes > 2 else None
    return NoiseCurve(
        dataset=split.dataset,
        likelihood=run.cell.config.likelihood.name,
        classes=classes,
        rows=len(X),
        delta=delta,
        trained_elbo=float(run.record["elbo"]),
        a=GRID,
        elbo=scale * elbo - kl,
        by_paper=scale * by_paper,
        by_autodiff=scale * slopes[: len(GRID)],
        by_differences=scale * (up - down) / (above - below),
        at_methods=dict(zip(METHOD_A, (scale * at_methods - kl).tolist(), strict=True)),
        right=float(np.mean(right)),
        rising=float(np.mean(terms > 0)),
        rising_though_right=float(np.mean((terms > 0) & right)),
        second_term_positive=None if positive is None else float(np.mean(positive)),
        second_term_positive_though_right=None if positive is None else float(np.mean(positive & right)),
    )


_CROSS: dict[str, Any] = {"marker": "x", "markersize": 4.5, "color": BLACK}
_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 5.5,
    "markerfacecolor": "none",
    "markeredgecolor": BLACK,
    "markeredgewidth": 0.6,
}


def draw(result: NoiseResult, note: str) -> dict[str, Figure]:
    """The bound over the noise variance above, its derivative three ways below, a column per set."""
    sets = list(dict.fromkeys(curve.dataset for curve in result.curves))
    figure = new_figure(PAGE, 4.3, note=note)
    grid = figure.subplots(2, len(sets), squeeze=False, sharex=True)
    for column, name in enumerate(sets):
        above, below = grid[:, column]
        falling = all(curve.falls for curve in result.curves if curve.dataset == name)
        sign = -1.0 if falling else 1.0
        for curve in (c for c in result.curves if c.dataset == name):
            look = METHOD_LOOKS[curve.likelihood]
            above.plot(curve.a, curve.elbo - curve.elbo[0], color=look.colour, linestyle=look.line)
            methods = np.array(list(METHOD_A.values()))
            heights = np.array([curve.at_methods[m] for m in METHOD_A]) - curve.elbo[0]
            above.plot(methods, heights, linestyle="", marker=look.marker, color=look.colour)
            use = curve.a > 0
            below.plot(curve.a[use], sign * curve.by_paper[use], color=look.colour, linewidth=1.8)
            below.plot(curve.a[use][1::4], sign * curve.by_autodiff[use][1::4], linestyle="", **_CROSS)
            below.plot(curve.a[use][3::4], sign * curve.by_differences[use][3::4], linestyle="", **_RING)
        for axes in (above, below):
            axes.set_xscale("symlog", linthresh=0.1, linscale=0.5)
            axes.set_xticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
            axes.minorticks_off()
        classes = next(c.classes for c in result.curves if c.dataset == name)
        label_axes(above, title=f"{name}\n({classes} classes)", y="L(a) − L(0), nats" if column == 0 else "")
        label_axes(
            below, x="noise variance a", y="" if column and falling else "−∂L/∂a (all negative)" if falling else "∂L/∂a"
        )
        above.axhline(0.0, color=GREY, linewidth=0.8)
        if falling:
            below.set_yscale("log")
            below.yaxis.set_major_formatter("{x:g}")
            below.yaxis.set_minor_formatter("")
        else:
            below.axhline(0.0, color=GREY, linewidth=0.8)
    figure.legend(handles=_key(), loc="outside lower center", ncols=3)
    return {"noise": figure}


def _key() -> list[object]:
    from matplotlib.lines import Line2D

    methods: list[object] = [
        Line2D([], [], **METHOD_LOOKS[name].plot(), label=f"trained as {method_name(name)}") for name in METHOD_A
    ]
    return [
        *methods,
        Line2D([], [], color=GREY, label="∂L/∂a by App. B"),
        Line2D([], [], linestyle="", label="by autodiff", **_CROSS),
        Line2D([], [], linestyle="", label="by differences", **_RING),
    ]


EXPERIMENT = Experiment(
    "noise",
    "whether the noise variance a could be learned: the bound and its derivative in a (App. B)",
    NoiseSettings,
    compute,
    draw,
)
