"""The picture of the airline run (Fig. 3): accuracy and nll along training, one line per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpcnoise_cli.figures.drawings.style import GREY, METHOD_LOOKS, PAGE, label_axes, method_name, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.airline import AirlineResult


def draw(result: AirlineResult, note: str) -> dict[str, Figure]:
    said = [text for text in (note, result.stands_in, "" if note else result.shorter) if text]
    figure = new_figure(PAGE, 2.9, note="; ".join(said))
    left, right = figure.subplots(1, 2)
    for axes, metric, label in ((left, "acc", "accuracy, %"), (right, "nll", "nll, nats")):
        for run in result.runs:
            steps = [point.step for point in run.curve]
            values = [getattr(point, metric) for point in run.curve]
            look = METHOD_LOOKS[run.likelihood]
            axes.plot(
                steps, values, **look.plot(), markevery=max(len(steps) // 8, 1), label=method_name(run.likelihood)
            )
        label_axes(axes, x="iteration", y=label)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value >= 1000 else f"{value:g}")
    left.axhline(result.majority_acc, color=GREY, linewidth=0.9, linestyle=":", label="largest class alone")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return {"airline": figure}
