"""Section IV-A1: what the methods learn in two dimensions, on the banana set and on three classes from a GP prior.

Besides the picture's numbers (probabilities on a grid, the inducing points) one claim is measured: that training pushes
the inducing points towards the decision boundaries. Their distance from the nearest boundary of the trained model, in
standardised coordinates, is compared between the places where they started (k-means) and where they ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.quoting import Scalar
from gpcnoise_cli.data.folder import absent, present_sets
from gpcnoise_cli.data.registry import get_spec
from gpcnoise_cli.figures.experiment import Experiment, Row, Settings, holds, number
from gpcnoise_cli.figures.style import BLACK, CLASS_COLOURS, CLASS_MARKERS, PAGE, label_axes, method_name, new_figure
from gpcnoise_cli.likelihoods.registry import paper_likelihoods

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gpcnoise_cli.data import Split
    from gpcnoise_cli.figures.runs import Run, Runs

Array = NDArray[np.float64]

SETS = ("banana", "three-class")
SIDE = 120
WELL = {"banana": 85.0, "three-class": 90.0}
"""Accuracies in percent from which a toy counts as well classified; guessing gives about 55 and 40."""


@dataclass(frozen=True)
class ToySettings(Settings):
    """All rows at once, Matérn32."""

    iterations: int = number(5000, "Adam iterations.")
    inducing: int = number(32, "Inducing points.", short="-m")


@dataclass(frozen=True)
class ToyPanel:
    """One method on one set, in the data's own coordinates."""

    dataset: str
    likelihood: str
    X: Array
    y: NDArray[np.int64]
    x_grid: Array
    y_grid: Array
    probabilities: Array  # [rows of the grid, columns, C]
    Z_start: Array
    Z_end: Array
    distance_start: float
    distance_end: float
    acc: float
    nll: float
    train_acc: float
    delta: float | None
    seconds: float


@dataclass(frozen=True)
class ToyResult:
    panels: tuple[ToyPanel, ...]
    missing: tuple[str, ...]

    def tables(self) -> dict[str, Sequence[Row]]:
        scores = [
            {
                "dataset": panel.dataset,
                "likelihood": panel.likelihood,
                "acc": panel.acc,
                "nll": panel.nll,
                "train_acc": panel.train_acc,
                "delta": panel.delta,
                "distance_at_start": panel.distance_start,
                "distance_at_end": panel.distance_end,
                "seconds": panel.seconds,
            }
            for panel in self.panels
        ]
        inducing = [
            {
                "dataset": panel.dataset,
                "likelihood": panel.likelihood,
                "x1_start": start[0],
                "x2_start": start[1],
                "x1_end": end[0],
                "x2_end": end[1],
            }
            for panel in self.panels
            for start, end in zip(panel.Z_start, panel.Z_end, strict=True)
        ]
        return {"toy": scores, "inducing": inducing}

    def findings(self) -> list[str]:
        said = []
        for name in dict.fromkeys(panel.dataset for panel in self.panels):
            panels = [panel for panel in self.panels if panel.dataset == name]
            accuracies = [panel.train_acc for panel in panels]
            said.append(
                f"{name}: {min(accuracies):.1f} to {max(accuracies):.1f}% of the training rows are classified rightly "
                f"({holds(min(accuracies) >= WELL[name])}: the methods classify it well)."
            )
        nearer = [panel for panel in self.panels if panel.distance_end < panel.distance_start]
        others = [f"{panel.likelihood} on {panel.dataset}" for panel in self.panels if panel not in nearer]
        start, end = (
            float(np.mean([getattr(p, f"distance_{when}") for p in self.panels])) for when in ("start", "end")
        )
        said.append(
            f"Training moved the inducing points nearer to the decision boundaries for {len(nearer)} of "
            f"{len(self.panels)} models; their mean distance to the nearest one went from {start:.3f} to {end:.3f} "
            f"standard deviations of the inputs ({holds(len(nearer) > len(others))}"
            + (f", but not for {', '.join(others)})." if others else ").")
        )
        return said + [f"Not drawn: {reason}" for reason in self.missing]

    def summary(self) -> dict[str, Any]:
        return {"models": list(self.tables()["toy"]), "missing": list(self.missing)}


def compute(settings: ToySettings, runs: Runs) -> ToyResult:
    """Every method on every toy that is here."""
    sets, missing = present_toys()
    done = [
        runs.train(toy_overrides(name, method, settings.iterations, settings.inducing))
        for name in sets
        for method in paper_likelihoods()
    ]
    return ToyResult(tuple(_panel(run) for run in done), missing)


def present_toys() -> tuple[list[str], tuple[str, ...]]:
    """The toys that can be loaded, and a sentence for each that cannot."""
    here, missing = present_sets(SETS)
    return here, tuple(str(absent(get_spec(name))) for name in missing)


def toy_overrides(dataset: str, likelihood: str, iterations: int, inducing: int) -> dict[str, Scalar]:
    """The toy's settings; a batch of 1024 is all rows."""
    return {
        "preset": "paper",
        "dataset": dataset,
        "likelihood": likelihood,
        "kernel": "matern32",
        "inducing": inducing,
        "iterations": iterations,
    }


