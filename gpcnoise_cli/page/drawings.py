"""The pictures of the page: curves the size of a word, and figures that are drawn as those of the files are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gpcnoise_cli.figures.run_pictures import (
    MOST_COLUMNS,
    MOST_DOTS,
    POINTS,
    draw_curve,
    importance_figure,
    reliability_figure,
)
from gpcnoise_cli.figures.style import BLACK, LABEL_LOOKS, WHITE, drawing, label_axes, look, new_figure
from gpcnoise_cli.page.found import is_number
from gpcnoise_cli.page.svg import inline_svg
from gpcnoise_cli.tables.critical_difference import rank_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.evaluation.calibration import Reliability
    from gpcnoise_cli.evaluation.importance import Importance
    from gpcnoise_cli.tables.statistics import Comparison

MOST_POINTS = 24
SPARK_WIDTH, SPARK_HEIGHT = 120, 30
# Inches; the narrower a figure, the larger its letters beside those of the page.
NARROW, WIDE = 3.1, 5.0
# Inches from the marker of one method to that of the next.
LANE = 0.052


@dataclass(frozen=True)
class Spark:
    """A curve the size of a word: nll as a line, accuracy dashed, each on a scale of its own."""

    nll: str
    acc: str
    end: tuple[int, int]
    told: str


def spark(curve: object) -> Spark | None:
    """The curve of a cell; None where it has none."""
    if not isinstance(curve, Mapping):
        return None
    columns = [curve.get(key) for key in ("step", "nll", "acc")]
    if not all(isinstance(column, Sequence) for column in columns):
        return None
    rows = [row for row in zip(*columns, strict=False) if all(is_number(value) for value in row)]
    if len(rows) < 2:
        return None
    rows = thin(rows)
    steps, nll, acc = (list(column) for column in zip(*rows, strict=True))
    box = (3, 3, SPARK_WIDTH - 3, SPARK_HEIGHT - 3)
    line, dashed = (polyline(scaled(steps, values, box)) for values in (nll, acc))
    (x, y) = scaled(steps, nll, box)[-1]
    told = f"nll {nll[0]:.3f} to {nll[-1]:.3f}, acc {acc[0]:.1f} to {acc[-1]:.1f}%, steps {steps[0]} to {steps[-1]}"
    return Spark(line, dashed, (round(x), round(y)), told)


def thin(rows: Sequence[Any], most: int = MOST_POINTS) -> list[Any]:
    """At most so many rows, evenly chosen, the first and the last among them."""
    if len(rows) <= most:
        return list(rows)
    return [rows[round(index * (len(rows) - 1) / (most - 1))] for index in range(most)]


def scaled(x: Sequence[float], y: Sequence[float], box: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    """The points inside a box (left, top, right, bottom); a constant lies in its middle."""
    left, top, right, bottom = box

    def place(value: float, values: Sequence[float], start: float, end: float) -> float:
        low, high = min(values), max(values)
        return (start + end) / 2 if high == low else start + (end - start) * (value - low) / (high - low)

    return [(place(a, x, left, right), place(b, y, bottom, top)) for a, b in zip(x, y, strict=True)]


def polyline(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.0f},{y:.0f}" for x, y in points)


@dataclass(frozen=True)
class Drawing:
    """A figure with what stands above it."""

    title: str
    svg: Markup
    note: str = ""
    narrow: Markup | None = None  # the same for a telephone, where letters must not shrink with the picture


def curve_drawing(name: str, title: str, x: Sequence[float], y: Sequence[float], *, x_label: str = "step") -> Drawing:
    """One line over its steps, or over another axis."""
    kept = thin(list(zip(x, y, strict=True)), MOST_DOTS)
    texts = [f"{x_label} {a:g}: {b:.6g}" for a, b in kept]
    with drawing():
        figure = new_figure(NARROW, 2.0)
        draw_curve(figure.subplots(), *zip(*kept, strict=True), x_label=x_label)
        told = f"{title}: {texts[0]} to {texts[-1]}"
        return Drawing(title, inline_svg(figure, name, told, points={POINTS: texts}))


def reliability_drawing(name: str, title: str, table: Reliability) -> Drawing:
    bins = zip(table.confidence, table.accuracy, *table.interval, table.count, strict=True)
    texts = [
        f"confidence {c:.3f}: {100 * a:.1f}% right ({100 * low:.1f} to {100 * high:.1f}%), {n} rows"
        for c, a, low, high, n in bins
    ]
    with drawing():
        figure = reliability_figure(table, width=NARROW)
        return Drawing(title, inline_svg(figure, name, f"{title}; {'; '.join(texts)}", points={POINTS: texts}))


def importance_drawing(name: str, title: str, importance: Sequence[Importance]) -> Drawing:
    """What the columns are worth; on a telephone without their relevance, which the table has."""
    told = "; ".join(f"{one.column}: nll {one.nll:+.4f}" for one in importance[:MOST_COLUMNS])
    with drawing():
        wide, narrow = (
            importance_figure(importance, width=WIDE),
            importance_figure(importance, width=NARROW, both=False),
        )
        return Drawing(
            title,
            inline_svg(wide, name, f"{title}; {told}", kind="wide"),
            narrow=inline_svg(narrow, f"{name}-narrow", f"{title}; {told}", kind="narrow"),
        )


def rank_drawing(name: str, title: str, comparison: Comparison) -> Drawing:
    """The critical-difference diagram."""
    ranks = ", ".join(f"{comparison.methods[index]} {comparison.ranks[index]:.2f}" for index in comparison.order)
    told = f"Average ranks, {title}: {ranks}"
    with drawing():
        wide = inline_svg(rank_figure(comparison), name, told, kind="wide")
        narrow = inline_svg(rank_figure(comparison, width=NARROW), f"{name}-narrow", told, kind="narrow")
    return Drawing(title, wide, narrow=narrow)


def difference_drawing(
    name: str,
    title: str,
    differences: Mapping[str, Mapping[str, float]],
    methods: Sequence[str],
    *,
    better: str,
    digits: int,
) -> Drawing | None:
    """Ours minus the paper's: a line for each set, a marker for each method; None where there is nothing to draw."""
    if not any(differences.values()):
        return None
    told = f"{title}; the table below has the numbers"
    svg = {}
    with drawing():
        for kind, width in (("wide", WIDE), ("narrow", NARROW)):
            figure, texts = _difference_figure(differences, methods, width, digits)
            svg[kind] = inline_svg(figure, name if kind == "wide" else f"{name}-narrow", told, points=texts, kind=kind)
    return Drawing(title, svg["wide"], f"better is to the {better}", svg["narrow"])


