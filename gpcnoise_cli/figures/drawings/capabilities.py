"""Table I as a picture: who handles what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpcnoise_cli.figures.drawings.style import BLACK, BLUE, GREY, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.capabilities import CapabilitiesResult

_WORDS = {"": "–", "b": "binary", "m": "multi-class", "bm": "binary,\nmulti-class"}


def draw(result: CapabilitiesResult, note: str) -> dict[str, Figure]:
    methods = list(result.cells)
    figure = new_figure(5.2, 0.5 + 0.45 * len(methods), note=note)
    axes = figure.subplots()
    axes.set_xlim(-1.2, len(result.likelihoods) - 0.5)
    axes.set_ylim(len(methods) - 0.4, -1.3)
    axes.axis("off")
    for column, name in enumerate(result.likelihoods):
        axes.text(column, -0.85, name, ha="center", va="center", weight="bold")
    axes.axhline(-0.5, color=BLACK, linewidth=0.8)
    for row, method in enumerate(methods):
        ours = row == len(methods) - 1
        if ours:
            axes.axhspan(row - 0.45, row + 0.45, color=BLUE, alpha=0.1, linewidth=0)
        axes.text(-1.15, row, method, va="center", weight="bold" if ours else "normal")
        for column, name in enumerate(result.likelihoods):
            kinds = result.cells[method].get(name, "")
            colour = BLACK if kinds else GREY
            further = [f"\n{bound} bound" for bound in result.bounds[name][1:]] if ours else []
            text = _WORDS.get(kinds, kinds) + "".join(further)
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=7.5)
    return {"capabilities": figure}
