"""Whether one kernel serves all latent functions; asked by builders and, without TensorFlow, by results."""

from __future__ import annotations

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.likelihoods.registry import num_latent_functions


def shares_kernel(config: TrainConfig, num_classes: int, num_latent: int | None = None) -> bool:
    """A single latent function has a single kernel; how many there are is up to the likelihood unless told."""
    if (num_latent or num_latent_functions(config.likelihood.name, num_classes)) == 1:
        return True
    shared = config.kernel.shared
    return num_classes > config.kernel.few_classes if shared is None else shared
