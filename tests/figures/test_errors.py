"""App. A: the best noise variance is found, not written down."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, ndtr

from gpcnoise_cli.figures.errors import compute, largest_difference
from gpcnoise_cli.figures.experiment import Settings
from gpcnoise_cli.figures.runs import Runs


def test_the_best_variance_equalises_the_two_extreme_differences(runs: Runs) -> None:
    result = compute(Settings(), runs)
    assert result.best_a == pytest.approx(2.897, abs=2e-3)
    assert result.best_difference == pytest.approx(0.0095, abs=1e-4)
    x = np.linspace(0.0, 12.0, 200_001)
    signed = ndtr(x / np.sqrt(result.best_a)) - expit(x)
    assert signed.max() == pytest.approx(-signed.min(), rel=1e-4)  # a minimax fit has two equal peaks
    assert result.second_moment_difference > 2 * result.best_difference
    assert result.gumbel_centred[1] > result.gumbel_shifted[2] > result.best_difference


def test_the_largest_difference_is_not_missed_between_grid_points() -> None:
    value, where = largest_difference(expit, 0.0, 2.0)
    x = np.linspace(-15, 15, 3_000_001)
    assert value == pytest.approx(np.abs(ndtr(x / np.sqrt(2.0)) - expit(x)).max(), abs=1e-9)
    assert abs(abs(where) - 2.5) < 2.0
