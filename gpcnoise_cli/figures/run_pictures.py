"""Pictures of any run: curve, reliability, selective accuracy and confusion matrix; and several runs side by side.

The page of a run draws its curves and its reliability with the same functions. The dots it has something to say about
are the line with the identifier `POINTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpcnoise_cli.figures.style import BLUE, GREY, PAGE, VERMILION, label_axes, look, new_figure, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gpcnoise_cli.evaluation.calibration import Reliability
    from gpcnoise_cli.figures.run_view import CellView, RunView

# More classes than these get no number in each field; it could not be read.
MOST_NUMBERED = 12
MOST_NAMED = 30
MOST_DOTS = 60
POINTS = "points"


def draw_run(view: RunView) -> dict[str, Figure]:
    return {
        "curve": _curve(view),
        "reliability": reliability_figure(
            view.reliability, f"{view.label}\nECE {view.metrics.ece:.4f}, nll {view.metrics.nll:.4f}"
        ),
        "selective": _selective(view),
        "confusion": _confusion(view),
    }


def draw_comparison(views: Sequence[CellView]) -> dict[str, Figure]:
    figures = {"comparison": _bars(views)}
    if all(view.curve.get("step") for view in views):
        figures["curves"] = _overlaid(views)
    return figures


def _curve(view: RunView) -> Figure:
    figure = new_figure(PAGE, 2.5)
    steps = view.curve["step"]
    panels = figure.subplots(1, 3)
    followed = "ELBO" if view.objective == "elbo" else f"{view.objective} objective"
    labels = (f"{followed}, nats", "accuracy, %", "nll, nats")
    for axes, metric, label in zip(panels, ("elbo", "acc", "nll"), labels, strict=True):
        draw_curve(axes, steps, view.curve[metric], y_label=label)
    figure.suptitle(f"{view.label}: acc {view.metrics.acc:.2f}%, nll {view.metrics.nll:.4f}", fontsize=8.5)
    return figure


def draw_curve(axes: Axes, x: Sequence[float], y: Sequence[float], *, x_label: str = "step", y_label: str = "") -> None:
    """A line, with a dot for each measurement as long as they can be told apart."""
    axes.plot(x, y, color=BLUE, marker="o" if len(x) <= MOST_DOTS else "", gid=POINTS)
    label_axes(axes, x=x_label, y=y_label)


def reliability_figure(table: Reliability, title: str = "", width: float = 3.6) -> Figure:
    """How often the predicted class was right, by how sure the model was; below it how many rows each point has."""
    figure = new_figure(width, 1.1 * width)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.0, label="perfectly calibrated")
    above.plot(table.confidence, table.accuracy, color=BLUE, marker="o", label="this model", gid=POINTS)
    above.vlines(table.confidence, table.confidence, table.accuracy, color=VERMILION, linewidth=1.0)
    above.set_xlim(0.0, 1.02)
    above.set_ylim(0.0, 1.02)
    above.legend(loc="upper left")
    label_axes(above, y="part predicted rightly", title=title)
    below.bar(table.confidence, table.count, width=0.03, color=BLUE)
    below.set_yscale("log")
    below.set_ylim(0.6, 2.0 * float(table.count.max()))  # a single row is a bar, too
    below.yaxis.set_major_formatter("{x:g}")
    below.yaxis.set_minor_formatter("")
    label_axes(below, x="confidence of the predicted class", y="test rows")
    return figure


def _selective(view: RunView) -> Figure:
    figure = new_figure(3.6, 2.8)
    axes = figure.subplots()
    coverage, accuracy = view.selective.coverage.tolist(), view.selective.accuracy.tolist()
    draw_curve(axes, coverage, accuracy, x_label="coverage: most confident rows, %", y_label="accuracy, %")
    axes.axhline(view.metrics.acc, color=GREY, linestyle="--", linewidth=1.0, label="all rows")
    axes.set_xlim(0.0, 102.0)
    axes.legend(loc="lower left")
    axes.set_title(f"{view.label}\nacc of the most confident 90%: {view.metrics.acc_at_90:.2f}%")
    return figure


def _confusion(view: RunView) -> Figure:
    counts, classes = view.confusion, len(view.class_names)
    size = float(np.clip(1.6 + 0.42 * classes, 3.4, PAGE))
    figure = new_figure(size, size + 0.2)
    axes = figure.subplots()
    axes.grid(False)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0)
    if classes <= MOST_NUMBERED:
        for row, column in np.ndindex(*counts.shape):
            colour = "white" if share[row, column] > 0.55 else "black"
            axes.text(column, row, str(counts[row, column]), ha="center", va="center", color=colour, fontsize=6.5)
    if classes <= MOST_NAMED:
        names = [_short(str(name)) for name in view.class_names]
        turned = 90 if max(map(len, names)) > 3 else 0
        axes.set_xticks(range(classes), names, rotation=turned)
        axes.set_yticks(range(classes), names)
    figure.colorbar(image, ax=axes, shrink=0.75, label="part of the observed class")
    label_axes(axes, x="predicted class", y="observed class", title=f"{view.label}\nacc {view.metrics.acc:.2f}%")
    return figure


def _bars(views: Sequence[CellView]) -> Figure:
    names = [wrapped(view.label or "run", 38) for view in views]
    lines = max(3, sum(name.count("\n") + 1 for name in names) + len(names) // 2)
    figure = new_figure(PAGE, 0.9 + 0.15 * lines)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, metric, label in zip(panels, ("acc", "nll"), ("accuracy, %", "nll, nats"), strict=True):
        values = [view.record[metric] for view in views]
        axes.grid(visible=False, axis="y")
        for row, value in enumerate(values):
            if value is None:  # not a number, which JSON cannot hold
                continue
            axes.plot([value], [row], linestyle="", marker=look(row).marker, color=look(row).colour, markersize=6)
            axes.annotate(
                f"{value:.2f}" if metric == "acc" else f"{value:.4f}",
                (value, row),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
            )
        axes.margins(x=0.3)
        label_axes(axes, x=label)
    panels[0].set_yticks(range(len(views)), names)
    panels[0].set_ylim(len(views) - 0.5, -0.5)
    return figure


def _overlaid(views: Sequence[CellView]) -> Figure:
    columns = 2 if max(len(view.label) for view in views) < 60 else 1
    figure = new_figure(PAGE, 2.5 + 0.16 * -(-len(views) // columns))
    panels = figure.subplots(1, 2)
    for axes, metric, label in zip(panels, ("acc", "nll"), ("accuracy, %", "nll, nats"), strict=True):
        for number, view in enumerate(views):
            axes.plot(view.curve["step"], view.curve[metric], **look(number).plot(), label=view.label or "run")
        label_axes(axes, x="step", y=label)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=columns)
    return figure


def _short(name: str) -> str:
    """For an axis; a dollar sign would start a formula."""
    return (name if len(name) <= 14 else f"{name[:13]}…").replace("$", r"\$")
