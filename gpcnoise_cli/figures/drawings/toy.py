"""The picture of the toys (Fig. 2): a row per set, a column per method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpcnoise_cli.figures.drawings.style import (
    BLACK,
    CLASS_COLOURS,
    CLASS_MARKERS,
    PAGE,
    label_axes,
    method_name,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.toy import ToyPanel, ToyResult


def draw(result: ToyResult, note: str) -> dict[str, Figure]:
    sets = list(dict.fromkeys(panel.dataset for panel in result.panels))
    columns = max(sum(panel.dataset == name for panel in result.panels) for name in sets)
    figure = new_figure(PAGE, 0.75 + 1.85 * len(sets), note=note)
    grid = figure.subplots(len(sets), columns, squeeze=False)
    for row, name in enumerate(sets):
        for axes, panel in zip(grid[row], (p for p in result.panels if p.dataset == name), strict=True):
            _draw_panel(axes, panel)
        grid[row, 0].set_ylabel(f"{name}\nx2")
    for axes in grid[-1]:
        axes.set_xlabel("x1")
    figure.legend(
        handles=_key(max(int(panel.y.max()) + 1 for panel in result.panels)), loc="outside lower center", ncols=6
    )
    return {"toy": figure}


def _draw_panel(axes: Axes, panel: ToyPanel) -> None:
    axes.grid(False)
    extent = (panel.x_grid[0], panel.x_grid[-1], panel.y_grid[0], panel.y_grid[-1])
    axes.imshow(_shading(panel), extent=extent, origin="lower", aspect="auto", interpolation="bilinear")
    classes = panel.probabilities.shape[-1]
    for c in range(classes):
        rows = panel.y == c
        look: dict[str, Any] = {"s": 4.5, "marker": CLASS_MARKERS[c], "color": CLASS_COLOURS[c]}
        axes.scatter(panel.X[rows, 0], panel.X[rows, 1], edgecolor="white", linewidth=0.2, **look)
    for c in range(1 if classes == 2 else 0, classes):
        axes.contour(panel.x_grid, panel.y_grid, panel.probabilities[..., c], [0.5], colors=BLACK, linewidths=1.1)
    ring: dict[str, Any] = {"s": 17, "facecolor": "none", "edgecolor": BLACK, "linewidth": 0.9}
    axes.scatter(panel.Z_end[:, 0], panel.Z_end[:, 1], zorder=3, **ring)
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    label_axes(axes, title=f"{method_name(panel.likelihood)}\nacc {panel.acc:.1f}%, nll {panel.nll:.3f}")


def _shading(panel: ToyPanel) -> Any:
    """Each place in the mixture of the class colours, paler where no class is likely."""
    from matplotlib.colors import to_rgb

    colours = np.array([to_rgb(colour) for colour in CLASS_COLOURS[: panel.probabilities.shape[-1]]])
    strength = 0.55 * (panel.probabilities - 1.0 / len(colours)).clip(0.0, None) / (1.0 - 1.0 / len(colours))
    return 1.0 - np.einsum("yxc,cr->yxr", strength, 1.0 - colours)


def _key(classes: int) -> list[Any]:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=CLASS_MARKERS[c], color=CLASS_COLOURS[c], label=f"class {c}")
        for c in range(classes)
    ]
    handles.append(Line2D([], [], color=BLACK, label="p = 0.5"))
    circle: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": BLACK, "markersize": 5}
    return [*handles, Line2D([], [], linestyle="", label="inducing points, optimised", **circle)]
