"""Table I: which likelihoods scalable GP classifiers handle, for two classes and for more.

The rows of others, and the paper's own, are those it prints. The row of this program is not written down anywhere:
every likelihood of the registry is built for two and for three classes and asked for its bounds and its probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcnoise_cli.figures.experiment import Experiment, Row, Settings
from gpcnoise_cli.figures.style import BLACK, BLUE, GREY, new_figure
from gpcnoise_cli.likelihoods.registry import (
    LIKELIHOODS,
    LikelihoodSpec,
    build_likelihood,
    num_latent_functions,
    paper_likelihoods,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Runs

BINARY, MULTI = "b", "m"
PRINTED: dict[str, dict[str, str]] = {
    "GPCep": {"step": "m", "probit": "b", "logit": "", "softmax": ""},
    "GPCaug": {"step": "", "probit": "", "logit": "b", "softmax": "m"},
    "ORTH": {"step": "m", "probit": "b", "logit": "", "softmax": ""},
    "the paper": {"step": "bm", "probit": "bm", "logit": "bm", "softmax": "m"},
}
"""Table I as printed; the softmax of GPCaug is its logistic-softmax."""
OURS = "gpcnoise"


@dataclass(frozen=True)
class CapabilitiesResult:
    likelihoods: tuple[str, ...]
    cells: dict[str, dict[str, str]]
    bounds: dict[str, tuple[str, ...]]
    latent: dict[str, tuple[int, int]]

    def tables(self) -> dict[str, Sequence[Row]]:
        rows = [
            {"method": method, **{name: in_words(cells.get(name, "")) for name in self.likelihoods}}
            for method, cells in self.cells.items()
        ]
        offered = [
            {
                "likelihood": name,
                "method": LIKELIHOODS[name].label,
                "noise": _noise(LIKELIHOODS[name]),
                "bounds": " ".join(self.bounds[name]),
                "latent_functions_of_2_classes": self.latent[name][0],
                "latent_functions_of_3_classes": self.latent[name][1],
            }
            for name in self.likelihoods
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
        ]

    def summary(self) -> dict[str, Any]:
        return {"table": list(self.tables()["capabilities"]), "bounds": {k: list(v) for k, v in self.bounds.items()}}


def _noise(spec: LikelihoodSpec) -> str:
    return spec.summary if spec.noise_variance is None else f"N(0, {spec.noise_variance:g})"


def in_words(kinds: str) -> str:
    """`yes (b, m)` or `no`."""
    return f"yes ({', '.join(kinds)})" if kinds else "no"


def compute(settings: Settings, runs: Runs) -> CapabilitiesResult:
    """Build and try every likelihood; nothing is trained."""
    from gpcnoise_cli.runtime import load_tensorflow

    load_tensorflow()
    names = paper_likelihoods()
    ours = {
        name: "".join(kind for kind, classes in ((BINARY, 2), (MULTI, 3)) if works(name, classes)) for name in names
    }
    latent = {name: (num_latent_functions(name, 2), num_latent_functions(name, 3)) for name in names}
    return CapabilitiesResult(names, {**PRINTED, OURS: ours}, {n: LIKELIHOODS[n].bounds for n in names}, latent)


def works(name: str, classes: int) -> bool:
    """Whether the likelihood gives finite bounds and proper probabilities for so many classes."""
    rng = np.random.default_rng(0)
    shape = (4, num_latent_functions(name, classes))
    mu, nu, y = rng.normal(size=shape), rng.uniform(0.1, 2.0, shape), rng.integers(classes, size=(4, 1))
    for bound in LIKELIHOODS[name].bounds:
        likelihood = build_likelihood(name, classes, bound=bound)
        terms = likelihood.variational_expectations(np.zeros((4, 0)), mu, nu, y).numpy()
        probabilities = likelihood.predict_probabilities(mu, nu).numpy()
        if not (np.all(np.isfinite(terms)) and probabilities.shape == (4, classes)):
            return False
        if not np.allclose(probabilities.sum(axis=1), 1.0, atol=1e-6):
            return False
    return True


_WORDS = {"": "–", "b": "binary", "m": "multi-class", "bm": "binary,\nmulti-class"}


def draw(result: CapabilitiesResult, note: str) -> dict[str, Figure]:
    """Table I as a picture: who handles what."""
    methods = list(result.cells)
    figure = new_figure(5.2, 0.5 + 0.45 * len(methods), note=note)
    axes = figure.subplots()
    axes.set_xlim(-1.2, len(result.likelihoods) - 0.5)
    axes.set_ylim(len(methods) - 0.4, -1.3)
    axes.axis("off")
    for column, name in enumerate(result.likelihoods):
        axes.text(column, -0.85, name, ha="center", va="center", weight="bold")
    axes.axhline(-0.5, color=BLACK, linewidth=0.8)
    for row, method in enumerate(methods):
        ours = row == len(methods) - 1
        if ours:
            axes.axhspan(row - 0.45, row + 0.45, color=BLUE, alpha=0.1, linewidth=0)
        axes.text(-1.15, row, method, va="center", weight="bold" if ours else "normal")
        for column, name in enumerate(result.likelihoods):
            kinds = result.cells[method].get(name, "")
            colour = BLACK if kinds else GREY
            further = [f"\n{bound} bound" for bound in result.bounds[name][1:]] if ours else []
            text = _WORDS.get(kinds, kinds) + "".join(further)
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=7.5)
    return {"capabilities": figure}


EXPERIMENT = Experiment(
    "capabilities",
    "which likelihoods scalable GP classifiers handle, and what this program adds (Table I)",
    Settings,
    compute,
    draw,
)
