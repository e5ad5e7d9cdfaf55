"""From a configuration to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gpflow
import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.likelihoods.registry import build_likelihood
from gpcnoise_cli.models.inducing import start_further_points, start_inducing_points
from gpcnoise_cli.models.kernels import PerClass, build_kernel, start_lengthscale, tell_apart
from gpcnoise_cli.models.orthogonal import OrthogonalSVGP
from gpcnoise_cli.models.sharing import shares_kernel
from gpcnoise_cli.models.svgp import FusedSVGP


@dataclass(frozen=True)
class Layout:
    """What a kernel may know of its inputs, where they come from a table with categories."""

    units: int | None = None
    """`Split.units`; d where it is not told."""
    columns: Sequence[str] | None = None
    """For each input the column that it comes from."""

    @classmethod
    def of(cls, split: Split) -> Layout:
        return cls(split.units, split.encoder.feature_columns if split.encoder is not None else None)


def build_model(
    config: TrainConfig,
    X: NDArray[np.floating],
    num_classes: int,
    num_gamma: int = 0,
    weights: NDArray[np.floating] | None = None,
    layout: Layout | None = None,
    *,
    num_data: int | None = None,
) -> FusedSVGP:
    """The model `config` asks for, started from the scaled training inputs `X`, which may have weights.

    With γ points it is on two bases. `num_data` is how many training rows there are, where X holds some of them.
    """
    Z = start_inducing_points(X, config.inducing, config.seed, config.inducing_start, weights)
    layout, num_data = layout or Layout(), num_data or len(X)
    start = config.kernel.lengthscale_start
    lengthscale = config.kernel.lengthscale or start_lengthscale(start, X, config.seed, weights, layout.units)
    gamma = start_further_points(X, Z, num_gamma, config.seed) if num_gamma else None
    return assemble(config, Z, num_classes, num_data=num_data, lengthscale=lengthscale, gamma=gamma, layout=layout)


def assemble(
    config: TrainConfig,
    Z: NDArray[np.floating],
    num_classes: int,
    *,
    num_data: int,
    lengthscale: float = 1.0,
    gamma: NDArray[np.floating] | None = None,
    layout: Layout | None = None,
) -> FusedSVGP:
    """The model with given inducing points; what a saved model is loaded into."""
    options = config.likelihood
    likelihood = build_likelihood(
        options.name,
        num_classes,
        noise_variance=options.noise_variance,
        bound=options.bound,
        objective=config.objective,
        delta_mode=config.delta.mode,
        delta=config.delta.value,
        delta_prior=config.delta.prior,
        quadrature_points=options.quadrature_points,
        squash=options.squash,
        prediction_draws=options.prediction_draws,
        alpha_epsilon=options.alpha_epsilon,
        seed=config.seed,
    )
    d, layout = Z.shape[1], layout or Layout()

    def kernel() -> gpflow.kernels.Kernel:
        return build_kernel(
            config.kernel.name,
            d,
            lengthscale=lengthscale,
            variance=config.kernel.variance,
            ard=config.kernel.ard,
            log_scale=config.kernel.log_scale,
            units=layout.units,
            columns=layout.columns if config.kernel.ard_by == "column" else None,
        )

    with precision_context(config.runtime.precision):
        kernels = kernel() if shares_kernel(config, num_classes) else PerClass(kernel(), likelihood.num_latent)
        if isinstance(kernels, PerClass) and likelihood.num_latent == 2 and config.kernel.apart:
            tell_apart(kernels, config.kernel.apart, config.seed)
        common: dict[str, Any] = {
            "num_data": num_data,
            "precision": config.runtime.precision,
            "jitter": config.runtime.jitter,
        }
        if gamma is None:
            return FusedSVGP(kernels, likelihood, Z, **common)
        return OrthogonalSVGP(kernels, likelihood, Z, gamma, **common)


def precision_context(precision: str) -> gpflow.config.as_context:
    """GPflow's default float for a model of this precision; building, training and loading happen inside it."""
    config = gpflow.config.Config(float=np.float32 if precision == "float32" else np.float64, jitter=1e-6)
    return gpflow.config.as_context(config)
