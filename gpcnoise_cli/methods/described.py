"""The settings of a method that a result reports, its label among them; known without loading the method."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.config.schema import SVGP
from gpcnoise_cli.likelihoods.registry import likelihood_spec
from gpcnoise_cli.methods.orth_settings import with_its_likelihood
from gpcnoise_cli.methods.registry import label_of, method_of
from gpcnoise_cli.methods.selu_settings import Settings
from gpcnoise_cli.models.sharing import shares_kernel

if TYPE_CHECKING:
    from gpcnoise_cli.config.schema import TrainConfig


def describe(config: TrainConfig, num_classes: int) -> dict[str, Any]:
    """`Method.describe`; a method that is not below is loaded and asked."""
    known = _KNOWN.get(config.method.name)
    return known(config, num_classes) if known else method_of(config).describe(config, num_classes)


def _svgp(config: TrainConfig, num_classes: int) -> dict[str, Any]:
    spec = likelihood_spec(config.likelihood.name)
    return {
        "likelihood": spec.name,
        "label": spec.label,
        "noise_variance": config.likelihood.noise_variance,
        "objective": config.objective,
        "bound": config.likelihood.bound if config.objective == "elbo" else None,
        "kernel": config.kernel.name,
        "ard": config.kernel.ard,
        "shared_kernel": shares_kernel(config, num_classes),
        "inducing": config.inducing,
        "batch_size": config.batch_size,
        "delta_mode": config.delta.mode if spec.has_delta else None,
        "iterations": config.iterations,
        "learning_rate": config.optimizer.learning_rate,
        "optimizer": config.optimizer.name,
        "precision": config.runtime.precision,
    }


def _ep(config: TrainConfig, num_classes: int) -> dict[str, Any]:
    return {
        "label": label_of(config),
        "likelihood": "probit" if num_classes == 2 else "step",
        "objective": "evidence",
        "kernel": config.kernel.name,
        "ard": config.kernel.ard,
        "shared_kernel": shares_kernel(config, num_classes, num_latent=1 if num_classes == 2 else num_classes),
        "inducing": config.inducing,
        "batch_size": config.batch_size,
        "iterations": config.iterations,
        "learning_rate": config.optimizer.learning_rate,
        "optimizer": "adam",
        "damping": config.method.settings["damping"],
        "precision": "float64",
    }


def _selu(config: TrainConfig, num_classes: int) -> dict[str, Any]:
    settings = Settings(**config.method.settings)
    return {
        "label": label_of(config),
        "layers": settings.layers,
        "units": settings.widths(num_classes),
        "batch_size": settings.batch_size,
        "learning_rate": settings.learning_rate,
        "optimizer": "adam",
        "precision": "float32",
    }


def _orth(config: TrainConfig, num_classes: int) -> dict[str, Any]:
    return {**_svgp(with_its_likelihood(config, num_classes), num_classes), "label": label_of(config)}


_KNOWN: dict[str, Callable[[TrainConfig, int], dict[str, Any]]] = {
    SVGP: _svgp,
    "ep": _ep,
    "orth": _orth,
    "selu": _selu,
}
