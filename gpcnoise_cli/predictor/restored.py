"""From the arrays of a trained model to a predictor; a method, kernel or likelihood without one here gives None."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.likelihoods.registry import num_latent_functions
from gpcnoise_cli.predictor.kernels import read_kernels, softplus, wide
from gpcnoise_cli.predictor.likelihoods import READERS, Probabilities, read_delta, sides
from gpcnoise_cli.predictor.nodes import PREDICTION_POINTS, VARIANCE_FLOOR, Array
from gpcnoise_cli.predictor.posterior import Posterior, find_posterior
from gpcnoise_cli.predictor.win_probability import win_probabilities

BLOCK_ROWS = 1024
"""Rows at a time: memory stays flat, and the largest blocks stay in the processor's cache."""
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
LEAST_NOISE = 1e-6
"""Of the label noise of method ep, which is stored as the softplus of what is beyond it."""
Said = Callable[[str], object]


@dataclass(frozen=True)
class Predictor:
    """Class probabilities of scaled rows; `block` is plain arithmetic, for one block of them."""

    num_classes: int
    block: Callable[[Array], Array]
    posterior: Posterior | None = None
    known: dict[str, Any] = field(default_factory=dict)

    def predict(self, X: Any) -> Array:
        """[n, C] for scaled rows [n, d], block by block."""
        result = np.empty((len(X), self.num_classes))
        for start in range(0, len(X), BLOCK_ROWS):
            # Rows far from everything overflow on their way to a kernel of zero, and tails underflow: both are meant.
            with np.errstate(all="ignore"):
                found = self.block(wide(X[start : start + BLOCK_ROWS]))
            bad = ~np.isfinite(found).all(axis=1)
            if bad.any():
                row = start + int(np.flatnonzero(bad)[0]) + 1
                raise GpcnoiseError(
                    f"the prediction for row {row} is not a finite number; check that row for extreme values, and if "
                    "it has none, train the model again."
                )
            result[start : start + BLOCK_ROWS] = found
        return result

    @property
    def latent(self) -> Callable[[Any], Iterator[tuple[Array, Array]]] | None:
        """Means and variances of the latent functions of scaled rows, block by block; None where there are none."""
        posterior = self.posterior
        if posterior is None:
            return None

        def blocks(X: Any) -> Iterator[tuple[Array, Array]]:
            for start in range(0, len(X), BLOCK_ROWS):
                with np.errstate(all="ignore"):
                    found = posterior.marginals(wide(X[start : start + BLOCK_ROWS]))
                yield found

        return blocks

    def facts(self) -> dict[str, Any]:
        """What the arrays say besides: δ."""
        return dict(self.known)


def restore(
    config: Mapping[str, Any], arrays: Mapping[str, Any], d: int, num_classes: int, said: Said = warnings.warn
) -> Predictor | None:
    """The predictor of a model with this configuration (as plain dictionaries) and these arrays, or None.

    Arrays that do not fit the configuration are a ValueError or KeyError.
    """
    reader = RESTORED.get(config["method"]["name"])
    return None if reader is None else reader(config, arrays, d, num_classes, said)


def _svgp(
    config: Mapping[str, Any], arrays: Mapping[str, Any], d: int, num_classes: int, said: Said
) -> Predictor | None:
    name = config["likelihood"]["name"]
    if name not in READERS:
        return None
    L, m = num_latent_functions(name, num_classes), config["inducing"]
    kernels = read_kernels(config["kernel"], arrays, d, L)
    if kernels is None:
        return None
    inducing = [key for key in arrays if key.startswith("inducing_variable.") and key.endswith(".Z")]
    shapes = {**dict.fromkeys(inducing, (m, d)), "q_mu": (m, L), "q_sqrt": (L, m, m), "jitter": ()}
    _check_shapes(arrays, shapes)
    roots = np.tril(wide(arrays["q_sqrt"]))
    Z, mean, jitter = wide(arrays[inducing[0]]), wide(arrays["q_mu"]).T.copy(), float(arrays["jitter"])
    posterior = find_posterior(kernels, Z, mean, roots @ roots.transpose(0, 2, 1), jitter, said)
    probabilities = READERS[name](config, arrays, num_classes)
    delta = read_delta(arrays, num_classes) if "likelihood.delta" in arrays else None
    return _of_posterior(posterior, probabilities, num_classes, {"delta": delta})


def _ep(config: Mapping[str, Any], arrays: Mapping[str, Any], d: int, num_classes: int, said: Said) -> Predictor | None:
    L, m = (1 if num_classes == 2 else num_classes), config["inducing"]
    kernels = read_kernels(config["kernel"], arrays, d, L)
    if kernels is None:
        return None
    _check_shapes(arrays, {"Z": (m, d), "noise": (L,), "precision": (L, m, m), "shift": (L, m), "jitter": ()})
    noise = LEAST_NOISE + softplus(wide(arrays["noise"]))
    S = np.stack([_inverse(precision) for precision in wide(arrays["precision"])])
    mean = np.einsum("lij,lj->li", S, wide(arrays["shift"]))

    def probabilities(mu: Array, nu: Array) -> Array:
        variance = np.maximum(nu, 0.0) + noise
        if num_classes == 2:
            return sides(mu / np.sqrt(1.0 + variance))
        return win_probabilities(mu, np.maximum(variance, VARIANCE_FLOOR), PREDICTION_POINTS)

    posterior = find_posterior(kernels, wide(arrays["Z"]), mean, S, float(arrays["jitter"]), said)
    return _of_posterior(posterior, probabilities, num_classes, {})


def _selu(config: Mapping[str, Any], arrays: Mapping[str, Any], d: int, num_classes: int, said: Said) -> Predictor:
    values = [wide(arrays[name]) for name in sorted(arrays)]
    layers = list(zip(values[::2], values[1::2], strict=True))
    inputs = [d, *(len(bias) for _, bias in layers)]
    shapes = [(weights.shape, bias.shape) for weights, bias in layers]
    expected = [((before, after), (after,)) for before, after in pairwise(inputs)]
    if shapes != expected or inputs[-1] != num_classes or len(layers) != config["method"]["settings"]["layers"] + 1:
        raise ValueError("the parameters are not those of the configuration")

    def block(x: Array) -> Array:
        for number, (weights, bias) in enumerate(layers):
            x = x @ weights + bias
            if number < len(layers) - 1:
                x = SELU_SCALE * np.where(x > 0.0, x, SELU_ALPHA * (np.exp(np.minimum(x, 0.0)) - 1.0))
        powers = np.exp(x - np.max(x, axis=1, keepdims=True))
        return powers / np.sum(powers, axis=1, keepdims=True)

    return Predictor(num_classes, block)


RESTORED: dict[str, Callable[..., Predictor | None]] = {"svgp": _svgp, "ep": _ep, "selu": _selu}
"""By method. One that is not here is loaded with TensorFlow; a line here spares its users that."""


def _of_posterior(
    posterior: Posterior, probabilities: Probabilities, num_classes: int, known: dict[str, Any]
) -> Predictor:
    return Predictor(num_classes, lambda X: probabilities(*posterior.marginals(X)), posterior, known)


def _check_shapes(arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    found = {name: np.shape(arrays[name]) for name in shapes}
    others = {name for name in arrays if name not in shapes and name.partition(".")[0] not in ("kernel", "likelihood")}
    if found != dict(shapes) or others:
        raise ValueError("the parameters are not those of the configuration")


def _inverse(precision: Array) -> Array:
    root: Array = solve_triangular(np.linalg.cholesky(precision), np.eye(len(precision)), lower=True)
    return root.T @ root
