"""Class probabilities for any number of rows, in blocks, so that memory stays flat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.predictor.posterior import more_jitter


def raise_jitter(model: FusedSVGP, when: str) -> float:
    """Ten times as much jitter, up to a limit; what it is now."""
    jitter = more_jitter(float(model.jitter.numpy()), when)
    model.jitter.assign(jitter)
    return jitter


class Predictor:
    """A compiled predictor of one model; it follows the model as training moves it."""

    def __init__(self, model: FusedSVGP, chunk_rows: int) -> None:
        self.model = model
        self.chunk_rows = chunk_rows
        # One trace for all block sizes: the last block of a table is usually shorter.
        signature = [tf.TensorSpec([None, model.Z.shape[1]], model.work)]
        self._block = tf.function(self._probabilities, input_signature=signature, autograph=False)

    def __call__(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """[n, C] probabilities for scaled inputs X."""
        result = np.empty((len(X), self.model.likelihood.num_classes))
        for start in range(0, len(X), self.chunk_rows):
            rows = slice(start, start + self.chunk_rows)
            result[rows] = self._block(tf.constant(X[rows], dtype=self.model.work)).numpy()
        return result

    def steadily(self, X: NDArray[np.floating], said: Callable[[str], None]) -> NDArray[np.float64]:
        """The same, with as much jitter as it takes; the model keeps it, and `said` is told."""
        while True:
            try:
                result = self(X)
            except tf.errors.InvalidArgumentError as error:
                if "Cholesky" not in str(error):
                    raise
                result = None
            if result is not None and np.all(np.isfinite(result)):
                return result
            jitter = raise_jitter(self.model, "for the prediction")
            said(f"the kernel matrix is nearly singular: predicted with jitter {jitter:.0e} of the prior variance.")

    def _probabilities(self, X: tf.Tensor) -> tf.Tensor:
        return self.model.likelihood.predict_probabilities(*self.model.marginals(X))
