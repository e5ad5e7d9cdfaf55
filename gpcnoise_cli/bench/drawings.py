"""Benchmarks as pictures: how a training step grows with each size, and how the test nll falls with time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.bench.tables import SYSTEM_NAMES
from gpcnoise_cli.figures.style import GREY, PAGE, label_axes, look, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZES = {"m": "inducing points m", "B": "batch size B", "C": "latent functions C", "n": "training rows n"}


def growth_figure(points: Sequence[Mapping[str, Any]], note: str = "") -> Figure:
    """Median time per step against each size, with its quartiles as a band."""
    axes_names = list(dict.fromkeys(one["axis"] for one in points))
    figure = new_figure(PAGE, 2.4, note=note)
    panels = figure.subplots(1, len(axes_names), sharey=True, squeeze=False)[0]
    for panel, symbol in zip(panels, axes_names, strict=True):
        along = [one for one in points if one["axis"] == symbol]
        values = [one["value"] for one in along]
        for index, name in enumerate(along[0]["seconds_per_step"]):
            taken = [one["seconds_per_step"][name] for one in along]
            low, middle, high = ([1e3 * one[part] for one in taken] for part in ("q1", "median", "q3"))
            panel.plot(values, middle, **look(index).plot(), label=SYSTEM_NAMES[name])
            panel.fill_between(values, low, high, color=look(index).colour, alpha=0.2, linewidth=0)
        panel.set_xscale("log")
        panel.set_yscale("log")
        # A mark at each measured size: a logarithmic axis of one decade would fill up with 2×10², 3×10², …
        panel.set_xticks(values, labels=[_counted(value) for value in values])
        panel.set_xticks([], minor=True)
        label_axes(panel, x=_SIZES[symbol])
    panels[0].set_ylabel("ms per step")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def quality_figure(records: Sequence[Mapping[str, Any]]) -> Figure:
    """Test nll against seconds of training, a panel for each data set; the dashed line is the mark to be reached."""
    columns = min(3, len(records))
    rows = -(-len(records) // columns)
    figure = new_figure(PAGE, 2.0 * rows + 0.5)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, one in zip(panels, records, strict=False):
        paper, fast, stock = one["paper"], one["fast"], one["stock"]
        curves = (
            ("stock GPflow, the paper's settings", paper["curve"], stock["seconds_per_step"]),
            ("gpcnoise, preset paper", paper["curve"], paper["seconds_per_step"]),
            ("gpcnoise, preset fast", fast["curve"], fast["seconds_per_step"]),
        )
        for index, (name, curve, per_step) in enumerate(curves):
            style = look(index)
            seconds = [step * per_step for step in curve["step"]]
            panel.plot(seconds, curve["nll"], color=style.colour, linestyle=style.line, label=name)
        panel.axhline(one["mark_nll"], color=GREY, linestyle="--", linewidth=0.8)
        lowest = min(*paper["curve"]["nll"], *fast["curve"]["nll"])
        # The first steps are at chance; what counts happens just above the mark.
        panel.set_ylim(lowest - 0.1 * lowest, one["mark_nll"] + 0.7 * lowest)
        panel.set_xscale("log")
        panel.set_title(one["dataset"])
        label_axes(panel, x="seconds of training", y="test nll")
    for panel in panels[len(records) :]:
        panel.set_axis_off()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _counted(value: int) -> str:
    """A size in few characters: 300, 10k, 2M."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if value % unit == 0:
            return f"{value // unit}{letter}"
    return str(value)
