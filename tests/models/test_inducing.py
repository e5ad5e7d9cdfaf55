"""Inducing points start at the centres of k-means: as many as asked for, distinct, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.models import inducing
from gpcnoise_cli.models.inducing import start_inducing_points


def test_as_many_centres_as_asked_for_in_the_space_of_the_rows() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3)).astype(np.float32)
    Z = start_inducing_points(X, 12, seed=0)
    assert Z.shape == (12, 3)
    assert Z.dtype == np.float64
    assert np.all(np.abs(Z) <= 1.0)
    assert pdist(Z).min() > 0.05


def test_clusters_are_found() -> None:
    rng = np.random.default_rng(1)
    corners = np.array([[-5.0, -5.0], [-5.0, 5.0], [5.0, -5.0], [5.0, 5.0]])
    X = np.repeat(corners, 50, axis=0) + 0.1 * rng.normal(size=(200, 2))
    assert cdist(corners, start_inducing_points(X, 4, seed=0)).min(axis=1).max() < 0.1


def test_the_same_seed_gives_the_same_centres() -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    first = start_inducing_points(X, 20, seed=5)
    assert_array_equal(first, start_inducing_points(X, 20, seed=5))
    assert not np.array_equal(first, start_inducing_points(X, 20, seed=6))


def test_one_point_per_row_is_allowed() -> None:
    X = np.random.default_rng(0).normal(size=(10, 2))
    Z = start_inducing_points(X, 10, seed=0)
    assert_allclose(np.sort(Z, axis=0), np.sort(X, axis=0), atol=1e-12)


def test_more_points_than_rows_are_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="11 inducing points are more than the 10 training rows; choose --inducing 10"):
        start_inducing_points(np.zeros((10, 2)), 11, seed=0)


@pytest.mark.parametrize("start", ["minibatch", "scipy"])
@pytest.mark.parametrize("distinct", [1, 3])
def test_repeated_rows_give_centres_apart(distinct: int, start: str) -> None:
    """Fewer different rows than centres: coinciding centres would make the kernel matrix singular."""
    X = np.tile(np.random.default_rng(0).normal(size=(distinct, 2)), (20, 1))
    Z = start_inducing_points(X, 8, seed=0, start=start)
    assert Z.shape == (8, 2)
    assert np.all(np.isfinite(Z))
    assert pdist(Z).min() > 1e-6
    assert cdist(Z, X).min(axis=1).max() < 0.02


def test_the_best_of_several_starts_fits_no_worse_and_is_the_same_again() -> None:
    X = np.random.default_rng(1).normal(size=(300, 2))
    one, best = (start_inducing_points(X, 25, seed=4, start=start) for start in ("minibatch", "scipy"))
    assert_array_equal(best, start_inducing_points(X, 25, seed=4, start="scipy"))
    spread_one, spread_best = (cdist(X, Z).min(axis=1).mean() for Z in (one, best))
    assert spread_best < 1.02 * spread_one


def test_a_large_set_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limit at 100 rows, centres of 10,000 rows take no longer and still cover them."""
    monkeypatch.setattr(inducing, "LEAST_ROWS", 100)
    monkeypatch.setattr(inducing, "MOST_ROWS", 100)
    seen = []
    original = np.asarray

    def watched(values: np.ndarray, *args: object, **options: object) -> np.ndarray:
        seen.append(len(values))
        return original(values, *args, **options)

    X = np.random.default_rng(0).normal(size=(10_000, 2))
    monkeypatch.setattr(inducing.np, "asarray", watched)
    Z = start_inducing_points(X, 10, seed=0)
    monkeypatch.undo()
    assert max(seen) == 100
    assert Z.shape == (10, 2)
    assert Z.std() == pytest.approx(1.0, abs=0.6)
