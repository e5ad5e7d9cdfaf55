"""The logit of two classes with the rows as inducing points against its posterior, as a Gibbs sampler finds it.

`gibbs.json` was made in an environment of its own with polyagamma 2.0.2 and NumPy 1.26.4, on the rows of the EP fixture
and with its kernel: ω | f ~ PG(1, f) by `random_polyagamma`, f | ω normal with precision K⁻¹ + diag ω and shift y − ½,
200,000 sweeps after 2,000; means and variances of f at five further rows and the mean of σ(f) there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gpcnoise_cli.likelihoods import build_likelihood


@pytest.fixture(scope="module")
def sampled() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("gibbs.json").read_text(encoding="utf-8"))


def posterior(name: str, sampled: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, variance and probability of class 1 at the further rows, at the maximum of the bound."""
    X, new, y = np.array(sampled["X"]), np.array(sampled["new"]), np.array(sampled["y"])[:, None]

    def kernel(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        squares = np.sum((one[:, None] - other[None]) ** 2, axis=2)
        return sampled["kernel"]["variance"] * np.exp(-0.5 * squares / sampled["kernel"]["lengthscale"] ** 2)

    likelihood = build_likelihood(name, 2, quadrature_points=50)
    L = np.linalg.cholesky(kernel(X, X) + 1e-9 * np.eye(len(X)))
    A, cross = L.T, np.linalg.solve(L, kernel(X, new))
    m, S = np.zeros((len(X), 1)), np.eye(len(X))
    for _ in range(100):
        variance = np.sum(A * (S @ A), axis=0)[:, None]
        _, g, by_variance = (each.numpy() for each in likelihood.expectation_gradients(A.T @ m, variance, y))
        w = -2 * by_variance
        S = np.linalg.inv(np.eye(len(X)) + (A * w[:, 0]) @ A.T)
        m = S @ A @ (g + w * (A.T @ m))
    mean = cross.T @ m
    left = sampled["kernel"]["variance"] - np.sum(cross**2, axis=0)
    variance = (left + np.sum(cross * (S @ cross), axis=0))[:, None]
    return mean[:, 0], variance[:, 0], likelihood.predict_probabilities(mean, variance).numpy()[:, 1]


@pytest.mark.parametrize(
    ("name", "of_mean", "of_variance", "of_probability"),
    [("logit_quadrature", 0.01, 0.02, 0.001), ("augmented", 0.06, 0.15, 0.008)],
)
def test_the_gaussian_that_maximises_the_bound_is_near_the_posterior(
    name: str, of_mean: float, of_variance: float, of_probability: float, sampled: dict[str, Any]
) -> None:
    """The posterior is skewed and neither is exact; how near they are was found, not derived."""
    mean, variance, probability = posterior(name, sampled)
    assert_allclose(mean, sampled["mean"], atol=of_mean)
    assert_allclose(variance, sampled["variance"], rtol=of_variance)
    assert_allclose(probability, sampled["probability"], atol=of_probability)


def test_the_augmented_bound_is_surer_of_itself_than_it_may_be(sampled: dict[str, Any]) -> None:
    """q(f) and q(ω) independent: every variance is too small, and that of the expectation itself is nearer."""
    (_, augmented, _), (_, quadrature, _) = (posterior(name, sampled) for name in ("augmented", "logit_quadrature"))
    assert np.all(augmented < sampled["variance"])
    assert np.all(np.abs(quadrature - sampled["variance"]) < np.abs(augmented - sampled["variance"]))
