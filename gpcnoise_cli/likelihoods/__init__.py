"""Likelihoods: the unified Gaussian-noise family (step, probit, logit), the softmax, and those of other authors.

Only the registry is imported here; the classes pull in TensorFlow and are imported when one is built.
"""

from gpcnoise_cli.likelihoods.registry import (
    DEFAULT_PREDICTION_DRAWS,
    DEFAULT_QUADRATURE_POINTS,
    DELTA_MODES,
    DELTA_PRIORS,
    LIKELIHOODS,
    OBJECTIVES,
    LikelihoodSpec,
    build_likelihood,
    check_fits,
    likelihood_spec,
    num_latent_functions,
    paper_likelihoods,
)

__all__ = [
    "DEFAULT_PREDICTION_DRAWS",
    "DEFAULT_QUADRATURE_POINTS",
    "DELTA_MODES",
    "DELTA_PRIORS",
    "LIKELIHOODS",
    "OBJECTIVES",
    "LikelihoodSpec",
    "build_likelihood",
    "check_fits",
    "likelihood_spec",
    "num_latent_functions",
    "paper_likelihoods",
]
