"""What predicts: a Gaussian process with its link, or a network. Each is a few arrays and plain arithmetic on them."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.predictor.links import Link
from gpcnoise_cli.predictor.nodes import Array
from gpcnoise_cli.predictor.posterior import Posterior

BLOCK_ROWS = 1024
"""Rows at a time: memory stays flat, and the blocks stay near the processor."""
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


class Predictor(abc.ABC):
    """Class probabilities of scaled rows."""

    num_classes: int
    latent: Callable[[Any], Iterator[tuple[Array, Array]]] | None = None
    """Means and variances of the latent functions, block by block; None where there are none."""

    @abc.abstractmethod
    def block(self, X: Array) -> Array:
        """[n, C] for scaled rows [n, d], by operations that `gpcnoise export` can trace."""

    def predict(self, X: Any) -> Array:
        """The same for any number of rows."""
        result = np.empty((len(X), self.num_classes))
        for start, found in _by_block(self.block, X):
            bad = ~np.isfinite(found).all(axis=1)
            if bad.any():
                raise GpcnoiseError(
                    f"the prediction for row {start + int(np.flatnonzero(bad)[0]) + 1} is not a finite number; check "
                    "that row for extreme values, and if it has none, train the model again."
                )
            result[start : start + len(found)] = found
        return result

    def facts(self) -> dict[str, Any]:
        """What the arrays say besides: δ, where there is one."""
        return {}


@dataclass(frozen=True)
class GaussianProcess(Predictor):
    num_classes: int
    posterior: Posterior
    link: Link

    def block(self, X: Array) -> Array:
        return self.link(*self.posterior.marginals(X))

    def latent(self, X: Any) -> Iterator[tuple[Array, Array]]:
        for _, found in _by_block(self.posterior.marginals, X):
            yield found

    def facts(self) -> dict[str, Any]:
        delta = self.link.constants.get("delta")
        return {"delta": float(delta)} if delta is not None and delta > 0.0 else {}


@dataclass(frozen=True)
class Network(Predictor):
    """Fully connected layers with the selu activation, and a softmax at the end."""

    num_classes: int
    layers: tuple[tuple[Array, Array], ...]  # weights [before, after] and bias [after]

    def block(self, X: Array) -> Array:
        for weights, bias in self.layers[:-1]:
            X = X @ weights + bias
            below = SELU_SCALE * SELU_ALPHA * (np.exp(np.minimum(X, 0.0)) - 1.0)
            X = np.where(X > 0.0, SELU_SCALE * X, below)
        weights, bias = self.layers[-1]
        X = X @ weights + bias
        powers = np.exp(X - np.max(X, axis=1, keepdims=True))
        return powers / np.sum(powers, axis=1, keepdims=True)


def _by_block(function: Callable[[Array], Any], X: Any) -> Iterator[tuple[int, Any]]:
    for start in range(0, len(X), BLOCK_ROWS):
        # Sums depend on the layout in the last bit. Rows far from everything overflow on their way to a kernel of zero,
        # and tails underflow: both are meant.
        with np.errstate(all="ignore"):
            found = function(np.ascontiguousarray(X[start : start + BLOCK_ROWS], dtype=np.float64))
        yield start, found
