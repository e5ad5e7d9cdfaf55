"""The likelihoods by name: what each is, what the paper calls it, and how to build it.

This module is read by the command line for help and completion, so it must stay free of TensorFlow; a builder imports
its classes only when it is called. A new likelihood is one class, one line in `LIKELIHOODS` and one file in
`conf/likelihood`: help texts, validation, table columns, ranks and figures follow from the line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.errors import UsageError, unknown_choice

if TYPE_CHECKING:
    from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood

OBJECTIVES = ("elbo", "predictive")
DELTA_MODES = ("free", "fixed", "optimal")
DELTA_PRIORS = ("none", "beta")
DEFAULT_QUADRATURE_POINTS = 20
DEFAULT_PREDICTION_DRAWS = 1000
DEFAULT_ALPHA_EPSILON = 0.01


@dataclass(frozen=True)
class LikelihoodOptions:
    """What a likelihood may be told; each takes what concerns it.

    `noise_variance` replaces the registered a of the Gaussian family, and `bound` is one of those the likelihood
    offers, the first by default. `objective` says what training maximises; with `predictive` no bound is used.
    """

    noise_variance: float | None = None
    bound: str | None = None
    objective: str = "elbo"
    delta_mode: str = "free"
    delta: float = 1e-3
    delta_prior: str = "none"
    quadrature_points: int = DEFAULT_QUADRATURE_POINTS
    prediction_draws: int = DEFAULT_PREDICTION_DRAWS
    squash: float = 0.0
    alpha_epsilon: float = DEFAULT_ALPHA_EPSILON
    seed: int = 0

    def __post_init__(self) -> None:
        for key, allowed in (
            ("objective", OBJECTIVES),
            ("delta_mode", DELTA_MODES),
            ("delta_prior", DELTA_PRIORS),
        ):
            if getattr(self, key) not in allowed:
                raise unknown_choice(key.replace("_", " "), getattr(self, key), allowed)


def _gaussian_noise(spec: LikelihoodSpec, num_classes: int, options: LikelihoodOptions) -> ClassLikelihood:
    from gpcnoise_cli.likelihoods.gaussian_noise import BinaryGaussianNoise, MulticlassGaussianNoise

    variance = float((spec.noise_variance or 0.0) if options.noise_variance is None else options.noise_variance)
    delta: dict[str, Any] = {
        "delta_mode": options.delta_mode,
        "delta": options.delta,
        "delta_prior": options.delta_prior,
    }
    if num_classes == 2:
        if options.squash > 0.0:
            raise UsageError(f"squash {options.squash:g} is for more than two classes, where S is a product; omit it.")
        return BinaryGaussianNoise(variance, objective=options.objective, **delta)
    return MulticlassGaussianNoise(
        num_classes,
        variance,
        objective=options.objective,
        quadrature_points=options.quadrature_points,
        squash=options.squash,
        **delta,
    )


def _softmax(spec: LikelihoodSpec, num_classes: int, options: LikelihoodOptions) -> ClassLikelihood:
    from gpcnoise_cli.likelihoods.softmax import SoftmaxLikelihood

    return SoftmaxLikelihood(
        num_classes,
        bound=options.bound or spec.bounds[0],
        objective=options.objective,
        prediction_draws=options.prediction_draws,
        seed=options.seed,
    )


def _augmented(spec: LikelihoodSpec, num_classes: int, options: LikelihoodOptions) -> ClassLikelihood:
    from gpcnoise_cli.likelihoods.augmented import AugmentedLogit, AugmentedSoftmax

    bound = options.bound or spec.bounds[0]
    if num_classes == 2:
        return AugmentedLogit(bound)
    return AugmentedSoftmax(num_classes, bound, options.prediction_draws, options.seed)


def _probit_quadrature(spec: LikelihoodSpec, num_classes: int, options: LikelihoodOptions) -> ClassLikelihood:
    from gpcnoise_cli.likelihoods.quadrature import ProbitQuadrature

    return ProbitQuadrature(options.quadrature_points)


def _logit_quadrature(spec: LikelihoodSpec, num_classes: int, options: LikelihoodOptions) -> ClassLikelihood:
    from gpcnoise_cli.likelihoods.quadrature import LogitQuadrature

    return LogitQuadrature(options.quadrature_points)


def _softmax_sampled(spec: LikelihoodSpec, num_classes: int, options: LikelihoodOptions) -> ClassLikelihood:
    from gpcnoise_cli.likelihoods.quadrature import SoftmaxSampled

    return SoftmaxSampled(num_classes, options.prediction_draws, options.seed)


def _dirichlet(spec: LikelihoodSpec, num_classes: int, options: LikelihoodOptions) -> ClassLikelihood:
    from gpcnoise_cli.likelihoods.dirichlet import DirichletLikelihood

    return DirichletLikelihood(num_classes, options.alpha_epsilon, options.prediction_draws, options.seed)


@dataclass(frozen=True)
class LikelihoodSpec:
    """What is known of a likelihood before it is built."""

    name: str
    label: str
    """What tables call it: the paper's name where it has one."""
    summary: str
    bounds: tuple[str, ...]
    """The bounds offered on the expected log likelihood, the paper's first."""
    build: Callable[[LikelihoodSpec, int, LikelihoodOptions], ClassLikelihood]
    noise_variance: float | None = None
    """The variance a of the Gaussian noise; None where the noise is of another kind."""
    has_delta: bool = False
    """Whether it carries the robustness parameter δ."""
    concave: bool = False
    """Whether a point's term of the bound falls with its variances, and is concave in its means or made of terms that
    are, so that natural steps need no care."""
    single_binary: bool = False
    """Whether two classes need a single latent function."""
    of_paper: bool = False
    """Whether it is one of the paper's own: these are what grids, figures and tables compare unless told otherwise."""
    binary_published: bool = True
    """Whether the paper prints its figures on binary sets."""
    binary: bool = True
    """Whether it is for two classes."""
    multiclass: bool = True
    """Whether it is for more than two."""
    objectives: tuple[str, ...] = OBJECTIVES

    def fits(self, num_classes: int) -> bool:
        return self.binary if num_classes == 2 else self.multiclass


