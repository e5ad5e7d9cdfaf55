"""Section IV-A1: what the methods learn in two dimensions, on the banana set and on three classes from a GP prior.

Besides the picture's numbers (probabilities on a grid, the inducing points) one claim is measured: that training pushes
the inducing points towards the decision boundaries. Their distance from the nearest boundary of the trained model, in
standardised coordinates, is compared between the places where they started (k-means) and where they ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.quoting import Scalar
from gpcnoise_cli.data import Split, load_split
from gpcnoise_cli.data.folder import absent, is_present
from gpcnoise_cli.data.registry import get_spec
from gpcnoise_cli.figures.result import Row, holds
from gpcnoise_cli.figures.runs import Run, Runs
from gpcnoise_cli.figures.settings import METHODS, NoiseSettings, ToySettings

Array = NDArray[np.float64]

SETS = ("banana", "three-class")
SIDE = 120
WELL = {"banana": 85.0, "three-class": 90.0}
"""Accuracies in percent from which a toy counts as well classified; guessing gives about 55 and 40."""


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
    panels = tuple(_panel(name, method, settings, runs) for name in sets for method in METHODS)
    return ToyResult(panels, missing)


def present_toys() -> tuple[list[str], tuple[str, ...]]:
    """The toys that can be loaded, and a sentence for each that cannot."""
    here = [name for name in SETS if get_spec(name).generated or is_present(get_spec(name))]
    return here, tuple(str(absent(get_spec(name))) for name in SETS if name not in here)


def toy_overrides(dataset: str, likelihood: str, settings: ToySettings | NoiseSettings) -> dict[str, Scalar]:
    """The toy's settings; a batch of 1024 is all rows."""
    return {
        "preset": "paper",
        "dataset": dataset,
        "likelihood": likelihood,
        "kernel": "matern32",
        "inducing": settings.inducing,
        "iterations": settings.iterations,
    }


def _panel(dataset: str, likelihood: str, settings: ToySettings, runs: Runs) -> ToyPanel:
    run = runs.train(toy_overrides(dataset, likelihood, settings))
    split = load_split(dataset)
    from gpcnoise_cli.methods.svgp import model_of
    from gpcnoise_cli.models.inducing import start_inducing_points

    trained, scaler = run.load(), split.scaler
    start = start_inducing_points(split.X_train, settings.inducing, trained.config.seed)
    end = np.asarray(model_of(trained).Z.numpy(), dtype=np.float64)
    X, y = _all_rows(split)
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.06 * (high - low)
    x_grid, y_grid = (np.linspace(low[i] - pad[i], high[i] + pad[i], SIDE) for i in (0, 1))
    places = np.stack(np.meshgrid(x_grid, y_grid), axis=-1).reshape(-1, 2)
    probabilities = trained.predict_probabilities(places).reshape(SIDE, SIDE, -1)
    boundary = scaler.transform(_boundary(x_grid, y_grid, probabilities.argmax(axis=-1)))
    return ToyPanel(
        dataset=dataset,
        likelihood=likelihood,
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
