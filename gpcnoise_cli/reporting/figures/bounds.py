"""Two pictures: how far each bound lies below E[log p] as the variance grows, and what tilting does in training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpcnoise_cli.reporting.figures.style import (
    BLUE,
    GREEN,
    GREY,
    PAGE,
    PURPLE,
    VERMILION,
    label_axes,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gpcnoise_cli.experiments.figures.bounds import BoundsResult, LooseCurve

_LOOKS = {
    "gumbel": (VERMILION, "--", "gumbel: the paper's\n(eq_ELBO_sm)"),
    "tilted": (BLUE, "-", "tilted"),
    "eq_elbo_binary": (GREEN, "-.", "the paper's\n(eq_elbo_binary)"),
    "L_HS": (PURPLE, ":", "Hensman's L_HS\n(section II-C)"),
}


def draw(result: BoundsResult, note: str) -> dict[str, Figure]:
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
    names = list(dict.fromkeys(c.dataset for c in result.comparisons))
    figure = new_figure(PAGE, 1.3 + 0.3 * len(names), note=note)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, metric, label, better in zip(
        panels, ("nll", "acc"), ("nll, nats (lower is better)", "accuracy, %"), (-1, 1), strict=True
    ):
        for row, name in enumerate(names):
            chosen = [c for c in result.comparisons if c.dataset == name]
            gumbel, tilted = (np.array([getattr(c, metric)[b] for c in chosen]) for b in ("gumbel", "tilted"))
            gain = better * (tilted.mean() - gumbel.mean()) > 0
            axes.annotate(
                "",
                (tilted.mean(), row),
                (gumbel.mean(), row),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": BLUE if gain else GREY,
                    "lw": 1.2,
                    "shrinkA": 3,
                    "shrinkB": 3,
                },
            )
            axes.plot(gumbel, np.full(len(chosen), row), "s", color=VERMILION, label="gumbel" if row == 0 else None)
            axes.plot(tilted, np.full(len(chosen), row), "o", color=BLUE, label="tilted" if row == 0 else None)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        label_axes(axes, x=label)
        axes.margins(x=0.08)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
