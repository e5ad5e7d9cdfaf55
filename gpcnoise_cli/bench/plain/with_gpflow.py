"""A sparse variational classifier with GPflow, in the way its notebooks go: SPLIT.npz PREDICTIONS.npz STEPS."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# TensorFlow Probability needs the older Keras, whose Adam can minimise a function.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import gpflow
import numpy as np
import tensorflow as tf

INDUCING, BATCH_SIZE, LEARNING_RATE = 300, 1024, 0.01
ROWS_AT_A_TIME = 2048


def main(split: Path, predictions: Path, steps: int) -> None:
    with np.load(split) as arrays:
        X, y, X_test, classes = arrays["X_train"], arrays["y_train"], arrays["X_test"], int(arrays["classes"])
    n, d = X.shape
    binary = classes == 2
    tf.random.set_seed(0)
    model = gpflow.models.SVGP(
        gpflow.kernels.RBF(lengthscales=np.full(d, np.sqrt(d))),
        gpflow.likelihoods.Bernoulli() if binary else gpflow.likelihoods.Softmax(classes),
        X[:INDUCING].copy(),  # the rows come shuffled
        num_latent_gps=1 if binary else classes,
        num_data=n,
    )
    Y = y[:, None].astype(np.float64 if binary else np.int32)
    rows = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().shuffle(n, seed=0)
    loss = model.training_loss_closure(iter(rows.batch(BATCH_SIZE)), compile=True)
    adam = tf.optimizers.Adam(LEARNING_RATE)

    @tf.function
    def step() -> None:
        adam.minimize(loss, model.trainable_variables)

    for _ in range(steps):
        step()

    predict = tf.function(lambda rows: model.predict_y(rows)[0])
    blocks = np.split(X_test, range(ROWS_AT_A_TIME, len(X_test), ROWS_AT_A_TIME))
    p = np.concatenate([predict(block).numpy() for block in blocks])
    np.savez(predictions, probabilities=np.hstack([1 - p, p]) if binary else p)
    tf.train.Checkpoint(model=model).write(str(predictions.with_suffix(".model")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
