"""The figures by name, in the order `reproduce all` takes them: the cheap ones first."""

from __future__ import annotations

from gpcnoise_cli.figures import airline, bounds, capabilities, delta, errors, noise, toy
from gpcnoise_cli.figures.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT for module in (capabilities, errors, toy, noise, bounds, delta, airline)
}
