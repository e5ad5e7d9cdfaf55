"""A fitted model as plain arrays and settings, with the TensorFlow model made from them when it is first needed.

Only the arrays are pickled. Predictions are computed in float64 whatever precision the training had: scikit-learn
expects that a row gets the same probabilities in any company, and float32 products depend on the size of the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import IN_MEMORY, TrainConfig
from gpcnoise_cli.data.split import Scaler
from gpcnoise_cli.runtime import load_tensorflow

if TYPE_CHECKING:
    from gpcnoise_cli.data.encoder import TableEncoder
    from gpcnoise_cli.models.svgp import FusedSVGP


@dataclass(frozen=True)
class FittedModel:
    """What fitting found: the settings, every parameter of the model by name, and the scaling of the inputs."""

    config: TrainConfig
    arrays: dict[str, NDArray[Any]]
    scaler: Scaler
    num_classes: int
    num_data: int
    delta: float | None

    @classmethod
    def of(cls, config: TrainConfig, model: FusedSVGP, scaler: Scaler) -> FittedModel:
        arrays = {name: variable.numpy() for name, variable in _variables(model).items()}
        num_classes, num_data = model.likelihood.num_classes, int(model.num_data)
        return cls(config, arrays, scaler, num_classes, num_data, model.delta_value())

    @property
    def d(self) -> int:
        return len(self.scaler.mean)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_model"}

    def model(self, precision: str, num_data: int | None = None) -> FusedSVGP:
        """The model anew, for computing in `precision`."""
        load_tensorflow()
        from gpcnoise_cli.models.build import assemble, precision_context

        config = replace(self.config, runtime=replace(self.config.runtime, precision=precision))
        with precision_context(precision):
            start = np.zeros((config.inducing, self.d))  # the arrays below replace it
            model = assemble(config, start, self.num_classes, num_data=num_data or self.num_data)
            for name, variable in _variables(model).items():
                variable.assign(np.asarray(self.arrays[name], variable.dtype.as_numpy_dtype))
        return model

    def probabilities(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """[n, C] for raw inputs."""
        parts = [self._model.likelihood.predict_probabilities(mu, nu).numpy() for mu, nu in self._marginals(X)]
        return np.concatenate(parts)

    def latent(self, X: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and variances of the latent functions, [n, C] each (one column in the binary Gaussian-noise family)."""
        parts = [(mu.numpy(), nu.numpy()) for mu, nu in self._marginals(X)]
        return np.concatenate([mu for mu, _ in parts]), np.concatenate([nu for _, nu in parts])

    @cached_property
    def _model(self) -> FusedSVGP:
        return self.model("float64")

    def _marginals(self, X: NDArray[np.floating]) -> Iterator[tuple[Any, Any]]:
        model = self._model
        import tensorflow as tf

        from gpcnoise_cli.models.build import precision_context

        rows = self.config.runtime.chunk_rows
        for start in range(0, len(X), rows):
            block = tf.constant(self.scaler.transform(X[start : start + rows]), tf.float64)
            with precision_context("float64"):
                yield model.marginals(block)


def save_run(
    fitted: FittedModel,
    folder: Path,
    class_names: list[Any],
    feature_names: tuple[str, ...],
    encoder: TableEncoder | None = None,
) -> None:
    """A folder that `gpcnoise predict` and `gpcnoise evaluate` take for one of their own."""
    load_tensorflow()
    from gpcnoise_cli.data.encoder import plain
    from gpcnoise_cli.data.split import Split
    from gpcnoise_cli.models.build import precision_context
    from gpcnoise_cli.models.store import save_model
    from gpcnoise_cli.runs.run_folder import RunFolder
    from gpcnoise_cli.runtime import versions

    precision = fitted.config.runtime.precision
    no_rows, no_labels = np.empty((0, fitted.d)), np.empty(0, dtype=np.int64)
    split = Split(
        dataset=fitted.config.dataset.name,
        protocol=fitted.config.protocol,
        split=fitted.config.split,
        source=IN_MEMORY,
        X_train=np.broadcast_to(0.0, (fitted.num_data, fitted.d)),  # only their number is written
        y_train=no_labels,
        X_test=no_rows,
        y_test=no_labels,
        class_names=tuple(plain(name) for name in class_names),
        feature_names=feature_names,
        scaler=fitted.scaler,
        encoder=encoder,
    )
    created = RunFolder.create(replace(fitted.config, out=str(folder)))
    with precision_context(precision):
        save_model(created.path, fitted.config, fitted.model(precision), split, versions())


def load_run(folder: Path) -> tuple[FittedModel, TableEncoder]:
    """The model of a run folder, and how its tables are read."""
    load_tensorflow()
    from gpcnoise_cli.models.store import load_model

    trained = load_model(folder)
    return FittedModel.of(trained.config, trained.model, trained.scaler), trained.encoder


def _variables(model: FusedSVGP) -> dict[str, Any]:
    from gpflow.utilities import parameter_dict

    return {
        name.lstrip("."): getattr(parameter, "unconstrained_variable", parameter)
        for name, parameter in parameter_dict(model).items()
    }
