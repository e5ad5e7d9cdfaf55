"""The experiments by name, in the order `reproduce all` takes them: the cheap ones first.

A name is a module of this package with `compute(settings, runs)`, and one of `reporting.figures` with
`draw(result, note)`; they are imported when they are needed.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpcnoise_cli.figures import settings as published
from gpcnoise_cli.figures.settings import Settings

if TYPE_CHECKING:
    from gpcnoise_cli.figures.result import Result
    from gpcnoise_cli.figures.runs import Runs


@dataclass(frozen=True)
class Experiment:
    """One of the paper's figures or tables."""

    name: str
    shows: str
    settings: type[Settings]

    def compute(self, settings: Settings, runs: Runs) -> Result:
        module = importlib.import_module(f"gpcnoise_cli.figures.{self.name}")
        result: Result = module.compute(settings, runs)
        return result


EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment("capabilities", "which likelihoods can be had (Table I)", published.CapabilitiesSettings),
        Experiment("errors", "the error distributions and their Gaussians (Fig. 5)", published.ErrorsSettings),
        Experiment("toy", "decision boundaries and inducing points (Fig. 2)", published.ToySettings),
        Experiment("noise", "the bound as a function of the noise variance (App. B)", published.NoiseSettings),
        Experiment("bounds", "how loose the bounds are, and what tilting does", published.BoundsSettings),
        Experiment("delta", "fixed, free and optimal δ (Fig. 4)", published.DeltaSettings),
        Experiment("airline", "two million flights (Fig. 3)", published.AirlineSettings),
    )
}
