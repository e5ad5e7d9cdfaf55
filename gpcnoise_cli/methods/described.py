"""What a result reports of a method's settings, known without loading the method."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.likelihoods.registry import likelihood_spec, num_latent_functions
from gpcnoise_cli.methods.registry import label_of, method_of

if TYPE_CHECKING:
    from gpcnoise_cli.config.schema import TrainConfig


def shares_kernel(config: TrainConfig, num_classes: int, num_latent: int | None = None) -> bool:
    """Whether one kernel serves all latent functions; a single one has only one."""
    latent = num_latent or num_latent_functions(config.likelihood.name, num_classes)
    shared = config.kernel.shared
    return latent == 1 or (num_classes > config.kernel.few_classes if shared is None else shared)