def _panel(run: Run) -> ToyPanel:
    from gpcnoise_cli.methods.svgp import model_of

    trained, split = run.load()
    from gpcnoise_cli.models.inducing import start_inducing_points

    config, scaler = trained.config, split.scaler
    start = start_inducing_points(split.X_train, config.inducing, config.seed, config.inducing_start)
    end = np.asarray(model_of(trained).Z.numpy(), dtype=np.float64)
    X, y = _all_rows(split)
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.06 * (high - low)
    x_grid, y_grid = (np.linspace(low[i] - pad[i], high[i] + pad[i], SIDE) for i in (0, 1))
    places = np.stack(np.meshgrid(x_grid, y_grid), axis=-1).reshape(-1, 2)
    probabilities = trained.predict_probabilities(places).reshape(SIDE, SIDE, -1)
    boundary = scaler.transform(_boundary(x_grid, y_grid, probabilities.argmax(axis=-1)))
    return ToyPanel(
        dataset=config.dataset.name,
        likelihood=config.likelihood.name,
        X=X,
        y=y,
        x_grid=x_grid,
        y_grid=y_grid,
        probabilities=probabilities,
        Z_start=start * scaler.scale + scaler.mean,
        Z_end=end * scaler.scale + scaler.mean,
        distance_start=_mean_distance(start, boundary),
        distance_end=_mean_distance(end, boundary),
        train_acc=float(100.0 * np.mean(trained.predict_scaled(split.X_train).argmax(axis=1) == split.y_train)),
        **_scores(run),
    )


def _scores(run: Run) -> dict[str, Any]:
    record = run.record
    return {**{key: record[key] for key in ("acc", "nll", "delta")}, "seconds": record["train_seconds"]}


def _all_rows(split: Split) -> tuple[Array, NDArray[np.int64]]:
    scaled = np.concatenate([split.X_train, split.X_test])
    return scaled * split.scaler.scale + split.scaler.mean, np.concatenate([split.y_train, split.y_test])


def _boundary(x: Array, y: Array, decision: NDArray[np.int64]) -> Array:
    """The midpoints between neighbouring places of the grid that are decided differently, [k, 2]."""
    upright = np.argwhere(decision[:, 1:] != decision[:, :-1])
    level = np.argwhere(decision[1:] != decision[:-1])
    between_columns = np.column_stack([(x[upright[:, 1]] + x[upright[:, 1] + 1]) / 2, y[upright[:, 0]]])
    between_rows = np.column_stack([x[level[:, 1]], (y[level[:, 0]] + y[level[:, 0] + 1]) / 2])
    return np.concatenate([between_columns, between_rows])


def _mean_distance(Z: Array, boundary: Array) -> float:
    """From each inducing point to the nearest place of the boundary; NaN where one class takes everything."""
    if len(boundary) == 0:
        return float("nan")
    return float(np.mean(np.linalg.norm(Z[:, None] - boundary[None], axis=-1).min(axis=1)))


def draw(result: ToyResult, note: str) -> dict[str, Figure]:
    """A row per set, a column per method."""
    sets = list(dict.fromkeys(panel.dataset for panel in result.panels))
    columns = max(sum(panel.dataset == name for panel in result.panels) for name in sets)
    figure = new_figure(PAGE, 0.75 + 1.85 * len(sets), note=note)
    grid = figure.subplots(len(sets), columns, squeeze=False)
    for row, name in enumerate(sets):
        for axes, panel in zip(grid[row], (p for p in result.panels if p.dataset == name), strict=True):
            _draw_panel(axes, panel)
        grid[row, 0].set_ylabel(f"{name}\nx2")
    for axes in grid[-1]:
        axes.set_xlabel("x1")
    figure.legend(
        handles=_key(max(int(panel.y.max()) + 1 for panel in result.panels)), loc="outside lower center", ncols=6
    )
    return {"toy": figure}


def _draw_panel(axes: Axes, panel: ToyPanel) -> None:
    axes.grid(False)
    extent = (panel.x_grid[0], panel.x_grid[-1], panel.y_grid[0], panel.y_grid[-1])
    axes.imshow(_shading(panel), extent=extent, origin="lower", aspect="auto", interpolation="bilinear")
    classes = panel.probabilities.shape[-1]
    for c in range(classes):
        rows = panel.y == c
        look: dict[str, Any] = {"s": 4.5, "marker": CLASS_MARKERS[c], "color": CLASS_COLOURS[c]}
        axes.scatter(panel.X[rows, 0], panel.X[rows, 1], edgecolor="white", linewidth=0.2, **look)
    for c in range(1 if classes == 2 else 0, classes):
        axes.contour(panel.x_grid, panel.y_grid, panel.probabilities[..., c], [0.5], colors=BLACK, linewidths=1.1)
    ring: dict[str, Any] = {"s": 17, "facecolor": "none", "edgecolor": BLACK, "linewidth": 0.9}
    axes.scatter(panel.Z_end[:, 0], panel.Z_end[:, 1], zorder=3, **ring)
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    label_axes(axes, title=f"{method_name(panel.likelihood)}\nacc {panel.acc:.1f}%, nll {panel.nll:.3f}")


def _shading(panel: ToyPanel) -> Any:
    """Each place in the mixture of the class colours, paler where no class is likely."""
    from matplotlib.colors import to_rgb

    colours = np.array([to_rgb(colour) for colour in CLASS_COLOURS[: panel.probabilities.shape[-1]]])
    strength = 0.55 * (panel.probabilities - 1.0 / len(colours)).clip(0.0, None) / (1.0 - 1.0 / len(colours))
    return 1.0 - np.einsum("yxc,cr->yxr", strength, 1.0 - colours)


def _key(classes: int) -> list[Any]:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=CLASS_MARKERS[c], color=CLASS_COLOURS[c], label=f"class {c}")
        for c in range(classes)
    ]
    handles.append(Line2D([], [], color=BLACK, label="p = 0.5"))
    circle: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": BLACK, "markersize": 5}
    return [*handles, Line2D([], [], linestyle="", label="inducing points, optimised", **circle)]


EXPERIMENT = Experiment(
    "toy", "decision boundaries and inducing points on two toys (Fig. 2)", ToySettings, compute, draw
)
