"""Fitting from arrays: the trainer of the command line, without a test split and without a run folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Scaler, Split
from gpcnoise_cli.estimator.fitted import FittedModel
from gpcnoise_cli.runtime import load_tensorflow


@dataclass(frozen=True)
class Fit:
    """The model and how its training went."""

    fitted: FittedModel
    steps: int
    elbo: float


def fit_model(
    config: TrainConfig,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    num_classes: int,
    scaler: Scaler,
    *,
    start: FittedModel | None = None,
    verbose: bool = False,
) -> Fit:
    """Train on scaled rows X with labels 0..C−1, from the beginning or from the model `start`."""
    load_tensorflow()
    from gpcnoise_cli.models.build import assemble, precision_context
    from gpcnoise_cli.models.inducing import start_inducing_points
    from gpcnoise_cli.models.kernels import start_lengthscale
    from gpcnoise_cli.training.events import TrainingEvents
    from gpcnoise_cli.training.trainer import Trainer

    class Rounds(Trainer):
        """Without a test split there is nothing to measure on the way."""

        def _measure(self, step: int) -> None:
            return

    class Printed(TrainingEvents):
        def progressed(self, step: int, iterations: int, loss: float) -> None:
            print(f"[GPCNoiseClassifier] step {step} of at most {iterations}: loss {loss:.6g}")

        def message(self, text: str) -> None:
            print(f"[GPCNoiseClassifier] {text}")

    with precision_context(config.runtime.precision), _quiet_retracing():
        if start is None:
            rows = X if config.inducing * 2 < len(X) else np.unique(X, axis=0)
            # k-means with as many centres as rows would only give the rows back.
            Z = rows if len(rows) == config.inducing else start_inducing_points(X, config.inducing, config.seed)
            lengthscale = config.kernel.lengthscale or start_lengthscale(
                config.kernel.lengthscale_start, X, config.seed
            )
            model = assemble(config, Z, num_classes, num_data=len(X), lengthscale=lengthscale)
        else:
            model = start.model(config.runtime.precision, num_data=len(X))
        trainer = Rounds(config, model, _only_training(X, y, num_classes, scaler))
        if verbose:
            trainer.events = Printed()
        trainer.train()
        return Fit(FittedModel.of(config, model, scaler), trainer.step, trainer.elbo())


def _only_training(X: NDArray[np.float64], y: NDArray[np.int64], num_classes: int, scaler: Scaler) -> Split:
    return Split(
        dataset="file",
        protocol="clean",
        split=0,
        source="memory",
        X_train=np.ascontiguousarray(X),
        y_train=y,
        X_test=X[:0],
        y_test=y[:0],
        class_names=tuple(range(num_classes)),
        feature_names=tuple(f"x{j}" for j in range(X.shape[1])),
        scaler=scaler,
    )


@contextlib.contextmanager
def _quiet_retracing() -> Iterator[None]:
    """Each fit compiles a loop of its own, which is meant; TensorFlow would warn of it, in a process not all ours."""
    import tensorflow as tf

    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)