_GAUSSIAN: dict[str, Any] = {
    "bounds": ("gaussian",),
    "build": _gaussian_noise,
    "has_delta": True,
    "single_binary": True,
    "of_paper": True,
}
_BINARY_REFERENCE: dict[str, Any] = {
    "concave": True,
    "single_binary": True,
    "multiclass": False,
    "objectives": ("elbo",),
}
LIKELIHOODS: dict[str, LikelihoodSpec] = {
    spec.name: spec
    for spec in (
        LikelihoodSpec("step", "GPC-I", "step function, no noise", noise_variance=0.0, **_GAUSSIAN),
        LikelihoodSpec(
            "probit", "GPC-II", "(multinomial) probit, unit Gaussian noise", noise_variance=1.0, **_GAUSSIAN
        ),
        LikelihoodSpec(
            "logit", "GPC-III", "(multinomial) logit, near-logistic Gaussian noise", noise_variance=2.897, **_GAUSSIAN
        ),
        LikelihoodSpec(
            "softmax",
            "GPCsm",
            "softmax, Gumbel noise",
            ("gumbel", "tilted"),
            _softmax,
            concave=True,
            of_paper=True,
            binary_published=False,
        ),
        LikelihoodSpec(
            "augmented",
            "GPCaug",
            "logit or logistic-softmax by augmentation (Galy-Fajou et al., 2020)",
            ("mean-field", "collapsed"),
            _augmented,
            concave=True,
            single_binary=True,
            objectives=("elbo",),
        ),
        LikelihoodSpec(
            "probit_quadrature",
            "SVGP-probit",
            "probit by quadrature, two classes (Hensman et al., 2015)",
            ("quadrature",),
            _probit_quadrature,
            **_BINARY_REFERENCE,
        ),
        LikelihoodSpec(
            "logit_quadrature",
            "SVGP-logit",
            "logit by quadrature, two classes (Hensman et al., 2015)",
            ("quadrature",),
            _logit_quadrature,
            **_BINARY_REFERENCE,
        ),
        LikelihoodSpec(
            "softmax_sampled",
            "SVGP-softmax",
            "softmax at fixed draws, more than two classes",
            ("sampled",),
            _softmax_sampled,
            concave=True,
            binary=False,
            objectives=("elbo",),
        ),
        LikelihoodSpec(
            "dirichlet",
            "GPD",
            "regression on transformed labels (Milios et al., 2018)",
            ("regression",),
            _dirichlet,
            concave=True,
            objectives=("elbo",),
        ),
    )
}


def likelihood_spec(name: str) -> LikelihoodSpec:
    """The entry for `name`, or a usage error that lists the names there are."""
    if name not in LIKELIHOODS:
        raise unknown_choice("likelihood", name, LIKELIHOODS)
    return LIKELIHOODS[name]


def paper_likelihoods() -> tuple[str, ...]:
    """The paper's own, in its order."""
    return tuple(name for name, spec in LIKELIHOODS.items() if spec.of_paper)


def check_fits(name: str, num_classes: int) -> None:
    """Refuse a likelihood that is not for so many classes."""
    spec = likelihood_spec(name)
    if num_classes >= 2 and not spec.fits(num_classes):
        others = [other.name for other in LIKELIHOODS.values() if other.fits(num_classes)]
        kind = "two classes" if spec.binary else "more than two classes"
        raise UsageError(
            f"likelihood {name} is for {kind} only, and the labels have {num_classes}; "
            f"use {', '.join(others[:-1])} or {others[-1]}."
        )


def num_latent_functions(name: str, num_classes: int) -> int:
    """One per class, or a single one for two classes where that is enough."""
    return 1 if likelihood_spec(name).single_binary and num_classes == 2 else num_classes


def build_likelihood(name: str, num_classes: int, **options: Any) -> ClassLikelihood:
    """Build the GPflow likelihood `name` for labels 0..num_classes − 1; for the options see `LikelihoodOptions`."""
    spec, told = likelihood_spec(name), LikelihoodOptions(**options)
    if told.bound is not None and told.bound not in spec.bounds:
        raise unknown_choice(f"bound of the {name} likelihood", told.bound, spec.bounds)
    if spec.noise_variance is None and told.noise_variance is not None:
        raise UsageError(f"the noise of the {name} likelihood is not Gaussian, so it takes no noise variance; omit it.")
    if told.objective not in spec.objectives:
        raise UsageError(
            f"objective {told.objective!r} is not offered with likelihood {name}; use {' or '.join(spec.objectives)}."
        )
    check_fits(name, num_classes)
    likelihood = spec.build(spec, num_classes, told)
    likelihood.concave = spec.concave and told.objective == "elbo"
    return likelihood
