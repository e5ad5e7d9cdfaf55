"""Table I: which likelihoods scalable GP classifiers handle, for two classes and for more.

The rows of others, and the paper's own, are those it prints. The rows of this program are not written down anywhere:
every likelihood of the registry is built for two and for three classes and asked for its bounds and its probabilities,
and every other method with a likelihood is trained for a step. Which of the paper's likelihoods it is, an own one says
by its name, another method by its report, and another author's likelihood by its probabilities: where the variance
vanishes, they are a link function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.scaling import Scaler
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.figures.experiment import Experiment, Row, Settings
from gpcnoise_cli.figures.style import BLACK, BLUE, GREY, new_figure
from gpcnoise_cli.likelihoods.registry import (
    LIKELIHOODS,
    LikelihoodSpec,
    build_likelihood,
    num_latent_functions,
    paper_likelihoods,
)
from gpcnoise_cli.methods.registry import METHODS, variants
from gpcnoise_cli.training.progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Runs

Array = NDArray[np.float64]

BINARY, MULTI = "b", "m"
PRINTED: dict[str, dict[str, str]] = {
    "GPCep": {"step": "m", "probit": "b", "logit": "", "softmax": ""},
    "GPCaug": {"step": "", "probit": "", "logit": "b", "softmax": "m"},
    "ORTH": {"step": "m", "probit": "b", "logit": "", "softmax": ""},
    "the paper": {"step": "bm", "probit": "bm", "logit": "bm", "softmax": "m"},
}
"""Table I as printed; the softmax of GPCaug is its logistic-softmax."""
OURS = "gpcnoise"
KINDS = {BINARY: 2, MULTI: 3}
"""How many classes are tried."""


@dataclass(frozen=True)
class CapabilitiesResult:
    likelihoods: tuple[str, ...]
    cells: dict[str, dict[str, str]]
    """By the name of a row and the likelihood: for which kinds of classes."""
    bounds: dict[str, tuple[str, ...]]

    def tables(self) -> dict[str, Sequence[Row]]:
        rows = [
            {"method": method, **{name: in_words(cells.get(name, "")) for name in self.likelihoods}}
            for method, cells in self.cells.items()
        ]
        offered = [
            {
                "likelihood": name,
                "method": spec.label,
                "noise": _noise(spec),
                "bounds": " ".join(spec.bounds),
                **{f"latent_functions_of_{classes}_classes": _latent(name, classes) for classes in KINDS.values()},
            }
            for name, spec in LIKELIHOODS.items()
        ]
        return {"capabilities": rows, "likelihoods": offered}

    def findings(self) -> list[str]:
        ours, paper = self.cells[OURS], self.cells["the paper"]
        more = [
            f"{name} for {'two classes' if kind == BINARY else 'more than two classes'}"
            for name in self.likelihoods
            for kind in (BINARY, MULTI)
            if kind in ours[name] and kind not in paper.get(name, "")
        ]
        less = [name for name in self.likelihoods for kind in paper.get(name, "") if kind not in ours[name]]
        tighter = [f"{bound} for {name}" for name in self.likelihoods for bound in self.bounds[name][1:]]
        return [
            f"All of the paper's likelihoods work here{'' if not less else ' but ' + ', '.join(less)}; each was built "
            "for two and for three classes, and gave a finite bound and probabilities that sum to one.",
            f"Beyond the paper: {'; '.join(more) or 'nothing'}; further bounds: {', '.join(tighter) or 'none'}.",
            *self._others(),
        ]

    def _others(self) -> list[str]:
        """How the methods of other authors fare that the paper prints a row for."""
        found = {label: self.cells.get(here_name(label)) for label in PRINTED if label != "the paper"}
        as_printed = [label for label, cells in found.items() if cells == PRINTED[label]]
        differs = [label for label, cells in found.items() if cells not in (None, PRINTED[label])]
        absent = [label for label, cells in found.items() if cells is None]
        said = f"Handled here as printed: {', '.join(as_printed) or 'none'}"
        said += f"; otherwise: {', '.join(differs)}" if differs else ""
        return [said + (f"; not here: {', '.join(absent)}." if absent else ".")]

    def summary(self) -> dict[str, Any]:
        return {"table": list(self.tables()["capabilities"]), "bounds": {k: list(v) for k, v in self.bounds.items()}}


def _noise(spec: LikelihoodSpec) -> str:
    return spec.summary if spec.noise_variance is None else f"N(0, {spec.noise_variance:g})"


def _latent(name: str, classes: int) -> int | None:
    return num_latent_functions(name, classes) if LIKELIHOODS[name].fits(classes) else None


def in_words(kinds: str) -> str:
    """`yes (b, m)` or `no`."""
    return f"yes ({', '.join(kinds)})" if kinds else "no"


def here_name(label: str) -> str:
    """The row of another author's method as it is here, beside the printed one."""
    return f"{label}, here"


