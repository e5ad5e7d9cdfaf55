"""Normal tails and quadrature nodes against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from scipy import special

from gpcnoise_cli.likelihoods.numerics import log_ndtr, log_ndtr_and_hazard, ndtr
from gpcnoise_cli.predictor.nodes import gauss_hermite

GRID = np.concatenate([-np.logspace(9, -9, 400), [0.0], np.logspace(-9, 9, 400)])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-13)])
def test_log_ndtr_equals_scipy_from_end_to_end(dtype: type, tolerance: float) -> None:
    z = GRID.astype(dtype)
    wide = z.astype(np.float64)
    log_cdf, hazard = log_ndtr_and_hazard(tf.constant(z))
    normal = np.finfo(dtype).tiny
    assert_allclose(log_cdf, special.log_ndtr(wide), rtol=tolerance * 10, atol=normal)
    expected = np.sqrt(2 / np.pi) / special.erfcx(-wide / np.sqrt(2))
    # Relative accuracy of exp(−z²/2) is lost like z² eps where it is about to vanish.
    assert_allclose(hazard, expected, rtol=tolerance * 200, atol=normal)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_of_log_ndtr_is_finite_and_right(dtype: type) -> None:
    z = tf.constant([-1e9, -40.0, -3.0, 0.0, 3.0, 40.0, 1e9], dtype)
    with tf.GradientTape() as tape:
        tape.watch(z)
        value = log_ndtr(z)
    expected = [1e9, 40.0249688, 3.28309865, 0.797884561, 0.00443783904, 0.0, 0.0]
    assert_allclose(tape.gradient(value, z), expected, rtol=1e-5, atol=1e-37)


def test_ndtr_keeps_its_relative_accuracy_in_the_lower_tail() -> None:
    z = np.linspace(-30, 8, 200)
    assert_allclose(ndtr(tf.constant(z)), special.ndtr(z), rtol=1e-12)


@pytest.mark.parametrize("points", [2, 20, 60])
def test_nodes_integrate_the_moments_of_the_normal(points: int) -> None:
    nodes, weights = gauss_hermite(points)
    moments = [np.sum(weights * nodes**power) for power in range(4)]
    assert_allclose(moments, [1.0, 0.0, 1.0, 0.0], atol=1e-12)
