"""The picture of δ (Fig. 4): accuracy and nll along training for each set, and the marginals that came out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpcnoise_cli.figures.drawings.style import (
    BLUE,
    GREEN,
    GREY,
    METHOD_LOOKS,
    PAGE,
    VERMILION,
    label_axes,
    method_name,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.delta import DeltaResult

_MODE_LINES: dict[str, Any] = {"fixed": ":", "free": "-", "optimal": "--"}
_MODE_COLOURS = {"fixed": VERMILION, "free": BLUE, "optimal": GREEN}


def draw(result: DeltaResult, note: str) -> dict[str, Figure]:
    return {"delta": _curves(result, note), "marginals": _marginals(result, note)}


def _curves(result: DeltaResult, note: str) -> Figure:
    sets = list(dict.fromkeys(run.dataset for run in result.runs))
    figure = new_figure(PAGE, 0.6 + 2.1 * len(sets), note=note)
    grid = figure.subplots(len(sets), 3, squeeze=False)
    for row, name in enumerate(sets):
        chosen = [run for run in result.runs if run.dataset == name]
        for axes, metric, label in zip(
            grid[row], ("acc", "nll", "delta"), ("accuracy, %", "nll, nats", "δ"), strict=True
        ):
            for run in chosen:
                steps = [point.step for point in run.curve]
                values = [getattr(point, metric) for point in run.curve]
                axes.plot(steps, values, color=METHOD_LOOKS[run.likelihood].colour, linestyle=_MODE_LINES[run.mode])
                if metric == "delta" and run.mode == "free":
                    axes.plot(
                        steps[-1],
                        run.best_delta,
                        "*",
                        color=METHOD_LOOKS[run.likelihood].colour,
                        markersize=7,
                        clip_on=False,
                    )
            label_axes(axes, x="iteration", y=label, title=name)
            _thousands(axes)
    figure.legend(handles=_key(result), loc="outside lower center", ncols=4)
    return figure


def _marginals(result: DeltaResult, note: str) -> Figure:
    from gpcnoise_cli.figures.delta import QUANTILES

    method = result.runs[0].likelihood
    sets = list(dict.fromkeys(run.dataset for run in result.runs))
    figure = new_figure(PAGE, 0.5 + 2.0 * len(sets), note=note)
    grid = figure.subplots(len(sets), 2, squeeze=False)
    for row, name in enumerate(sets):
        for run in (r for r in result.runs if r.dataset == name and r.likelihood == method):
            look = {"color": _MODE_COLOURS[run.mode], "linestyle": _MODE_LINES[run.mode], "label": f"{run.mode} δ"}
            grid[row, 0].plot(run.mean_quantiles, QUANTILES, **look)
            grid[row, 1].plot(np.maximum(run.variance_quantiles, 1e-6), QUANTILES, **look)
        title = f"{name}, {method_name(method)}"
        label_axes(grid[row, 0], x="μ at the training rows", y="part of the rows below", title=title)
        label_axes(grid[row, 1], x="ν at the training rows", title=title)
        low, high = grid[row, 1].get_xlim()
        if high > 20 * max(low, 1e-6):
            grid[row, 1].set_xscale("log")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _thousands(axes: Axes) -> None:
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value >= 1000 else f"{value:g}")


def _key(result: DeltaResult) -> list[object]:
    from matplotlib.lines import Line2D

    methods = list(dict.fromkeys(run.likelihood for run in result.runs))
    handles: list[object] = [Line2D([], [], color=METHOD_LOOKS[m].colour, label=method_name(m)) for m in methods]
    handles += [Line2D([], [], color=GREY, linestyle=line, label=f"{mode} δ") for mode, line in _MODE_LINES.items()]
    return [*handles, Line2D([], [], linestyle="", marker="*", markersize=7, color=GREY, label="δ* at the end of free")]