def compute(settings: Settings, runs: Runs) -> CapabilitiesResult:
    """Build and try every likelihood and every method."""
    from gpcnoise_cli.runtime import load_tensorflow

    load_tensorflow()
    names = paper_likelihoods()
    rows: dict[str, dict[str, str]] = {OURS: dict.fromkeys(names, "")}
    for variant, spec in variants().items():
        for kind, classes in KINDS.items():
            is_method = variant in METHODS
            if not spec.fits(classes) or (is_method and reported_likelihood(variant, classes) is None):
                continue  # a network has no likelihood
            if is_method:
                name = reported_likelihood(variant, classes) if trains(variant, classes) else None
            else:
                name = likelihood_kind(variant, classes) if works(variant, classes) else None
            row = rows.setdefault(OURS if variant in names else here_name(str(spec.label)), dict.fromkeys(names, ""))
            if name in row:
                row[name] += kind
    return CapabilitiesResult(names, {**PRINTED, **rows}, {n: LIKELIHOODS[n].bounds for n in names})


def works(name: str, classes: int) -> bool:
    """Whether the likelihood gives finite bounds and proper probabilities for so many classes."""
    rng = np.random.default_rng(0)
    shape = (4, num_latent_functions(name, classes))
    mu, nu, y = rng.normal(size=shape), rng.uniform(0.1, 2.0, shape), rng.integers(classes, size=(4, 1))
    for bound in LIKELIHOODS[name].bounds:
        likelihood = build_likelihood(name, classes, bound=bound)
        terms = likelihood.variational_expectations(np.zeros((4, 0)), mu, nu, y).numpy()
        if not np.all(np.isfinite(terms)) or not _proper(likelihood.predict_probabilities(mu, nu).numpy(), classes):
            return False
    return True


def _proper(probabilities: Array, classes: int) -> bool:
    sums = probabilities.sum(axis=1)
    return probabilities.shape[1:] == (classes,) and np.allclose(sums, 1.0, atol=1e-6)


def likelihood_kind(name: str, classes: int) -> str | None:
    """Which of the paper's likelihoods it is; GPCaug's logistic-softmax counts as a softmax, as in the paper."""
    if LIKELIHOODS[name].of_paper:
        return name
    from scipy.special import expit, log_expit, ndtr, softmax

    f = np.random.default_rng(0).normal(size=(8, num_latent_functions(name, classes)))
    probabilities = build_likelihood(name, classes).predict_probabilities(f, np.full_like(f, 1e-12)).numpy()
    links = {"softmax": [softmax(f, axis=1), softmax(log_expit(f), axis=1)]}
    if f.shape[1] == 1:
        links = {kind: [np.hstack([link(-f), link(f)])] for kind, link in (("probit", ndtr), ("logit", expit))}
    return next(
        (kind for kind, some in links.items() if any(np.allclose(probabilities, p, atol=1e-3) for p in some)), None
    )


def reported_likelihood(method: str, classes: int) -> str | None:
    """What the method says that its likelihood is."""
    found = METHODS[method].load().describe(_tiny(method), classes).get("likelihood")
    return likelihood_kind(found, classes) if found in LIKELIHOODS else found


def trains(method: str, classes: int) -> bool:
    """Whether a step of it on a few rows leaves proper probabilities."""
    X, y = np.random.default_rng(0).normal(size=(24, 2)), np.arange(24) % classes
    unscaled = Scaler(np.zeros(2), np.ones(2))
    names = tuple(map(str, range(classes)))
    split = Split("made", "clean", 0, "generated", X, y, X[:0], y[:0], names, ("a", "b"), unscaled)
    classifier = METHODS[method].load().start(_tiny(method), split).run(Progress())
    return _proper(classifier.predict(X), classes)


@cache
def _tiny(method: str) -> TrainConfig:
    return compose([f"method={method}", "inducing=4", "iterations=1", "batch_size=24"])


_WORDS = {"": "–", "b": "binary", "m": "multi-class", "bm": "binary,\nmulti-class"}


def draw(result: CapabilitiesResult, note: str) -> dict[str, Figure]:
    """Table I as a picture: who handles what."""
    methods = list(result.cells)
    figure = new_figure(5.6, 0.5 + 0.4 * len(methods), note=note)
    axes = figure.subplots()
    axes.set_xlim(-1.6, len(result.likelihoods) - 0.5)
    axes.set_ylim(len(methods) - 0.4, -1.3)
    axes.axis("off")
    for column, name in enumerate(result.likelihoods):
        axes.text(column, -0.85, name, ha="center", va="center", weight="bold")
    axes.axhline(-0.5, color=BLACK, linewidth=0.8)
    axes.axhspan(len(PRINTED) - 0.45, len(methods) - 0.55, color=BLUE, alpha=0.1, linewidth=0)
    for row, method in enumerate(methods):
        ours = method == OURS
        axes.text(-1.55, row, method, va="center", weight="bold" if ours else "normal")
        for column, name in enumerate(result.likelihoods):
            kinds = result.cells[method].get(name, "")
            colour = BLACK if kinds else GREY
            further = [f"\n{bound} bound" for bound in result.bounds[name][1:]] if ours else []
            text = _WORDS.get(kinds, kinds) + "".join(further)
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=7.0)
    return {"capabilities": figure}


EXPERIMENT = Experiment(
    "capabilities",
    "which likelihoods scalable GP classifiers handle, and what this program adds (Table I)",
    Settings,
    compute,
    draw,
)
