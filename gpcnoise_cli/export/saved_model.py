"""A training model as a TensorFlow SavedModel, with the signature `rows` [n, d] to `probabilities` [n, C]."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.methods.trained_model import TrainedModel

DESCRIPTION = "description.json"


def write_saved_model(trained: TrainedModel, folder: Path, description: dict[str, Any]) -> None:
    """Into an empty folder; `trained` says in which precision it is to compute."""
    classifier: Any = trained.classifier  # starts TensorFlow
    import tensorflow as tf

    if not hasattr(classifier, "tensor_probabilities"):
        raise UsageError(
            f"method {trained.config.method.name!r} cannot be exported as savedmodel yet; use another format."
        )

    module = tf.Module()
    # What the graph reads: it is written along. The models themselves have parts that cannot be.
    module.kept = list(classifier.tensor_variables())
    mean, scale = tf.constant(trained.scaler.mean), tf.constant(trained.scaler.scale)

    def serve(rows: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"probabilities": tf.cast(classifier.tensor_probabilities((rows - mean) / scale), tf.float64)}

    signature = [tf.TensorSpec([None, trained.d], tf.float64, name="rows")]
    module.serve = tf.function(serve, input_signature=signature, autograph=False)
    try:
        tf.saved_model.save(module, str(folder), signatures={"serving_default": module.serve})
    except tf.errors.OpError as error:  # what TensorFlow makes of a full disk
        raise GpcnoiseError(f"TensorFlow cannot write the SavedModel: {error.message}; nothing was changed.") from error
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def tensor_probabilities(trained: TrainedModel, scaled: np.ndarray) -> np.ndarray:
    """What the training model says, in float64."""
    classifier: Any = trained.classifier
    import tensorflow as tf

    if not hasattr(classifier, "tensor_probabilities"):
        return np.asarray(classifier.predict(scaled))
    return np.asarray(classifier.tensor_probabilities(tf.constant(scaled, tf.float64)))


def run_saved_model(folder: Path, rows: np.ndarray) -> np.ndarray:
    import tensorflow as tf

    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    return np.asarray(signature(rows=tf.constant(rows))["probabilities"])
