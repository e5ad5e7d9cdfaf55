"""Two pictures: how far each bound lies below E[log p] as the variance grows, and what tilting does in training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpcnoise_cli.figures.drawings.style import (
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

    from gpcnoise_cli.figures.bounds import BoundsResult, LooseCurve

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
    """Tilted minus gumbel: side by side the two would hide each other."""
    names = list(dict.fromkeys(c.dataset for c in result.comparisons))
    figure = new_figure(PAGE, 1.1 + 0.3 * len(names), note=note)
    panels = figure.subplots(1, 2, sharey=True)
    labels = "nll, tilted − gumbel, nats (left is better)", "accuracy, tilted − gumbel, points (right is better)"
    for axes, metric, label, better in zip(panels, ("nll", "acc"), labels, (-1, 1), strict=True):
        for row, name in enumerate(names):
            gains = [
                getattr(c, metric)["tilted"] - getattr(c, metric)["gumbel"]
                for c in result.comparisons
                if c.dataset == name
            ]
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
