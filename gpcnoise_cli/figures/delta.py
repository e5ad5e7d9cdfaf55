"""Section IV-B1: can δ be fixed? The same training with δ fixed at 1e-3, learned by gradient, and in closed form.

Accuracy and nll are followed along training, and at its end the latent marginals of the training rows are looked at:
the paper says that a fixed δ makes the model over- or underestimate them. Free and optimal δ are compared with the
maximiser δ* = 1 − mean S of the bound for the model as it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.quoting import Scalar
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.figures.experiment import Experiment, Row, Settings, datasets, holds, names, number, present
from gpcnoise_cli.figures.style import (
    BLUE,
    GREEN,
    GREY,
    METHOD_LOOKS,
    PAGE,
    VERMILION,
    in_thousands,
    label_axes,
    method_name,
    new_figure,
)
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Run, Runs
    from gpcnoise_cli.training.events import CurvePoint

Array = NDArray[np.float64]

MODES = ("fixed", "free", "optimal")
QUANTILES = np.linspace(0.005, 0.995, 199)
MEASUREMENTS = 40
MOST_ROWS = 20_000
METHODS = tuple(name for name, spec in LIKELIHOODS.items() if spec.has_delta)


@dataclass(frozen=True)
class DeltaSettings(Settings):
    """The paper's UCI settings on adult and waveform-noise."""

    iterations: int = number(10_000, "Adam iterations.")
    inducing: int = number(300, "Inducing points.", short="-m")
    methods: tuple[str, ...] = names(METHODS, "Likelihoods", METHODS, "likelihood")
    sets: tuple[str, ...] = datasets(("adult", "waveform-noise"), "Data sets")


@dataclass(frozen=True)
class DeltaRun:
    """One training: its curve, its end, and the marginals of the training rows at their observed class."""

    dataset: str
    likelihood: str
    mode: str
    curve: tuple[CurvePoint, ...]
    acc: float
    nll: float
    delta: float
    best_delta: float
    mean_quantiles: Array
    variance_quantiles: Array

    @property
    def lowest_nll(self) -> float:
        return min(point.nll for point in self.curve)


@dataclass(frozen=True)
class DeltaResult:
    runs: tuple[DeltaRun, ...]
    missing: tuple[str, ...]

    def of(self, dataset: str, likelihood: str, mode: str) -> DeltaRun:
        return next(r for r in self.runs if (r.dataset, r.likelihood, r.mode) == (dataset, likelihood, mode))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((r.dataset, r.likelihood) for r in self.runs))

    def tables(self) -> dict[str, Sequence[Row]]:
        def key(run: DeltaRun) -> dict[str, Any]:
            return {"dataset": run.dataset, "likelihood": run.likelihood, "delta_mode": run.mode}

        curves = [{**key(run), **point.to_dict()} for run in self.runs for point in run.curve]
        ends = [
            {
                **key(run),
                "acc": run.acc,
                "nll": run.nll,
                "lowest_nll": run.lowest_nll,
                "delta": run.delta,
                "delta_star": run.best_delta,
                "median_mean": float(np.median(run.mean_quantiles)),
                "median_variance": float(np.median(run.variance_quantiles)),
            }
            for run in self.runs
        ]
        marginals = [
            {**key(run), "quantile": q, "mu": run.mean_quantiles[i], "nu": run.variance_quantiles[i]}
            for run in self.runs
            for i, q in enumerate(QUANTILES)
        ]
        return {"delta": ends, "curves": curves, "marginals": marginals}

    def findings(self) -> list[str]:
        said = []
        worse, rising, total = 0, 0, len(self.pairs)
        for dataset, likelihood in self.pairs:
            fixed, free, optimal = (self.of(dataset, likelihood, mode) for mode in MODES)
            worse += fixed.nll > free.nll
            rising += fixed.nll > fixed.lowest_nll + 0.01
            said.append(
                f"{likelihood} on {dataset}: nll {fixed.nll:.4f} with fixed, {free.nll:.4f} with free and "
                f"{optimal.nll:.4f} with optimal δ (acc {fixed.acc:.2f}, {free.acc:.2f}, {optimal.acc:.2f}%); free δ "
                f"ended at {free.delta:.4f}, where δ* is {free.best_delta:.4f}; optimal δ at {optimal.delta:.4f} (δ* "
                f"{optimal.best_delta:.4f})."
            )
        said.append(
            f"A fixed δ gives a worse nll than a free one in {worse} of {total} cases ({holds(worse == total)}), and "
            f"its nll rises again during training in {rising} of {total}."
        )
        wide = sum(
            np.median(self.of(d, m, "fixed").variance_quantiles) > np.median(self.of(d, m, "free").variance_quantiles)
            for d, m in self.pairs
        )
        said.append(
            f"With a fixed δ the median posterior variance ν is larger than with a free one in {wide} of {total} cases "
            f"({holds(wide == total)}: ν is overestimated)."
        )
        gap = max(abs(self.of(d, m, "free").delta - self.of(d, m, "free").best_delta) for d, m in self.pairs)
        said.append(
            f"The learned δ ends at most {gap:.4f} from the closed form: gradients "
            f"{'find it' if gap < 0.01 else 'have not reached it yet'}."
        )
        return said + [f"Left out: {reason}" for reason in self.missing]

    def summary(self) -> dict[str, Any]:
        return {"runs": list(self.tables()["delta"]), "missing": list(self.missing)}


