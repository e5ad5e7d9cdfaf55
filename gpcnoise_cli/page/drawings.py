"""The small pictures of the page as plain geometry: points and labels, which the templates turn into inline SVG.

Lines take their colours from the style sheet, so the pictures follow the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpcnoise_cli.page.found import is_number
from gpcnoise_cli.tables.statistics import Comparison, cliques

MOST_POINTS = 24
SPARK_WIDTH, SPARK_HEIGHT = 120, 30


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
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """One line over an x axis, with ticks on both."""

    title: str
    width: int
    height: int
    box: tuple[float, float, float, float]
    x_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    line: str
    dots: tuple[tuple[float, float, str], ...]  # x, y, what it says


def line_chart(title: str, x: Sequence[float], y: Sequence[float], *, x_label: str = "step") -> Chart:
    width, height, box = 340, 210, (56.0, 12.0, 322.0, 172.0)
    kept = thin(list(zip(x, y, strict=True)), 60)
    x, y = [a for a, _ in kept], [b for _, b in kept]
    y_low, y_high, y_ticks = _axis(y)
    x_low, x_high, x_ticks = _axis(x, from_zero=True)
    left, top, right, bottom = box

    def at(a: float, b: float) -> tuple[float, float]:
        return (
            round(left + (right - left) * (a - x_low) / (x_high - x_low), 1),
            round(bottom - (bottom - top) * (b - y_low) / (y_high - y_low), 1),
        )

    points = [at(a, b) for a, b in kept]
    return Chart(
        title,
        width,
        height,
        box,
        x_label,
        tuple(Tick(at(value, y_low)[0], label) for value, label in x_ticks),
        tuple(Tick(at(x_low, value)[1], label) for value, label in y_ticks),
        " ".join(f"{a:g},{b:g}" for a, b in points),
        tuple((*point, f"{x_label} {a:g}: {b:.6g}") for point, (a, b) in zip(points, kept, strict=True)),
    )


def _axis(values: Sequence[float], *, from_zero: bool = False) -> tuple[float, float, list[tuple[float, str]]]:
    """The range of an axis that holds all values between its first and last round number."""
    low, high = (0.0 if from_zero else min(values)), max(values)
    if high <= low:
        low, high = low - 0.5, high + 0.5
    step = _round_step((high - low) / 4)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    ticks = [(number * step, f"{number * step + 0.0:.{digits}f}") for number in range(first, last + 1)]
    return first * step, last * step, ticks


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next((factor * size for factor in (1, 2, 5) if factor * size >= rough * (1 - 1e-9)), 10 * size)


@dataclass(frozen=True)
class RankMark:
    """A method on the axis of ranks: its leader goes down from `x` to `y` and aside to `edge`."""

    name: str
    rank: str
    x: float
    y: float
    edge: float
    left: bool


@dataclass(frozen=True)
class RankDiagram:
    title: str
    width: int
    height: int
    ticks: tuple[Tick, ...]
    difference: tuple[float, float]  # the length of the critical difference, from the first tick on
    difference_label: str
    marks: tuple[RankMark, ...]
    bars: tuple[tuple[float, float, float], ...]  # from, to, height


def rank_diagram(comparison: Comparison, title: str) -> RankDiagram:
    """The critical-difference diagram (Demšar 2006)."""
    order, spans = comparison.order, cliques(comparison)
    k, half = len(order), (len(order) + 1) // 2
    left, right, axis = 150.0, 490.0, 52.0

    def x(rank: float) -> float:
        return round(left + (right - left) * (rank - 1) / (k - 1), 1)

    first_line = axis + 26 + 9 * len(spans)
    marks = []
    for place, index in enumerate(order):
        on_left = place < half
        level = first_line + 22 * (place if on_left else k - 1 - place)
        marks.append(
            RankMark(
                comparison.methods[index],
                f"{comparison.ranks[index]:.2f}",
                x(comparison.ranks[index]),
                level,
                left - 14 if on_left else right + 14,
                on_left,
            )
        )
    return RankDiagram(
        title,
        640,
        round(first_line + 22 * half),
        tuple(Tick(x(rank), str(rank)) for rank in range(1, k + 1)),
        (x(1), x(min(1 + comparison.critical_difference, k))),
        f"critical difference {comparison.critical_difference:.2f}",
        tuple(marks),
        tuple((x(low) - 4, x(high) + 4, axis + 10 + 9 * number) for number, (low, high) in enumerate(spans)),
    )


@dataclass(frozen=True)
class Difference:
    """One method on one set: where its marker lies, and what it says."""

    x: float
    y: float
    look: int
    told: str


@dataclass(frozen=True)
class DifferenceChart:
    """Ours minus the paper's, a line for each set, a marker for each method."""

    title: str
    width: int
    height: int
    zero: float
    ticks: tuple[Tick, ...]
    sets: tuple[Tick, ...]
    points: tuple[Difference, ...]
    methods: tuple[str, ...]
    better: str


