"""Section IV-B1: can δ be fixed? The same training with δ fixed at 1e-3, learned by gradient, and in closed form.

Accuracy and nll are followed along training, and at its end the latent marginals of the training rows are looked at:
the paper says that a fixed δ makes the model over- or underestimate them. Free and optimal δ are compared with the
maximiser δ* = 1 − mean S of the bound for the model as it ended. Methods without a δ (GPCsm, GPCep, GPCaug) have
a curve each beside these, as in the paper's figure, where `--methods` asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.quoting import Scalar
from gpcnoise_cli.data.folder import present_sets
from gpcnoise_cli.data.registry import get_spec
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.figures.experiment import Experiment, Row, Settings, datasets, holds, names, number
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
from gpcnoise_cli.methods.registry import choosing, variants

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Run, Runs
    from gpcnoise_cli.training.events import CurvePoint

Array = NDArray[np.float64]

MODES = ("fixed", "free", "optimal")
QUANTILES = np.linspace(0.005, 0.995, 199)
MEASUREMENTS = 40
MOST_ROWS = 20_000
WITH_DELTA = tuple(name for name, spec in LIKELIHOODS.items() if spec.has_delta)
NO_MODE = ""
# From here on a curve stays this near to where it ends, as a part of its nll.
SETTLED = 0.05


@dataclass(frozen=True)
class DeltaSettings(Settings):
    """The paper's UCI settings on adult and waveform-noise."""

    iterations: int = number(10_000, "Adam iterations.")
    inducing: int = number(300, "Inducing points.", short="-m")
    methods: tuple[str, ...] = names(
        WITH_DELTA, "Likelihoods with a δ, and what to show beside them", variants(), "method", extends=True
    )
    sets: tuple[str, ...] = datasets(("adult", "waveform-noise"), "Data sets")


@dataclass(frozen=True)
class Marginals:
    """What q(f) became, with the δ that the run ended with and the best one for it."""

    delta: float
    best_delta: float
    mean_quantiles: Array
    variance_quantiles: Array


@dataclass(frozen=True)
class DeltaRun:
    """One training: its curve, its end, and, with a δ, the marginals of the training rows at their observed class."""

    dataset: str
    likelihood: str
    """Of a method that is none of the SVGP: its name."""
    mode: str
    curve: tuple[CurvePoint, ...]
    acc: float
    nll: float
    marginals: Marginals | None = None

    @property
    def lowest_nll(self) -> float:
        return min(point.nll for point in self.curve)

    @property
    def settled_at(self) -> int:
        return settled_at([(point.step, point.nll) for point in self.curve], self.nll)


def settled_at(curve: Sequence[tuple[int, float]], end: float) -> int:
    """The first step from which on the nll, the second of each pair, stays near its end."""
    outside = [place for place, (_, nll) in enumerate(curve) if abs(nll - end) > SETTLED * abs(end)]
    return curve[min(max(outside, default=-1) + 1, len(curve) - 1)][0]


