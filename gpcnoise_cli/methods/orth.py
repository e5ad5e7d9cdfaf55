"""ORTH: the SVGP on orthogonally decoupled bases (Salimbeni et al., 2018), a column of the paper's tables.

The model is `models/orthogonal`; training, checkpoints and prediction are those of the SVGP. The likelihood is part of
the method: a probit for two classes, and for more the step with a δ that stays at its value (RobustMax). Without γ
points it is the SVGP with that likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from gpcnoise_cli.config.schema import LikelihoodConfig, TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.registry import likelihood_spec
from gpcnoise_cli.methods.base import Arrays, Fit
from gpcnoise_cli.methods.registry import label_of
from gpcnoise_cli.methods.svgp import SVGP, SVGPClassifier
from gpcnoise_cli.models.build import build_model
from gpcnoise_cli.models.svgp import FusedSVGP

USUAL_GAMMA = 500


class ORTH(SVGP):
    """`Method`, see there."""

    def describe(self, config: TrainConfig, num_classes: int) -> dict[str, Any]:
        return {**super().describe(with_its_likelihood(config, num_classes), num_classes), "label": label_of(config)}

    def start(self, config: TrainConfig, split: Split, earlier: Mapping[str, NDArray[Any]] | None = None) -> Fit:
        return super().start(with_its_likelihood(config, split.num_classes), split, earlier)

    def build(self, config: TrainConfig, split: Split) -> FusedSVGP:
        return build_model(config, split.X_train, split.num_classes, num_gamma(config, split.n_train))

    def restore(self, config: TrainConfig, arrays: Arrays, d: int, num_classes: int, num_data: int) -> SVGPClassifier:
        return super().restore(with_its_likelihood(config, num_classes), arrays, d, num_classes, num_data)


METHOD = ORTH()


def with_its_likelihood(config: TrainConfig, num_classes: int) -> TrainConfig:
    spec = likelihood_spec("probit_quadrature" if num_classes == 2 else "step")
    points = config.likelihood.quadrature_points
    own = LikelihoodConfig(spec.name, spec.noise_variance, spec.bounds[0], quadrature_points=points)
    return replace(config, likelihood=own)


def num_gamma(config: TrainConfig, num_data: int) -> int:
    """How many γ points a configuration asks for; what is not a number of them, or too many, is refused."""
    asked, left = config.method.settings["gamma"], max(num_data - config.inducing, 0)
    if asked is None:
        return min(USUAL_GAMMA, left)
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
        raise UsageError(f"method.settings.gamma must be a whole number of at least 0, or null, not {asked!r}.")
    if asked > left:
        raise UsageError(
            f"method.settings.gamma={asked} is more than the {left} training rows that {config.inducing} inducing "
            f"points leave of {num_data}; choose {left} or less, or fewer --inducing points."
        )
    return asked
