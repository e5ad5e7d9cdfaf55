"""From the configuration and the arrays of a trained model to its predictor.

A method, kernel or likelihood that has no line here gives None: it is then loaded with TensorFlow, and predicts the
same, only later.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, num_latent_functions
from gpcnoise_cli.predictor.kernels import read_kernels, softplus, wide
from gpcnoise_cli.predictor.links import Link
from gpcnoise_cli.predictor.nodes import PREDICTION_POINTS, Array, normal_draws
from gpcnoise_cli.predictor.posterior import Further, find_posterior
from gpcnoise_cli.predictor.predictors import GaussianProcess, Network, Predictor

LEAST_NOISE = 1e-6
"""Of the label noise of method ep, which is stored as the softplus of what is beyond it."""
Config = Mapping[str, Any]
Arrays = Mapping[str, Any]
Said = Callable[[str], object]


def restore(config: Config, arrays: Arrays, d: int, num_classes: int, said: Said = warnings.warn) -> Predictor | None:
    """The predictor of a model with this configuration (as plain dictionaries), or None.

    Arrays that do not fit the configuration are a ValueError or KeyError.
    """
    reader = METHODS.get(config["method"]["name"])
    return None if reader is None else reader(config, arrays, d, num_classes, said)


def _svgp(
    config: Config, arrays: Arrays, d: int, num_classes: int, said: Said, further: Further | None = None
) -> Predictor | None:
    name, m = config["likelihood"]["name"], config["inducing"]
    L = num_latent_functions(name, num_classes)
    kernels = read_kernels(config["kernel"], arrays, d, L)
    if kernels is None or name not in LINKS or config["likelihood"].get("squash"):
        return None
    shared = "inducing_variable.Z"
    inducing = shared if shared in arrays else "inducing_variable.inducing_variable.Z"
    _check_shapes(arrays, {inducing: (m, d), "q_mu": (m, L), "q_sqrt": (L, m, m), "jitter": ()})
    roots, mean = np.tril(wide(arrays["q_sqrt"])), wide(arrays["q_mu"]).T.copy()
    S = roots @ roots.transpose(0, 2, 1)
    posterior = find_posterior(kernels, wide(arrays[inducing]), mean, S, float(arrays["jitter"]), said, further)
    return GaussianProcess(num_classes, posterior, LINKS[name](config, arrays, num_classes))


def _orth(config: Config, arrays: Arrays, d: int, num_classes: int, said: Said) -> Predictor | None:
    """The SVGP with the likelihood of the method (`methods.orth_settings`) and, unless it has none, with γ points."""
    name = "probit_quadrature" if num_classes == 2 else "step"
    own = {**config["likelihood"], "name": name, "noise_variance": None, "squash": 0.0}
    of_svgp, further = dict(arrays), None
    if "gamma" in arrays:
        points, weights = wide(of_svgp.pop("gamma")), wide(of_svgp.pop("weights")).T
        if points.shape != (weights.shape[1], d) or len(weights) != num_latent_functions(name, num_classes):
            raise ValueError("the parameters are not those of the configuration")
        further = Further(points, weights)
    return _svgp({**config, "likelihood": own}, of_svgp, d, num_classes, said, further)


def _ep(config: Config, arrays: Arrays, d: int, num_classes: int, said: Said) -> Predictor | None:
    L, m = (1 if num_classes == 2 else num_classes), config["inducing"]
    kernels = read_kernels(config["kernel"], arrays, d, L)
    if kernels is None:
        return None
    _check_shapes(arrays, {"Z": (m, d), "noise": (L,), "precision": (L, m, m), "shift": (L, m), "jitter": ()})
    S = np.stack([_inverse(precision) for precision in wide(arrays["precision"])])
    mean = np.einsum("lij,lj->li", S, wide(arrays["shift"]))
    posterior = find_posterior(kernels, wide(arrays["Z"]), mean, S, float(arrays["jitter"]), said)
    # A single latent function has the probit's unit variance besides.
    noise = LEAST_NOISE + softplus(wide(arrays["noise"])) + (1.0 if num_classes == 2 else 0.0)
    return GaussianProcess(num_classes, posterior, _gaussian(noise, 0.0, PREDICTION_POINTS))


def _selu(config: Config, arrays: Arrays, d: int, num_classes: int, said: Said) -> Predictor:
    values = [wide(arrays[name]) for name in sorted(arrays)]
    layers = tuple(zip(values[::2], values[1::2], strict=True))
    widths = [d, *(len(bias) for _, bias in layers)]
    fits = [weights.shape for weights, _ in layers] == list(pairwise(widths)) and widths[-1] == num_classes
    if not fits or len(layers) != config["method"]["settings"]["layers"] + 1:
        raise ValueError("the parameters are not those of the configuration")
    return Network(num_classes, layers)


METHODS: dict[str, Callable[[Config, Arrays, int, int, Said], Predictor | None]] = {
    "svgp": _svgp,
    "orth": _orth,
    "ep": _ep,
    "selu": _selu,
}
"""By their names in the registry; a line here spares the users of a method TensorFlow."""


def _gaussian_noise(config: Config, arrays: Arrays, num_classes: int) -> Link:
    options = config["likelihood"]
    told, registered = options["noise_variance"], LIKELIHOODS[options["name"]].noise_variance
    # δ is stored by a sigmoid that is scaled to its interval.
    delta = float(expit(wide(arrays["likelihood.delta"]))) * (num_classes - 1) / num_classes
    points = max(options["quadrature_points"], PREDICTION_POINTS)
    return _gaussian((registered or 0.0) if told is None else told, delta, points)


def _gaussian(noise_variance: Any, delta: float, points: int) -> Link:
    values = {"noise_variance": noise_variance, "delta": delta, "points": points}
    return Link("gaussian_noise", {name: wide(value) for name, value in values.items()})


def _draws(config: Config, num_classes: int) -> Array:
    return normal_draws(config["likelihood"]["prediction_draws"], num_classes, config["seed"])


def _softmax(config: Config, arrays: Arrays, num_classes: int) -> Link:
    offset = wide(arrays.get("likelihood.offset", np.zeros(num_classes)))
    return Link("softmax", {"draws": _draws(config, num_classes), "offset": offset})


def _augmented(config: Config, arrays: Arrays, num_classes: int) -> Link:
    if num_classes == 2:
        return Link("logit", {})
    return Link("logistic_softmax", {"draws": _draws(config, num_classes)})


LINKS: dict[str, Callable[[Config, Arrays, int], Link]] = {
    "step": _gaussian_noise,
    "probit": _gaussian_noise,
    "logit": _gaussian_noise,
    "softmax": _softmax,
    "augmented": _augmented,
    "probit_quadrature": lambda *_: _gaussian(1.0, 0.0, PREDICTION_POINTS),
    "logit_quadrature": lambda *_: Link("logit", {}),
    "softmax_sampled": _softmax,
    "dirichlet": _softmax,
}
"""By likelihood."""


def _check_shapes(arrays: Arrays, shapes: Mapping[str, tuple[int, ...]]) -> None:
    found = {name: np.shape(arrays[name]) for name in shapes}
    others = {name for name in arrays if name not in shapes and name.partition(".")[0] not in ("kernel", "likelihood")}
    if found != dict(shapes) or others:
        raise ValueError("the parameters are not those of the configuration")


def _inverse(precision: Array) -> Array:
    root: Array = solve_triangular(np.linalg.cholesky(precision), np.eye(len(precision)), lower=True)
    return root.T @ root
