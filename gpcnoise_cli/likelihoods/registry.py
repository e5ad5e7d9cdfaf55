"""The four likelihoods by name: what each is called in the paper, and how to build it.

This module is read by the command line for help and completion, so it must stay free of TensorFlow; the builder
imports the classes only when it is called. A new likelihood is one class, one line in `LIKELIHOODS` and one branch of
the builder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpcnoise_cli.errors import UsageError, unknown_choice

if TYPE_CHECKING:
    from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood

OBJECTIVES = ("elbo", "predictive")
DELTA_MODES = ("free", "fixed", "optimal")
DELTA_PRIORS = ("none", "beta")
DEFAULT_QUADRATURE_POINTS = 20
DEFAULT_PREDICTION_DRAWS = 1000


@dataclass(frozen=True)
class LikelihoodSpec:
    """What is known of a likelihood before it is built."""

    name: str
    method: str
    summary: str
    noise_variance: float | None
    """The variance a of the Gaussian noise; None for the Gumbel noise of the softmax."""
    bounds: tuple[str, ...]
    """The bounds offered on the expected log likelihood, the paper's first."""

    @property
    def has_delta(self) -> bool:
        """Whether the likelihood carries the robustness parameter δ."""
        return self.noise_variance is not None


LIKELIHOODS: dict[str, LikelihoodSpec] = {
    spec.name: spec
    for spec in (
        LikelihoodSpec("step", "GPC-I", "step function, no noise", 0.0, ("gaussian",)),
        LikelihoodSpec("probit", "GPC-II", "(multinomial) probit, unit Gaussian noise", 1.0, ("gaussian",)),
        LikelihoodSpec("logit", "GPC-III", "(multinomial) logit, near-logistic Gaussian noise", 2.897, ("gaussian",)),
        LikelihoodSpec("softmax", "GPCsm", "softmax, Gumbel noise", None, ("gumbel", "tilted")),
    )
}


def likelihood_spec(name: str) -> LikelihoodSpec:
    """The entry for `name`, or a usage error that lists the names there are."""
    if name not in LIKELIHOODS:
        raise unknown_choice("likelihood", name, LIKELIHOODS)
    return LIKELIHOODS[name]


def num_latent_functions(name: str, num_classes: int) -> int:
    """One latent function for two classes under Gaussian noise, else one per class."""
    return 1 if likelihood_spec(name).has_delta and num_classes == 2 else num_classes


def build_likelihood(
    name: str,
    num_classes: int,
    *,
    noise_variance: float | None = None,
    bound: str | None = None,
    objective: str = "elbo",
    delta_mode: str = "free",
    delta: float = 1e-3,
    delta_prior: str = "none",
    quadrature_points: int = DEFAULT_QUADRATURE_POINTS,
    prediction_draws: int = DEFAULT_PREDICTION_DRAWS,
    seed: int = 0,
) -> ClassLikelihood:
    """Build the GPflow likelihood `name` for labels 0..num_classes − 1.

    `noise_variance` replaces the registered a of the Gaussian family, and `bound` is one of those the likelihood
    offers, the first by default. `objective` says what training maximises; with `predictive` no bound is used. The δ
    options and `quadrature_points` concern the Gaussian family only, `prediction_draws` and `seed` the softmax only; a
    misspelt δ mode or prior is refused for every likelihood.
    """
    spec = likelihood_spec(name)
    bound = bound or spec.bounds[0]
    if bound not in spec.bounds:
        raise unknown_choice(f"bound of the {name} likelihood", bound, spec.bounds)
    if objective not in OBJECTIVES:
        raise unknown_choice("objective", objective, OBJECTIVES)
    if delta_mode not in DELTA_MODES:
        raise unknown_choice("delta mode", delta_mode, DELTA_MODES)
    if delta_prior not in DELTA_PRIORS:
        raise unknown_choice("delta prior", delta_prior, DELTA_PRIORS)
    if spec.noise_variance is None:
        if noise_variance is not None:
            raise UsageError(f"the {name} likelihood has Gumbel noise, so it takes no noise variance; leave it out.")
        from gpcnoise_cli.likelihoods.softmax import SoftmaxLikelihood

        return SoftmaxLikelihood(
            num_classes, bound=bound, objective=objective, prediction_draws=prediction_draws, seed=seed
        )

    from gpcnoise_cli.likelihoods.gaussian_noise import BinaryGaussianNoise, MulticlassGaussianNoise

    variance = spec.noise_variance if noise_variance is None else noise_variance
    if num_classes == 2:
        return BinaryGaussianNoise(
            variance, objective=objective, delta_mode=delta_mode, delta=delta, delta_prior=delta_prior
        )
    return MulticlassGaussianNoise(
        num_classes,
        variance,
        objective=objective,
        delta_mode=delta_mode,
        delta=delta,
        delta_prior=delta_prior,
        quadrature_points=quadrature_points,
    )
