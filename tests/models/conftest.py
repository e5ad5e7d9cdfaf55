"""A fused model beside a stock GPflow one with the same parameters, on a handful of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gpflow
import numpy as np
import pytest
from gpflow.utilities import parameter_dict

from gpcnoise_cli.likelihoods import build_likelihood
from gpcnoise_cli.models.kernels import PerClass, build_kernel
from gpcnoise_cli.models.svgp import FusedSVGP


class Pair(NamedTuple):
    """Two models with equal kernels (the same object, where it serves all classes) and one likelihood, and data."""

    fused: FusedSVGP
    stock: gpflow.models.SVGP
    data: tuple[np.ndarray, np.ndarray]


def random_q(m: int, num_latent: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Means of a latent function that has learned something, and lower triangular factors near 0.8 I."""
    rng = np.random.default_rng(seed)
    q_sqrt = np.tril(0.3 * rng.normal(size=(num_latent, m, m)), -1) + np.eye(m) * rng.uniform(0.5, 1.1, size=m)
    return rng.normal(size=(m, num_latent)), q_sqrt


def stacked_like(kernels: gpflow.kernels.SeparateIndependent) -> PerClass:
    """The same kernels with their parameters in one stack."""
    stack = PerClass(kernels.kernels[0], len(kernels.kernels))
    for name, parameter in parameter_dict(stack.stack).items():
        parameter.assign(np.stack([parameter_dict(one)[name].numpy() for one in kernels.kernels]))
    return stack


@pytest.fixture(autouse=True)
def _no_jitter_in_gpflow() -> Iterator[None]:
    """GPflow's jitter is absolute and ours relative: models are compared without any."""
    with gpflow.config.as_context(gpflow.config.Config(jitter=0.0)):
        yield


@pytest.fixture(scope="session")
def pair() -> Callable[..., Pair]:
    """Build a `Pair`: `pair("probit", 3, "rbf", ard=True)`."""

    def build(
        likelihood: str = "softmax",
        classes: int = 3,
        kernel: str = "rbf",
        *,
        bound: str | None = None,
        ard: bool = False,
        shared: bool = True,
        precision: str = "float64",
        rows: int = 9,
        m: int = 5,
        d: int = 3,
        seed: int = 0,
        **options: Any,
    ) -> Pair:
        rng = np.random.default_rng(seed)
        X, Z = rng.normal(size=(rows, d)), rng.normal(size=(m, d))
        Y = rng.integers(classes, size=(rows, 1))
        of_labels = build_likelihood(likelihood, classes, bound=bound, **{"delta": 0.03, **options})

        def one_kernel(lengthscale: float) -> gpflow.kernels.Kernel:
            return build_kernel(kernel, d, lengthscale=lengthscale, variance=2.0, ard=ard)

        num_latent = of_labels.num_latent
        kernels, points = one_kernel(1.3), Z.copy()
        ours = kernels
        if not shared:
            kernels = gpflow.kernels.SeparateIndependent([one_kernel(1.0 + 0.2 * c) for c in range(num_latent)])
            ours = stacked_like(kernels)
            points = gpflow.inducing_variables.SharedIndependentInducingVariables(
                gpflow.inducing_variables.InducingPoints(points)
            )
        q_mu, q_sqrt = random_q(m, num_latent)
        fused = FusedSVGP(ours, of_labels, Z, num_data=100, precision=precision, jitter=0.0)
        fused.q_mu.assign(q_mu)
        fused.q_sqrt.assign(q_sqrt)
        stock = gpflow.models.SVGP(
            kernels, of_labels, points, num_latent_gps=num_latent, q_mu=q_mu, q_sqrt=q_sqrt, whiten=True, num_data=100
        )
        return Pair(fused, stock, (X, Y))

    return build
