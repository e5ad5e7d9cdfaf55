"""The seam: what a method must offer, so that it can be trained, saved, tabulated and predicted with.

`train`, `predict`, `evaluate`, `reproduce`, `sweep`, the tables, the page and the estimator know methods only by this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.training.progress import Progress

Arrays = dict[str, NDArray[Any]]


class Classifier(Protocol):
    """What a fit leaves."""

    def predict(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Scaled rows [n, d] to class probabilities [n, C], block by block."""

    def arrays(self) -> Arrays:
        """All that must be saved; `Method.restore` makes the same classifier of it."""

    def facts(self) -> dict[str, Any]:
        """What the result reports: steps, seconds and what befell the training, if it took place here."""

    def hyperparameters(self) -> dict[str, Any]:
        """What people may want to read in model.json; nothing depends on it."""


class Fit(Protocol):
    """A model that is ready to be trained: all that could be refused has been."""

    def run(self, progress: Progress) -> Classifier:
        """Train to the end, or raise `Interrupted` with a checkpoint written."""


class Method(Protocol):
    """A way to learn a classifier."""

    def describe(self, config: TrainConfig, num_classes: int) -> dict[str, Any]:
        """The settings of the method that a result reports, its `label` among them."""

    def start(self, config: TrainConfig, split: Split, earlier: Mapping[str, NDArray[Any]] | None = None) -> Fit:
        """Prepare a fit, from the arrays of an `earlier` one where they are given; what cannot work is refused here."""

    def restore(self, config: TrainConfig, arrays: Arrays, d: int, num_classes: int, num_data: int) -> Classifier:
        """The classifier whose arrays were saved."""
