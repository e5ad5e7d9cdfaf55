"""The critical-difference diagram (Demšar, JMLR 2006): methods on an axis of ranks, bars over those not told apart."""

from __future__ import annotations

from pathlib import Path

from gpcnoise_cli.files import write_atomically
from gpcnoise_cli.tables.statistics import Comparison, cliques

FORMATS = ("png", "pdf", "svg")


def draw_diagram(comparison: Comparison, title: str, path: Path) -> None:
    """Write the diagram in the format that the ending of `path` names."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    spans, order = cliques(comparison), comparison.order
    k, half = len(order), (len(order) + 1) // 2
    bars_end = 0.35 + 0.25 * len(spans)
    figure = Figure(figsize=(7.5, 1.6 + 0.24 * half + 0.12 * len(spans)))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.86))
    axes.set(xlim=(1 - 0.3 * k, k + 0.3 * k), ylim=(bars_end + 0.5 * half + 0.4, -1.3))
    axes.axis("off")
    axes.set_title(f"{title} (n = {len(comparison.sets)} sets)", fontsize=9)

    axes.plot([1, k], [0, 0], color="black", lw=1)
    for rank in range(1, k + 1):
        axes.plot([rank, rank], [0, -0.15], color="black", lw=1)
        axes.text(rank, -0.25, str(rank), ha="center", va="bottom", fontsize=8)
    width = min(comparison.critical_difference, k - 1)
    axes.plot([1, 1 + width], [-0.95, -0.95], color="black", lw=1.5)
    axes.text(1 + width / 2, -1.02, f"CD = {comparison.critical_difference:.2f}", ha="center", va="bottom", fontsize=8)

    for place, index in enumerate(order):
        to_left = place < half
        level = bars_end + 0.5 * (place + 1 if to_left else k - place)
        at, edge = comparison.ranks[index], 1 - 0.05 * k if to_left else k + 0.05 * k
        axes.plot([at, at, edge], [0, level, level], color="black", lw=0.8)
        name = f"{comparison.methods[index]}  {at:.2f}" if to_left else f"{at:.2f}  {comparison.methods[index]}"
        axes.text(edge, level, f" {name} ", ha="right" if to_left else "left", va="center", fontsize=9)
    for number, (low, high) in enumerate(spans):
        level = 0.3 + 0.25 * number
        axes.plot([low - 0.04, high + 0.04], [level, level], color="black", lw=3, solid_capstyle="butt")

    kind = path.suffix.lstrip(".").lower()
    metadata = {"CreationDate": None} if kind == "pdf" else {"Date": None} if kind == "svg" else None
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda stream: figure.savefig(stream, format=kind, dpi=150, metadata=metadata))
