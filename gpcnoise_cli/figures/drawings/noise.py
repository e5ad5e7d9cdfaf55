"""The picture of App. B: the bound over the noise variance above, its derivative three ways below, a column per set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpcnoise_cli.figures.drawings.style import BLACK, GREY, METHOD_LOOKS, PAGE, label_axes, method_name, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.noise import NoiseResult

_CROSS: dict[str, Any] = {"marker": "x", "markersize": 4.5, "color": BLACK}
_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 5.5,
    "markerfacecolor": "none",
    "markeredgecolor": BLACK,
    "markeredgewidth": 0.6,
}


def draw(result: NoiseResult, note: str) -> dict[str, Figure]:
    from gpcnoise_cli.figures.noise import METHOD_A

    sets = list(dict.fromkeys(curve.dataset for curve in result.curves))
    figure = new_figure(PAGE, 4.3, note=note)
    grid = figure.subplots(2, len(sets), squeeze=False, sharex=True)
    for column, name in enumerate(sets):
        above, below = grid[:, column]
        falling = all(curve.falls for curve in result.curves if curve.dataset == name)
        sign = -1.0 if falling else 1.0
        for curve in (c for c in result.curves if c.dataset == name):
            look = METHOD_LOOKS[curve.likelihood]
            above.plot(curve.a, curve.elbo - curve.elbo[0], color=look.colour, linestyle=look.line)
            methods = np.array(list(METHOD_A.values()))
            heights = np.array([curve.at_methods[m] for m in METHOD_A]) - curve.elbo[0]
            above.plot(methods, heights, linestyle="", marker=look.marker, color=look.colour)
            use = curve.a > 0
            below.plot(curve.a[use], sign * curve.by_paper[use], color=look.colour, linewidth=1.8)
            below.plot(curve.a[use][1::4], sign * curve.by_autodiff[use][1::4], linestyle="", **_CROSS)
            below.plot(curve.a[use][3::4], sign * curve.by_differences[use][3::4], linestyle="", **_RING)
        for axes in (above, below):
            axes.set_xscale("symlog", linthresh=0.1, linscale=0.5)
            axes.set_xticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
            axes.minorticks_off()
        classes = next(c.classes for c in result.curves if c.dataset == name)
        label_axes(above, title=f"{name}\n({classes} classes)", y="L(a) − L(0), nats" if column == 0 else "")
        label_axes(
            below, x="noise variance a", y="" if column and falling else "−∂L/∂a (all negative)" if falling else "∂L/∂a"
        )
        above.axhline(0.0, color=GREY, linewidth=0.8)
        if falling:
            below.set_yscale("log")
            below.yaxis.set_major_formatter("{x:g}")
            below.yaxis.set_minor_formatter("")
        else:
            below.axhline(0.0, color=GREY, linewidth=0.8)
    figure.legend(handles=_key(), loc="outside lower center", ncols=3)
    return {"noise": figure}


def _key() -> list[object]:
    from matplotlib.lines import Line2D

    from gpcnoise_cli.figures.settings import GAUSSIAN_METHODS

    methods: list[object] = [
        Line2D([], [], **METHOD_LOOKS[name].plot(), label=f"trained as {method_name(name)}")
        for name in GAUSSIAN_METHODS
    ]
    return [
        *methods,
        Line2D([], [], color=GREY, label="∂L/∂a by App. B"),
        Line2D([], [], linestyle="", label="by autodiff", **_CROSS),
        Line2D([], [], linestyle="", label="by differences", **_RING),
    ]