def _difference_figure(
    differences: Mapping[str, Mapping[str, float]], methods: Sequence[str], width: float, digits: int
) -> tuple[Figure, dict[str, list[str]]]:
    """The figure, and what each dot says."""
    from matplotlib.ticker import MaxNLocator

    texts: dict[str, list[str]] = {}
    # Each method has a lane of its own in the line of a set, so that no marker hides another.
    line = LANE * len(methods) + 0.07
    figure = new_figure(width, 0.65 + line * len(differences))
    axes = figure.subplots()
    axes.axvline(0.0, color=BLACK, linewidth=0.8)
    for index, method in enumerate(methods):
        found = [(row, one[method]) for row, one in enumerate(differences.values()) if method in one]
        apart = LANE / line * (index - (len(methods) - 1) / 2)
        axes.plot(
            [value for _, value in found],
            [row + apart for row, _ in found],
            **{**LABEL_LOOKS.get(method, look(index)).plot(), "linestyle": ""},
            markersize=72 * LANE + 0.2,
            markeredgecolor=WHITE,
            markeredgewidth=0.4,
            label=method,
            gid=f"{POINTS}-{index}",
        )
        texts[f"{POINTS}-{index}"] = [
            f"{list(differences)[row]}, {method}: {value:+.{digits}f}" for row, value in found
        ]
    axes.set_yticks(range(len(differences)), list(differences))
    axes.set_yticks([row + 0.5 for row in range(len(differences) - 1)], minor=True)
    axes.tick_params(axis="y", which="minor", length=0)
    axes.grid(visible=False, axis="y", which="major")
    axes.grid(visible=True, axis="y", which="minor")
    axes.set_ylim(len(differences) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(5 if width < WIDE else 8, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g}" if value else "0")
    axes.margins(x=0.1)
    label_axes(axes)
    rows = math.ceil(len(methods) / (4 if width < WIDE else 6))
    columns = math.ceil(len(methods) / max(rows, 1))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=columns, columnspacing=1.2)
    return figure, texts