def compute(settings: DeltaSettings, runs: Runs) -> DeltaResult:
    """Every set, method and mode; the paper's protocol and settings."""
    here, absent = present(settings.sets)
    missing = tuple(f"{name!r} is not in the data folder." for name in absent)
    if not here:
        raise GpcnoiseError(f"none of the sets is here: {' '.join(missing)} See `gpcnoise data list`.")
    done = [
        _summarised(runs.train(_overrides(name, method, mode, settings)), mode)
        for name in here
        for method in settings.methods
        for mode in MODES
    ]
    return DeltaResult(tuple(done), missing)


def _overrides(dataset: str, likelihood: str, mode: str, settings: DeltaSettings) -> dict[str, Scalar]:
    return {
        "preset": "paper",
        "protocol": "paper",
        "dataset": dataset,
        "likelihood": likelihood,
        "delta": mode,
        "inducing": settings.inducing,
        "iterations": settings.iterations,
        "runtime.eval_every": max(settings.iterations // MEASUREMENTS, 1),
    }


def _summarised(run: Run, mode: str) -> DeltaRun:
    from gpcnoise_cli.methods.svgp import model_of

    trained, split = run.load()
    X, y = split.X_train[:MOST_ROWS], split.y_train[:MOST_ROWS]
    blocks = [model_of(trained).predict_f(X[start : start + 2048]) for start in range(0, len(X), 2048)]
    mu, nu = (np.concatenate([np.asarray(block[i], dtype=np.float64) for block in blocks]) for i in (0, 1))
    column = np.zeros(len(X), dtype=int) if mu.shape[1] == 1 else y
    rows = np.arange(len(X))
    return DeltaRun(
        dataset=split.dataset,
        likelihood=trained.config.likelihood.name,
        mode=mode,
        curve=tuple(run.curve),
        acc=float(run.record["acc"]),
        nll=float(run.record["nll"]),
        delta=float(run.record["delta"]),
        best_delta=float(model_of(trained).likelihood.delta_star(mu, nu, y[:, None])),
        mean_quantiles=np.quantile(mu[rows, column], QUANTILES),
        variance_quantiles=np.quantile(nu[rows, column], QUANTILES),
    )


_MODE_LINES: dict[str, Any] = {"fixed": ":", "free": "-", "optimal": "--"}
_MODE_COLOURS = {"fixed": VERMILION, "free": BLUE, "optimal": GREEN}


def draw(result: DeltaResult, note: str) -> dict[str, Figure]:
    """Accuracy and nll along training for each set, and the marginals that came out of it."""
    return {"delta": _curves(result, note), "marginals": _marginals(result, note)}


def _curves(result: DeltaResult, note: str) -> Figure:
    sets = list(dict.fromkeys(run.dataset for run in result.runs))
    figure = new_figure(PAGE, 0.6 + 2.1 * len(sets), note=note)
    grid = figure.subplots(len(sets), 3, squeeze=False)
    for row, name in enumerate(sets):
        chosen = [run for run in result.runs if run.dataset == name]
        for axes, metric, label in zip(
            grid[row], ("acc", "nll", "delta"), ("accuracy, %", "nll, nats", "δ"), strict=True
        ):
            for run in chosen:
                steps = [point.step for point in run.curve]
                values = [getattr(point, metric) for point in run.curve]
                axes.plot(steps, values, color=METHOD_LOOKS[run.likelihood].colour, linestyle=_MODE_LINES[run.mode])
                if metric == "delta" and run.mode == "free":
                    axes.plot(
                        steps[-1],
                        run.best_delta,
                        "*",
                        color=METHOD_LOOKS[run.likelihood].colour,
                        markersize=7,
                        clip_on=False,
                    )
            label_axes(axes, x="iteration", y=label, title=name)
            in_thousands(axes)
    figure.legend(handles=_key(result), loc="outside lower center", ncols=4)
    return figure


def _marginals(result: DeltaResult, note: str) -> Figure:
    method = result.runs[0].likelihood
    sets = list(dict.fromkeys(run.dataset for run in result.runs))
    figure = new_figure(PAGE, 0.5 + 2.0 * len(sets), note=note)
    grid = figure.subplots(len(sets), 2, squeeze=False)
    for row, name in enumerate(sets):
        for run in (r for r in result.runs if r.dataset == name and r.likelihood == method):
            look = {"color": _MODE_COLOURS[run.mode], "linestyle": _MODE_LINES[run.mode], "label": f"{run.mode} δ"}
            grid[row, 0].plot(run.mean_quantiles, QUANTILES, **look)
            grid[row, 1].plot(np.maximum(run.variance_quantiles, 1e-6), QUANTILES, **look)
        title = f"{name}, {method_name(method)}"
        label_axes(grid[row, 0], x="μ at the training rows", y="part of the rows below", title=title)
        label_axes(grid[row, 1], x="ν at the training rows", title=title)
        low, high = grid[row, 1].get_xlim()
        if high > 20 * max(low, 1e-6):
            grid[row, 1].set_xscale("log")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _key(result: DeltaResult) -> list[object]:
    from matplotlib.lines import Line2D

    methods = list(dict.fromkeys(run.likelihood for run in result.runs))
    handles: list[object] = [Line2D([], [], color=METHOD_LOOKS[m].colour, label=method_name(m)) for m in methods]
    handles += [Line2D([], [], color=GREY, linestyle=line, label=f"{mode} δ") for mode, line in _MODE_LINES.items()]
    return [*handles, Line2D([], [], linestyle="", marker="*", markersize=7, color=GREY, label="δ* at the end of free")]


EXPERIMENT = Experiment(
    "delta",
    "fixed, free and optimal δ: accuracy and nll along training, and what q(f) becomes (Fig. 4)",
    DeltaSettings,
    compute,
    draw,
    example="--methods step",
)
