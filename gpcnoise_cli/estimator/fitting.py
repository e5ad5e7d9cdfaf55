"""Fitting from arrays: the methods of the command line, without a test split and without a run folder."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.scaling import Scaler
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.runtime import prepare

if TYPE_CHECKING:
    from gpcnoise_cli.methods.trained_model import TrainedModel


@dataclass(frozen=True)
class Fitted:
    """The model, for predictions in float64, and how its training went.

    scikit-learn expects that a row gets the same probabilities in any company, and float32 products depend on the size
    of the block.
    """

    trained: TrainedModel
    facts: dict[str, Any]


def fit_model(
    config: TrainConfig,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    num_classes: int,
    scaler: Scaler,
    *,
    weights: NDArray[np.float64] | None = None,
    start: TrainedModel | None = None,
    verbose: bool = False,
) -> Fitted:
    """Train on scaled rows X with labels 0..C−1, maybe with weights, from the beginning or from `start`."""
    prepare(config.runtime)
    from sklearn.exceptions import ConvergenceWarning

    from gpcnoise_cli.methods.registry import check_method, method_of
    from gpcnoise_cli.methods.trained_model import TrainedModel
    from gpcnoise_cli.training.progress import Progress

    _check_threads(config)
    split = replace(_only_training(X, y, num_classes, scaler), weights=weights)
    check_method(config, split)
    with _quiet_retracing():
        fit = method_of(config).start(config, split, start.arrays if start else None)
        classifier = fit.run(Progress([_printed()] if verbose else []))
    facts = classifier.facts()
    for incident in facts.get("incidents", ()):
        warnings.warn(incident, ConvergenceWarning, stacklevel=3)
    trained = TrainedModel.of(config, classifier, split)
    return Fitted(trained.in_precision("float64"), facts)


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


def _check_threads(config: TrainConfig) -> None:
    """TensorFlow takes the number of threads only before its first computation, which may be long past here."""
    import tensorflow as tf

    asked, used = config.runtime.threads, tf.config.threading.get_intra_op_parallelism_threads()
    if asked and asked != used:
        warnings.warn(
            f"runtime.threads={asked} comes too late: TensorFlow has started with {used or 'all'} threads in this "
            "process and keeps them.",
            stacklevel=4,
        )


def _printed() -> Any:
    """Lines on stdout, as scikit-learn's `verbose` does."""
    from gpcnoise_cli.training.events import TrainingEvents

    class Printed(TrainingEvents):
        def progressed(self, step: int, iterations: int, loss: float) -> None:
            print(f"[GPCNoiseClassifier] step {step} of at most {iterations}: loss {loss:.6g}")

        def message(self, text: str) -> None:
            print(f"[GPCNoiseClassifier] {text}")

    return Printed()


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
