"""Fixed numbers that training and prediction share, without TensorFlow: nodes of quadrature and of sampling, and a
polynomial for the normal tail where no library function is at hand."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev
from scipy.special import erfcx, ndtri

Array = npt.NDArray[np.float64]

VARIANCE_FLOOR = 1e-12
"""Smallest total variance a + ν that is told apart from zero.

With a = 0 the formulas divide by √ν. At this floor a mean of 1000 gives z = 1e9, whose square is finite in float32 too,
and the step in f is 1e-6 wide. It also absorbs the slightly negative variances that float32 conditionals produce.
"""
NEAREST_VARIANCE = 2.897
"""Of the Gaussian whose CDF is nearest to the logistic function."""
PREDICTION_POINTS = 40
"""Fewest quadrature nodes in prediction, which is run once and feeds the reported nll."""
DRAWS_PER_BLOCK = 64
"""Draws held at once in prediction, so that its memory is this times the size of the means."""
ERFCX_MAP_SCALE = 3.0


@cache
def erfcx_coefficients(degree: int) -> tuple[float, ...]:
    """Power-basis coefficients of (1 + 2x) erfcx(x) in u = (x − k)/(x + k), constant term first; k ERFCX_MAP_SCALE."""

    def smooth_part(u: Array) -> Array:
        x = ERFCX_MAP_SCALE * (1 + u) / (1 - u)
        return np.asarray((1 + 2 * x) * erfcx(x))

    return tuple(float(c) for c in chebyshev.cheb2poly(chebyshev.chebinterpolate(smooth_part, degree)))


@cache
def gauss_hermite(points: int) -> tuple[Array, Array]:
    """Nodes and weights (summing to one) for expectations under the standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    return nodes, weights / np.sum(weights)


@lru_cache(maxsize=8)
def normal_draws(count: int, dimension: int, seed: int) -> Array:
    """Scrambled Sobol points mapped to the standard normal, [D, dimension], D the next power of two from `count`.

    A power of two keeps the point set balanced; the scrambling depends on `seed` alone, so predictions repeat exactly.
    """
    from scipy.stats import qmc  # a third of a second, of which most likelihoods have no need

    exponent = max(count - 1, 0).bit_length()
    uniform = qmc.Sobol(dimension, scramble=True, rng=seed).random_base2(exponent)
    half_cell = 2.0**-32
    return np.asarray(ndtri(np.clip(uniform, half_cell, 1.0 - half_cell)), dtype=np.float64)
