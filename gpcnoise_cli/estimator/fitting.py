"""Fitting from arrays: the trainer of the command line, without a test split and without a run folder."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

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
    objective: float  # its value at the end


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
    from sklearn.exceptions import ConvergenceWarning

    from gpcnoise_cli.estimator.rounds import give_back, take_rounds
    from gpcnoise_cli.models.build import assemble, precision_context
    from gpcnoise_cli.models.inducing import start_inducing_points
    from gpcnoise_cli.models.kernels import start_lengthscale

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
        rounds = take_rounds(config, model, _only_training(X, y, num_classes, scaler), verbose=verbose)
        rounds.train()
        for incident in rounds.history.incidents:
            warnings.warn(incident, ConvergenceWarning, stacklevel=3)
        # A fit that had to go on in float64 is to be used in float64.
        config = replace(config, runtime=replace(config.runtime, precision=rounds.history.precision))
        fit = Fit(FittedModel.of(config, rounds.model, scaler), rounds.step, rounds.elbo())
        give_back(rounds)
        return fit


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