@dataclass(frozen=True)
class DeltaResult:
    runs: tuple[DeltaRun, ...]
    missing: tuple[str, ...]

    def of(self, dataset: str, likelihood: str, mode: str) -> tuple[DeltaRun, Marginals]:
        return next(
            (run, found)
            for run, found in self.with_delta
            if (run.dataset, run.likelihood, run.mode) == (dataset, likelihood, mode)
        )

    @property
    def with_delta(self) -> list[tuple[DeltaRun, Marginals]]:
        return [(run, run.marginals) for run in self.runs if run.marginals is not None]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((run.dataset, run.likelihood) for run, _ in self.with_delta))

    def tables(self) -> dict[str, Sequence[Row]]:
        def key(run: DeltaRun) -> dict[str, Any]:
            return {"dataset": run.dataset, "likelihood": run.likelihood, "delta_mode": run.mode}

        curves = [{**key(run), **point.to_dict()} for run in self.runs for point in run.curve]
        ends = []
        for run in self.runs:
            found = run.marginals
            ends.append(
                {
                    **key(run),
                    "acc": run.acc,
                    "nll": run.nll,
                    "lowest_nll": run.lowest_nll,
                    "settled_at": run.settled_at,
                    "delta": found and found.delta,
                    "delta_star": found and found.best_delta,
                    "median_mean": found and float(np.median(found.mean_quantiles)),
                    "median_variance": found and float(np.median(found.variance_quantiles)),
                }
            )
        marginals = [
            {**key(run), "quantile": q, "mu": found.mean_quantiles[i], "nu": found.variance_quantiles[i]}
            for run, found in self.with_delta
            for i, q in enumerate(QUANTILES)
        ]
        return {"delta": ends, "curves": curves, **({"marginals": marginals} if marginals else {})}

    def findings(self) -> list[str]:
        said = self._of_delta() if self.pairs else []
        for run in self.runs:
            if run.marginals is None:
                free = [self.of(*pair, "free")[0].nll for pair in self.pairs if pair[0] == run.dataset]
                beside = f", below {sum(run.nll < one for one in free)} of {len(free)} with a free δ" if free else ""
                said.append(
                    f"{variants()[run.likelihood].label} on {run.dataset}: acc {run.acc:.2f}%, nll {run.nll:.4f}"
                    f"{beside}; within {SETTLED:.0%} of that from step {run.settled_at:,} on."
                )
        return said + [f"Left out: {reason}" for reason in self.missing]

    def _of_delta(self) -> list[str]:
        said = []
        worse, rising, wide, total = 0, 0, 0, len(self.pairs)
        gaps = []
        for dataset, likelihood in self.pairs:
            (fixed, fixed_q), (free, free_q), (optimal, optimal_q) = (
                self.of(dataset, likelihood, mode) for mode in MODES
            )
            worse += fixed.nll > free.nll
            rising += fixed.nll > fixed.lowest_nll + 0.01
            wide += bool(np.median(fixed_q.variance_quantiles) > np.median(free_q.variance_quantiles))
            gaps.append(abs(free_q.delta - free_q.best_delta))
            said.append(
                f"{likelihood} on {dataset}: nll {fixed.nll:.4f} with fixed, {free.nll:.4f} with free and "
                f"{optimal.nll:.4f} with optimal δ (acc {fixed.acc:.2f}, {free.acc:.2f}, {optimal.acc:.2f}%); free δ "
                f"ended at {free_q.delta:.4f}, where δ* is {free_q.best_delta:.4f}; optimal δ at {optimal_q.delta:.4f} "
                f"(δ* {optimal_q.best_delta:.4f})."
            )
        return [
            *said,
            f"A fixed δ gives a worse nll than a free one in {worse} of {total} cases ({holds(worse == total)}), and "
            f"its nll rises again during training in {rising} of {total}.",
            f"With a fixed δ the median posterior variance ν is larger than with a free one in {wide} of {total} cases "
            f"({holds(wide == total)}: ν is overestimated).",
            f"The learned δ ends at most {max(gaps):.4f} from the closed form: gradients "
            f"{'find it' if max(gaps) < 0.01 else 'have not reached it yet'}.",
        ]

    def summary(self) -> dict[str, Any]:
        return {"runs": list(self.tables()["delta"]), "missing": list(self.missing)}


def compute(settings: DeltaSettings, runs: Runs) -> DeltaResult:
    """Every set, method and mode; the paper's protocol and settings."""
    here, absent = present_sets(settings.sets)
    missing = tuple(f"{name!r} is not in the data folder." for name in absent)
    if not here:
        raise GpcnoiseError(f"none of the sets is here: {' '.join(missing)} See `gpcnoise data list`.")
    done = []
    for name in here:
        for method in settings.methods:
            if not variants()[method].fits(get_spec(name).num_classes or 2):
                missing += (f"{method} is not for the number of classes of {name}.",)
                continue
            for mode in MODES if method in WITH_DELTA else (NO_MODE,):
                done.append(_summarised(runs.train(_overrides(name, method, mode, settings)), method, mode))
    if not done:
        raise GpcnoiseError(f"nothing is left to train: {' '.join(missing)}")
    return DeltaResult(tuple(done), missing)


