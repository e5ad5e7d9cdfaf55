"""What ORTH makes of a configuration: its likelihood, and how many γ points it has."""

from __future__ import annotations

from dataclasses import replace

from gpcnoise_cli.config.schema import LikelihoodConfig, TrainConfig
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.registry import likelihood_spec

USUAL_GAMMA = 500


def with_its_likelihood(config: TrainConfig, num_classes: int) -> TrainConfig:
    """The probit for two classes, the step for more."""
    spec = likelihood_spec("probit_quadrature" if num_classes == 2 else "step")
    points = config.likelihood.quadrature_points
    own = LikelihoodConfig(spec.name, spec.noise_variance, spec.bounds[0], quadrature_points=points)
    return replace(config, likelihood=own)


def num_gamma(config: TrainConfig, num_data: int) -> int:
    """How many γ points a configuration asks for; what is not a number of them, or too many, is refused."""
    asked, left = config.method.settings["gamma"], max(num_data - config.inducing, 0)
    if asked is None:
        return min(USUAL_GAMMA, left)
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
        raise UsageError(f"method.settings.gamma must be a whole number of at least 0, or null, not {asked!r}.")
    if asked > left:
        raise UsageError(
            f"method.settings.gamma={asked} is more than the {left} training rows that {config.inducing} inducing "
            f"points leave of {num_data}; choose {left} or less, or fewer --inducing points."
        )
    return asked
