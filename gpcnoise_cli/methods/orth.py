"""ORTH: the SVGP on orthogonally decoupled bases (Salimbeni et al., 2018), a column of the paper's tables.

The model is `models/orthogonal`; training, checkpoints and prediction are those of the SVGP. The likelihood is part of
the method: a probit for two classes, and for more the step with a δ that stays at its value (RobustMax). Without γ
points it is the SVGP with that likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.methods.base import Arrays, Fit
from gpcnoise_cli.methods.orth_settings import num_gamma, with_its_likelihood
from gpcnoise_cli.methods.svgp import SVGP, SVGPClassifier
from gpcnoise_cli.models.build import Layout, build_model
from gpcnoise_cli.models.svgp import FusedSVGP


class ORTH(SVGP):
    """`Method`, see there."""

    def start(self, config: TrainConfig, split: Split, earlier: Mapping[str, NDArray[Any]] | None = None) -> Fit:
        return super().start(with_its_likelihood(config, split.num_classes), split, earlier)

    def build(self, config: TrainConfig, split: Split) -> FusedSVGP:
        (X, _), gamma = split.first_rows(), num_gamma(config, split.n_train)
        layout, n = Layout.of(split), split.n_train
        return build_model(config, X, split.num_classes, gamma, split.weights, layout, num_data=n)

    def restore(self, config: TrainConfig, arrays: Arrays, d: int, num_classes: int, num_data: int) -> SVGPClassifier:
        return super().restore(with_its_likelihood(config, num_classes), arrays, d, num_classes, num_data)


METHOD = ORTH()
