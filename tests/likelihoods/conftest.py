"""Every likelihood of the registry, for a few numbers of classes, with each of its bounds and objectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpcnoise_cli.likelihoods import LIKELIHOODS, build_likelihood
from gpcnoise_cli.likelihoods.class_likelihood import ClassLikelihood

Builder = Callable[[], ClassLikelihood]


def _cases() -> dict[str, Builder]:
    def builder(**options: Any) -> Builder:
        return lambda: build_likelihood(**options)

    cases: dict[str, Builder] = {}
    for name, spec in LIKELIHOODS.items():
        for classes in filter(spec.fits, (2, 4)):
            common = {"name": name, "num_classes": classes, "delta": 0.05}
            for bound in spec.bounds:
                cases[f"{name}-{classes}-{bound}"] = builder(**common, bound=bound)
            if "predictive" in spec.objectives:
                cases[f"{name}-{classes}-predictive"] = builder(**common, objective="predictive")
    return cases


CASES = _cases()


@pytest.fixture(params=list(CASES))
def likelihood(request: pytest.FixtureRequest) -> ClassLikelihood:
    return CASES[request.param]()


@pytest.fixture(scope="session")
def every_likelihood() -> list[ClassLikelihood]:
    return [build() for build in CASES.values()]


@pytest.fixture
def points() -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Draw means, variances and labels for a likelihood."""

    def draw(
        likelihood: ClassLikelihood, count: int = 40, dtype: type = np.float64, seed: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        shape = (count, likelihood.num_latent)
        mean, variance = 2 * rng.normal(size=shape), rng.gamma(1.5, 1.0, size=shape) + 0.05
        labels = rng.integers(likelihood.num_classes, size=(count, 1))
        return mean.astype(dtype), variance.astype(dtype), labels.astype(np.float64)

    return draw
