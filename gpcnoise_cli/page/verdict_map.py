"""The verdicts at a glance: a mark for each published figure, a line for each set, a column for each method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.claims.equivalence import Verdict
from gpcnoise_cli.claims.judge import Judged
from gpcnoise_cli.claims.reasons import NOT_KNOWN
from gpcnoise_cli.figures.run_pictures import POINTS
from gpcnoise_cli.figures.style import BLACK, BLUE, GREY, VERMILION, WHITE, drawing, new_figure
from gpcnoise_cli.page.drawings import NARROW, WIDE, Drawing
from gpcnoise_cli.page.svg import inline_svg
from gpcnoise_cli.tables.published import published_sets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXPLAINED = f"{Verdict.CONTRADICTED.value}, with a reason"
# Told apart by shape, too: a full dot, a heavy cross, a thin one, an empty dot, a speck.
MARKS: dict[str, dict[str, Any]] = {
    Verdict.CONFIRMED.value: {"marker": "o", "color": BLUE},
    Verdict.CONTRADICTED.value: {"marker": "X", "color": VERMILION, "markersize": 5.0, "markeredgewidth": 0.0},
    EXPLAINED: {"marker": "x", "color": VERMILION, "markersize": 4.0, "markeredgewidth": 0.9},
    Verdict.UNDECIDED.value: {"marker": "o", "markerfacecolor": WHITE, "markeredgecolor": GREY, "markeredgewidth": 0.8},
    Verdict.NOT_COMPUTED.value: {"marker": ".", "color": BLACK, "markersize": 2.5},
    Verdict.NOT_RUNNABLE.value: {"marker": ".", "color": GREY, "markersize": 2.0},
}
LINE = 0.135  # inches from one set to the next


@dataclass(frozen=True)
class _Panel:
    """The figures of one table of the paper in one metric."""

    table: str
    metric: str
    judged: tuple[Judged, ...]

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(one.claim.label for one in self.judged))


def panels_of(judged: Sequence[Judged]) -> list[_Panel]:
    """One for each table and metric, in the paper's order."""
    found: dict[tuple[str, str], list[Judged]] = {}
    for one in judged:
        if one.claim.is_figure:
            found.setdefault((one.claim.table, one.claim.metric), []).append(one)
    return [_Panel(*kind, tuple(some)) for kind, some in found.items()]


def verdict_drawing(judged: Sequence[Judged]) -> Drawing | None:
    """None where no figure of a set is among them."""
    panels = panels_of(judged)
    if not panels:
        return None
    title, note, svg = "The verdicts, figure by figure", "point at a mark to read it", {}
    told = f"{title}; the table of the paper's figures has them in words"
    with drawing():
        for kind, width, across in (("wide", WIDE, 4), ("narrow", NARROW, 2)):
            figure, texts = _figure(panels, width, across)
            name = "verdicts" if kind == "wide" else "verdicts-narrow"
            svg[kind] = inline_svg(figure, name, told, points=texts, kind=kind)
    return Drawing(title, svg["wide"], note, svg["narrow"])


def _figure(panels: Sequence[_Panel], width: float, across: int) -> tuple[Figure, dict[str, list[str]]]:
    """The panels in lines of so many, and what each mark says."""
    from matplotlib.lines import Line2D

    names = [one.name for one in published_sets()]
    rows = [panels[start : start + across] for start in range(0, len(panels), across)]
    figure = new_figure(width, (LINE * len(names) + 0.75) * len(rows) + 0.25)
    grid = figure.subplots(
        len(rows), len(rows[0]), squeeze=False, sharey=True, width_ratios=[len(one.methods) for one in rows[0]]
    )
    texts: dict[str, list[str]] = {}
    for line, row in zip(grid, rows, strict=True):
        for axes in line[len(row) :]:
            axes.set_axis_off()
        for axes, panel in zip(line, row, strict=False):
            texts |= _draw(axes, panel, names)
    found = {_kind(one) for panel in panels for one in panel.judged}
    handles = [Line2D([], [], linestyle="", label=kind, **look) for kind, look in MARKS.items() if kind in found]
    figure.legend(handles=handles, loc="outside upper center", ncols=3 if width >= WIDE else 2, columnspacing=1.2)
    return figure, texts


def _draw(axes: Axes, panel: _Panel, names: Sequence[str]) -> dict[str, list[str]]:
    texts = {}
    for index, (kind, look) in enumerate(MARKS.items()):
        some = [one for one in panel.judged if _kind(one) == kind]
        if not some:
            continue
        place = f"{POINTS}-{panel.table}-{panel.metric}-{index}"
        x, y = [panel.methods.index(one.claim.label) for one in some], [names.index(one.claim.sets) for one in some]
        axes.plot(x, y, linestyle="", gid=place, **look)
        texts[place] = [_told(one) for one in some]
    axes.set_xticks(range(len(panel.methods)), panel.methods, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.set_xlim(-0.6, len(panel.methods) - 0.4)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_title(f"{panel.table}: {panel.metric}")
    return texts


def _kind(one: Judged) -> str:
    return EXPLAINED if one.reason and one.reason != NOT_KNOWN else one.verdict.value


def _told(one: Judged) -> str:
    claim, ours = one.claim, "" if one.ours is None else f", here {one.ours.mean:.4g}"
    why = f" (reason {one.reason})" if one.reason else ""
    return f"{claim.sets}, {claim.label}: {claim.metric} {claim.value:g}{ours}: {one.verdict.value}{why}"
