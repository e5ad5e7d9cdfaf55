"""App. A: the error distributions behind the likelihoods and how near a Gaussian N(0, a) comes to each.

The logistic error has its own best a, found here by minimising the largest CDF difference; the Gumbel error is skewed,
so that no centred Gaussian comes near it, and even one with a free mean does not come as near as to the logistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.figures.experiment import Experiment, Row, Settings, holds
from gpcnoise_cli.figures.style import BLACK, METHOD_LOOKS, PAGE, label_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Runs

Array = NDArray[np.float64]

PAPER_A, PAPER_DIFFERENCE = 2.897, 0.009
# A stand-in for a → 0 that can be drawn.
NEAR_ZERO_A = 0.01


@dataclass(frozen=True)
class ErrorCurve:
    """One error distribution beside its Gaussian approximation N(mean, a)."""

    name: str
    likelihood: str
    a: float
    mean: float
    largest_difference: float
    x: Array
    pdf: Array
    cdf: Array
    gauss_pdf: Array
    gauss_cdf: Array


@dataclass(frozen=True)
class ErrorsResult:
    curves: tuple[ErrorCurve, ...]
    best_a: float
    best_difference: float
    where: float
    paper_a_difference: float
    second_moment_difference: float
    gumbel_centred: tuple[float, float]
    gumbel_shifted: tuple[float, float, float]

    def tables(self) -> dict[str, Sequence[Row]]:
        columns = ("x", "pdf", "cdf", "gauss_pdf", "gauss_cdf")
        rows = [
            {"error": curve.name, **{column: float(getattr(curve, column)[i]) for column in columns}}
            for curve in self.curves
            for i in range(0, len(curve.x), 4)
        ]
        fits = [
            {
                "error": curve.name,
                "likelihood": curve.likelihood,
                "gauss_mean": curve.mean,
                "gauss_variance": curve.a,
                "largest_cdf_difference": curve.largest_difference,
            }
            for curve in self.curves
        ]
        return {"errors": rows, "fits": fits}

    def findings(self) -> list[str]:
        same = abs(self.best_a - PAPER_A) < 0.01 and self.paper_a_difference - self.best_difference < 1e-4
        mean, variance, shifted = self.gumbel_shifted
        return [
            f"The Gaussian nearest to the logistic error has a* = {self.best_a:.4f} with a largest CDF difference of "
            f"{self.best_difference:.5f}, at x = ±{abs(self.where):.2f}. The paper's {PAPER_A} gives "
            f"{self.paper_a_difference:.5f} (printed as {PAPER_DIFFERENCE}): "
            f"{'the same for every purpose' if same else 'not the optimum'}.",
            f"Matching the variance instead (a = π²/3 = {math.pi**2 / 3:.3f}) leaves "
            f"{self.second_moment_difference:.4f}.",
            f"The Gumbel error is {self.gumbel_centred[1]:.3f} away from the best centred Gaussian (a = "
            f"{self.gumbel_centred[0]:.2f}) and {shifted:.3f} from the best one with a free mean (N({mean:.2f}, "
            f"{variance:.2f})), {shifted / self.best_difference:.1f} times the logistic's "
            f"({holds(shifted > 2 * self.best_difference)}: it needs a treatment of its own).",
        ]

    def summary(self) -> dict[str, Any]:
        return {
            "a_star": self.best_a,
            "largest_cdf_difference": self.best_difference,
            "at_x": self.where,
            "paper_a": PAPER_A,
            "paper_difference": PAPER_DIFFERENCE,
            "largest_cdf_difference_paper_a": self.paper_a_difference,
            "largest_cdf_difference_pi2_3": self.second_moment_difference,
            "gumbel_centred": {"a": self.gumbel_centred[0], "difference": self.gumbel_centred[1]},
            "gumbel_free_mean": dict(zip(("mean", "a", "difference"), self.gumbel_shifted, strict=True)),
        }


def compute(settings: Settings, runs: Runs) -> ErrorsResult:
    """Everything about the error distributions; nothing is trained."""
    from scipy import optimize, stats

    logistic, gumbel = stats.logistic(), stats.gumbel_r()

    def smallest(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
        found = optimize.minimize_scalar(
            lambda value: function(float(value)), bounds=(low, high), args=(), method="bounded", options={"xatol": 1e-8}
        )
        return float(found.x), float(found.fun)

    def best_variance(cdf: Callable[[Array], Array], mean: float = 0.0) -> tuple[float, float]:
        return smallest(lambda a: largest_difference(cdf, mean, a)[0], 0.1, 10.0)

    best_a, best_difference = best_variance(logistic.cdf)
    mean, _ = smallest(lambda m: best_variance(gumbel.cdf, m)[1], -1.0, 2.0)
    centred, shifted = best_variance(gumbel.cdf), (mean, *best_variance(gumbel.cdf, mean))
    step = stats.norm(0.0, 1e-4)  # stands for the Dirac error: its CDF is the step to the eye
    curves = (
        _curve("Dirac", "step", step.pdf, step.cdf, NEAR_ZERO_A),
        _curve("normal", "probit", stats.norm.pdf, stats.norm.cdf, 1.0),
        _curve("logistic", "logit", logistic.pdf, logistic.cdf, best_a),
        _curve("Gumbel", "softmax", gumbel.pdf, gumbel.cdf, centred[0]),
    )
    return ErrorsResult(
        curves,
        best_a,
        best_difference,
        largest_difference(logistic.cdf, 0.0, best_a)[1],
        largest_difference(logistic.cdf, 0.0, PAPER_A)[0],
        largest_difference(logistic.cdf, 0.0, math.pi**2 / 3)[0],
        centred,
        shifted,
    )


def largest_difference(cdf: Callable[[Array], Array], mean: float, a: float) -> tuple[float, float]:
    """max_x |Φ((x − mean)/√a) − F(x)| and where it is; a fine grid, then the finest cell refined."""
    from scipy.special import ndtr

    def difference(x: Array) -> Array:
        return np.abs(ndtr((x - mean) / math.sqrt(a)) - cdf(x))

    x = np.linspace(-15.0, 15.0, 6001)
    for _ in range(3):
        best = float(x[np.argmax(difference(x))])
        width = x[1] - x[0]
        x = np.linspace(best - width, best + width, 201)
    return float(difference(np.array([best]))[0]), best


def _curve(name: str, likelihood: str, pdf: Callable[..., Any], cdf: Callable[..., Any], a: float) -> ErrorCurve:
    from scipy.stats import norm

    x = np.linspace(-6.0, 6.0, 1201)
    gauss = norm(0.0, math.sqrt(a))
    difference = 0.0 if name == "normal" else 0.5 if name == "Dirac" else largest_difference(cdf, 0.0, a)[0]
    density = np.zeros_like(x) if name == "Dirac" else np.asarray(pdf(x))
    return ErrorCurve(name, likelihood, a, 0.0, difference, x, density, np.asarray(cdf(x)), gauss.pdf(x), gauss.cdf(x))


def draw(result: ErrorsResult, note: str) -> dict[str, Figure]:
    """Densities above, distribution functions below, the Gaussian dashed."""
    figure = new_figure(PAGE, 4.0, note=note)
    panels = figure.subplots(2, len(result.curves), sharex=True)
    for column, curve in enumerate(result.curves):
        colour = METHOD_LOOKS[curve.likelihood].colour
        above, below = panels[:, column]
        if curve.name == "Dirac":
            above.annotate("", (0.0, 4.4), (0.0, 0.0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.6})
            above.plot([], [], color=colour, label="Dirac error")
            above.set_ylim(0.0, 4.6)
        else:
            above.plot(curve.x, curve.pdf, color=colour, label=f"{curve.name} error")
            above.set_ylim(0.0, 0.5)
        approximation = "a → 0 (0.01 drawn)" if curve.name == "Dirac" else f"a = {curve.a:.4g}"
        above.plot(
            curve.x, curve.gauss_pdf, color=BLACK, linestyle="--", linewidth=1.1, label=f"N(0, a), {approximation}"
        )
        below.plot(curve.x, curve.cdf, color=colour)
        below.plot(curve.x, curve.gauss_cdf, color=BLACK, linestyle="--", linewidth=1.1)
        gap = "→ 0 for\nε ≠ 0" if curve.name == "Dirac" else f"{curve.largest_difference:.4f}"
        below.text(0.04, 0.95, f"largest\ndifference\n{gap}", transform=below.transAxes, va="top", fontsize=7)
        label_axes(above, y="density" if column == 0 else "", title=f"{curve.name} ({curve.likelihood})")
        label_axes(below, x="ε", y="distribution function" if column == 0 else "")
        above.legend(loc="upper center", bbox_to_anchor=(0.5, -0.04), handlelength=1.6, borderaxespad=0.2)
    return {"errors": figure}


EXPERIMENT = Experiment(
    "errors",
    "the error distributions, their Gaussian approximations, and the best noise variance a* (Fig. 5)",
    Settings,
    compute,
    draw,
)