def difference_chart(
    title: str, differences: Mapping[str, Mapping[str, float]], methods: Sequence[str], *, better: str, digits: int
) -> DifferenceChart | None:
    """`differences` by set and method; None where there is nothing to draw."""
    values = [value for by_method in differences.values() for value in by_method.values()]
    if not values:
        return None
    reach = max(map(abs, values)) or 1.0
    left, right, top, line, apart = 150.0, 620.0, 14.0, 24.0, 4.0
    low, high, ticks = _axis([min(0.0, *values, -reach / 4), max(0.0, *values, reach / 4)])

    def x(value: float) -> float:
        return round(left + (right - left) * (value - low) / (high - low), 1)

    rows, points = [], []
    for row, (name, by_method) in enumerate(differences.items()):
        y = top + line * (row + 0.5)
        rows.append(Tick(y, name))
        points += [
            Difference(x(value), y + apart * (look - (len(methods) - 1) / 2), look, told)
            for look, method in enumerate(methods)
            if (value := by_method.get(method)) is not None
            for told in (f"{name}, {method}: {value:+.{digits}f}",)
        ]
    return DifferenceChart(
        title,
        640,
        round(top + line * len(rows) + 34),
        x(0.0),
        tuple(Tick(x(value), label if value <= 0 else f"+{label}") for value, label in ticks),
        tuple(rows),
        tuple(points),
        tuple(methods),
        better,
    )


@dataclass(frozen=True)
class Bin:
    x: float
    perfect: float
    y: float
    bar: float
    told: str


@dataclass(frozen=True)
class ReliabilityChart:
    width: int
    height: int
    box: tuple[float, float, float, float]
    ticks: tuple[tuple[float, float, str], ...]  # along x, along y, label
    line: str
    bins: tuple[Bin, ...]
    bars: tuple[float, float]  # top and bottom of the histogram below


def reliability_chart(
    confidence: Sequence[float], accuracy: Sequence[float], count: Sequence[float]
) -> ReliabilityChart | None:
    """How often the predicted class was right, by how sure the model was; below it how many rows each point has."""
    rows = [row for row in zip(confidence, accuracy, count, strict=True) if all(map(is_number, map(float, row)))]
    if not rows:
        return None
    left, top, right, bottom = 50.0, 12.0, 310.0, 272.0
    bars_top, bars_bottom = bottom + 34, bottom + 84

    def at(a: float, b: float) -> tuple[float, float]:
        return round(left + (right - left) * a, 1), round(bottom - (bottom - top) * b, 1)

    largest = max(math.log1p(n) for _, _, n in rows) or 1.0
    bins = tuple(
        Bin(
            at(c, a)[0],
            at(c, c)[1],
            at(c, a)[1],
            round(bars_bottom - (bars_bottom - bars_top) * math.log1p(n) / largest, 1),
            f"confidence {c:.3f}: {100 * a:.1f}% right, {n:.0f} rows",
        )
        for c, a, n in rows
    )
    ticks = tuple((*at(part, part), f"{part:g}") for part in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    line = " ".join(f"{one.x:g},{one.y:g}" for one in bins)
    return ReliabilityChart(
        340, round(bars_bottom + 30), (left, top, right, bottom), ticks, line, bins, (bars_top, bars_bottom)
    )
