"""Bounds lie below what they bound, and the tilted one above the paper's."""

from __future__ import annotations

import numpy as np

from gpcnoise_cli.figures.bounds import binary_curve, softmax_curve


def test_softmax_bounds_are_ordered() -> None:
    curve = softmax_curve(4, points=4)
    assert np.all(curve.gap("tilted") > -1e-3)  # the reference itself is sampled
    assert np.all(curve.gap("gumbel") >= curve.gap("tilted") - 1e-9)
    assert curve.gap("gumbel")[-1] > 3 * curve.gap("tilted")[-1]
    assert abs(curve.gap("gumbel")[0]) < 0.02


def test_the_binary_bounds_are_below_and_cross() -> None:
    curve = binary_curve(0.1, points=50)
    ours, hensman = curve.gap("eq_elbo_binary"), curve.gap("L_HS")
    assert min(ours.min(), hensman.min()) > -1e-9
    assert hensman[0] < ours[0]
    assert ours[-1] < hensman[-1]
