"""The critical-difference diagram (Demšar, JMLR 2006): methods on an axis of ranks, bars over those not told apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpcnoise_cli.figures import files
from gpcnoise_cli.figures.style import BLACK, BLUE, GREY, drawing, new_figure, wrapped
from gpcnoise_cli.tables.statistics import Comparison, cliques

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = tuple(files.FORMATS)
# Where things are, in ranks below the axis: the first bar and the next, the first name and the next, the difference.
BAR, NEXT_BAR, NAME, NEXT_NAME, DIFFERENCE = 0.4, 0.3, 0.6, 0.65, -1.3


def draw_diagram(comparison: Comparison, title: str, path: Path) -> None:
    """Write the diagram in the format that the ending of `path` names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with drawing():
        files.write_picture(rank_figure(comparison, wrapped(f"{title} (n = {len(comparison.sets)})", 64)), path)


def rank_figure(comparison: Comparison, title: str = "", *, width: float = 5.0) -> Figure:
    """The better half of the methods is named on the left, the other half on the right, nearest to the axis first."""
    aside = 1.5 / width  # of the axis, on either side, for the names
    spans, order = cliques(comparison), comparison.order
    k, half = len(order), (len(order) + 1) // 2
    first = NAME + NEXT_BAR * len(spans)
    bottom = first + NEXT_NAME * half
    figure = new_figure(width, 0.25 * (bottom - DIFFERENCE) + (0.2 + 0.2 * len(title.splitlines())))
    axes = figure.subplots()
    axes.set(xlim=(1 - aside * k, k + aside * k), ylim=(bottom, DIFFERENCE - 0.4), yticks=(), title=title)
    axes.set_xticks(range(1, k + 1))
    axes.xaxis.set_ticks_position("top")
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.spines["top"].set(visible=True, position=("data", 0), bounds=(1, k))

    def name(text: str, x: float, y: float, *, left: bool = False) -> None:
        apart, align = (-4, "right") if left else (4, "left")
        axes.annotate(text, (x, y), (apart, 0), textcoords="offset points", ha=align, va="center")

    end = min(1 + comparison.critical_difference, k)
    axes.plot([1, end], [DIFFERENCE, DIFFERENCE], color=BLACK, lw=1.5)
    name(f"critical difference {comparison.critical_difference:.2f}", end, DIFFERENCE)
    for place, index in enumerate(order):
        left = place < half
        level = first + NEXT_NAME * (place if left else k - 1 - place)
        rank, edge = comparison.ranks[index], 1 - 0.04 * k if left else k + 0.04 * k
        axes.plot([rank, rank, edge], [0, level, level], color=GREY, lw=0.8)
        name(f"{comparison.methods[index]} {rank:.2f}", edge, level, left=left)
    for number, (low, high) in enumerate(spans):
        level = BAR + NEXT_BAR * number
        axes.plot([low - 0.04, high + 0.04], [level, level], color=BLUE, lw=3, solid_capstyle="butt")
    return figure
