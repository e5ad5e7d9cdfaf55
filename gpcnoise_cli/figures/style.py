"""One look for all figures: sizes that survive a column of print, and colours that colour-blind readers tell apart.

The palette is Okabe and Ito's. A method has its colour, its marker and its line everywhere, so that a figure also reads
in grey. Figures are drawn without pyplot: no display, no state shared between figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, paper_likelihoods
from gpcnoise_cli.methods.registry import variants

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY, WHITE, GRID = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F", "#FFFFFF", "#DDDDDD"
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK, GREY)
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = "osD^vPX*<>hp"
CLASS_COLOURS = (BLUE, ORANGE, GREEN)
CLASS_MARKERS = "osD"

# Inches: a column and the full width of a two-column page.
COLUMN, PAGE = 3.5, 7.16


@dataclass(frozen=True)
class Look:
    """How one thing is drawn throughout."""

    colour: str
    line: Any
    marker: str

    def plot(self) -> dict[str, Any]:
        return {"color": self.colour, "linestyle": self.line, "marker": self.marker}


def look(index: int) -> Look:
    """The index-th look; there are enough for any legend that can be read."""
    return Look(CYCLE[index % len(CYCLE)], LINES[index % len(LINES)], MARKERS[index % len(MARKERS)])


# The paper's own first, then the methods that it compares them with, so that none of these share a colour.
_ORDER = dict.fromkeys([*paper_likelihoods(), *(name for name in variants() if name not in LIKELIHOODS), *variants()])
METHOD_LOOKS = {name: look(index) for index, name in enumerate(_ORDER)}
LABEL_LOOKS = {spec.label: METHOD_LOOKS[name] for name, spec in variants().items()}  # by what tables call it

_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "gpcnoise",  # and identifiers stay the same
}


@contextmanager
def drawing() -> Iterator[None]:
    """The style, while figures are made and saved; Matplotlib's own settings are untouched outside."""
    import matplotlib

    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, **_RC, "backend": "agg"}
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float, height: float, *, note: str = "") -> Figure:
    """An empty figure of that many inches; `note` says above it what the reader must not overlook."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    if note:
        figure.suptitle(wrapped(note, int(width * 17)), fontsize=6.5, color=VERMILION)
    return figure


def label_axes(axes: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """The usual labels of one panel."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if title:
        axes.set_title(title)


def in_thousands(axes: Axes) -> None:
    """5k for 5000 on the x axis."""
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value >= 1000 else f"{value:g}")


def method_name(variant: str) -> str:
    """`GPC-I (step)`: the paper's name and ours."""
    return f"{variants()[variant].label} ({variant})"


def wrapped(text: str, width: int) -> str:
    """`text` in lines of at most `width` letters."""
    import textwrap

    return "\n".join(textwrap.wrap(text, width))
