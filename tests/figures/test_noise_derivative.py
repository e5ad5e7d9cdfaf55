"""App. B: the paper's derivatives are those of S, whoever takes them."""

from __future__ import annotations

import numpy as np
import pytest

from gpcnoise_cli.figures.noise_derivative import agreement_derivative, elbo_and_autodiff


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_three_derivatives_agree(classes: int) -> None:
    rng = np.random.default_rng(classes)
    shape = (40, 1 if classes == 2 else classes)
    mu, nu = rng.normal(0, 2, shape), rng.uniform(0.5, 3.0, shape)
    y, delta, h = rng.integers(classes, size=40), 0.02, 1e-4
    slope = np.log((1 - delta) * (classes - 1) / delta)
    for a in (0.0, 1.0, 2.897):
        by_paper = slope * agreement_derivative(mu, nu, y, a).sum()
        (_, down, up), (by_autodiff, _, _) = elbo_and_autodiff(mu, nu, y, classes, delta, np.array([a, a - h, a + h]))
        assert by_autodiff == pytest.approx(by_paper, rel=1e-6)
        assert (up - down) / (2 * h) == pytest.approx(by_paper, rel=1e-5)


def test_a_row_that_is_wrong_gains_by_noise() -> None:
    """The paper's y μ > 0 is a condition, not a fact: where it fails the derivative is positive."""
    mu, nu, y = np.array([[2.0], [2.0]]), np.ones((2, 1)), np.array([1, 0])
    right, wrong = agreement_derivative(mu, nu, y, 1.0)
    assert right < 0 < wrong == pytest.approx(-right)