def _overrides(dataset: str, method: str, mode: str, settings: DeltaSettings) -> dict[str, Scalar]:
    return {
        "preset": "paper",
        "protocol": "paper",
        "dataset": dataset,
        **choosing(method),
        **({"delta": mode} if mode else {}),
        "inducing": settings.inducing,
        "iterations": settings.iterations,
        "runtime.eval_every": max(settings.iterations // MEASUREMENTS, 1),
    }


def _summarised(run: Run, method: str, mode: str) -> DeltaRun:
    return DeltaRun(
        dataset=str(run.record["dataset"]),
        likelihood=method,
        mode=mode,
        curve=tuple(run.curve),
        acc=float(run.record["acc"]),
        nll=float(run.record["nll"]),
        marginals=_marginals_of(run) if mode else None,
    )


def _marginals_of(run: Run) -> Marginals:
    from gpcnoise_cli.methods.svgp import model_of

    trained, split = run.load()
    X, y = split.X_train[:MOST_ROWS], split.y_train[:MOST_ROWS]
    blocks = [model_of(trained).predict_f(X[start : start + 2048]) for start in range(0, len(X), 2048)]
    mu, nu = (np.concatenate([np.asarray(block[i], dtype=np.float64) for block in blocks]) for i in (0, 1))
    column = np.zeros(len(X), dtype=int) if mu.shape[1] == 1 else y
    rows = np.arange(len(X))
    return Marginals(
        delta=float(run.record["delta"]),
        best_delta=float(model_of(trained).likelihood.delta_star(mu, nu, y[:, None])),
        mean_quantiles=np.quantile(mu[rows, column], QUANTILES),
        variance_quantiles=np.quantile(nu[rows, column], QUANTILES),
    )


_MODE_LINES: dict[str, Any] = {"fixed": ":", "free": "-", "optimal": "--"}
_MODE_COLOURS = {"fixed": VERMILION, "free": BLUE, "optimal": GREEN}


def draw(result: DeltaResult, note: str) -> dict[str, Figure]:
    """Accuracy and nll along training for each set, and the marginals that came out of it."""
    marginals = {"marginals": _marginals(result, note)} if result.pairs else {}
    return {"delta": _curves(result, note), **marginals}


def _curves(result: DeltaResult, note: str) -> Figure:
    sets = list(dict.fromkeys(run.dataset for run in result.runs))
    figure = new_figure(PAGE, 0.6 + 2.1 * len(sets), note=note)
    panels = [("acc", "accuracy, %"), ("nll", "nll, nats"), *([("delta", "δ")] if result.pairs else [])]
    grid = figure.subplots(len(sets), len(panels), squeeze=False)
    for row, name in enumerate(sets):
        for axes, (metric, label) in zip(grid[row], panels, strict=True):
            for run in (one for one in result.runs if one.dataset == name):
                steps = [point.step for point in run.curve]
                if metric != "delta":
                    every = max(len(steps) // 8, 1)
                    axes.plot(steps, [getattr(point, metric) for point in run.curve], markevery=every, **_look(run))
                elif run.marginals is not None:
                    axes.plot(steps, [point.delta for point in run.curve], **_look(run))
                    if run.mode == "free":
                        star = {"color": METHOD_LOOKS[run.likelihood].colour, "markersize": 7, "clip_on": False}
                        axes.plot(steps[-1], run.marginals.best_delta, "*", **star)
            label_axes(axes, x="iteration", y=label, title=name)
            in_thousands(axes)
    figure.legend(handles=_key(result), loc="outside lower center", ncols=4)
    return figure


def _look(run: DeltaRun) -> dict[str, Any]:
    """A colour for each method; with a δ the line says how it was found, without one the method has its own."""
    look = METHOD_LOOKS[run.likelihood]
    return {"color": look.colour, "linestyle": _MODE_LINES[run.mode]} if run.mode else look.plot()


def _marginals(result: DeltaResult, note: str) -> Figure:
    method = result.pairs[0][1]
    sets = list(dict.fromkeys(dataset for dataset, _ in result.pairs))
    figure = new_figure(PAGE, 0.5 + 2.0 * len(sets), note=note)
    grid = figure.subplots(len(sets), 2, squeeze=False)
    for row, name in enumerate(sets):
        for run, found in result.with_delta:
            if (run.dataset, run.likelihood) == (name, method):
                look = {"color": _MODE_COLOURS[run.mode], "linestyle": _MODE_LINES[run.mode], "label": f"{run.mode} δ"}
                grid[row, 0].plot(found.mean_quantiles, QUANTILES, **look)
                grid[row, 1].plot(np.maximum(found.variance_quantiles, 1e-6), QUANTILES, **look)
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

    methods = {run.likelihood: _look(run) for run in result.runs}
    handles: list[object] = []
    for method, look in methods.items():
        shown = {"color": look["color"]} if method in WITH_DELTA else look
        handles.append(Line2D([], [], label=method_name(method), **shown))
    if not result.pairs:
        return handles
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
