"""The picture of App. A (Fig. 5): densities above, distribution functions below, the Gaussian dashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpcnoise_cli.figures.drawings.style import BLACK, METHOD_LOOKS, PAGE, label_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.errors import ErrorsResult


def draw(result: ErrorsResult, note: str) -> dict[str, Figure]:
    figure = new_figure(PAGE, 4.0, note=note)
    panels = figure.subplots(2, len(result.curves), sharex=True)
    for column, curve in enumerate(result.curves):
        colour = METHOD_LOOKS[curve.likelihood].colour
        above, below = panels[:, column]
        if curve.name == "Dirac":
            above.annotate("", (0.0, 4.4), (0.0, 0.0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.6})
            above.plot([], [], color=colour, label="Dirac error")
            above.set_ylim(0.0, 4.6)
        else:
            above.plot(curve.x, curve.pdf, color=colour, label=f"{curve.name} error")
            above.set_ylim(0.0, 0.5)
        approximation = "a → 0 (0.01 drawn)" if curve.name == "Dirac" else f"a = {curve.a:.4g}"
        above.plot(
            curve.x, curve.gauss_pdf, color=BLACK, linestyle="--", linewidth=1.1, label=f"N(0, a), {approximation}"
        )
        below.plot(curve.x, curve.cdf, color=colour)
        below.plot(curve.x, curve.gauss_cdf, color=BLACK, linestyle="--", linewidth=1.1)
        gap = "→ 0 for\nε ≠ 0" if curve.name == "Dirac" else f"{curve.largest_difference:.4f}"
        below.text(0.04, 0.95, f"largest\ndifference\n{gap}", transform=below.transAxes, va="top", fontsize=7)
        label_axes(above, y="density" if column == 0 else "", title=f"{curve.name} ({curve.likelihood})")
        label_axes(below, x="ε", y="distribution function" if column == 0 else "")
        above.legend(loc="upper center", bbox_to_anchor=(0.5, -0.04), handlelength=1.6, borderaxespad=0.2)
    return {"errors": figure}
