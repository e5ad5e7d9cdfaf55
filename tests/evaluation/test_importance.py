"""Which columns matter: those that decide, and no others."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from gpcnoise_cli.evaluation.familiarity import far_beyond, openness
from gpcnoise_cli.evaluation.importance import LEAST_ROWS, ard_relevance, permutation_importance

GROUPS = {"decides": [0], "colour": [1, 2], "idle": [3]}


def rows(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[:, 1] = X[:, 2] = rng.integers(2, size=n)  # a category of two levels
    X[:, 2] = 1 - X[:, 1]
    return X, (2 * X[:, 0] + X[:, 1] > 0.5).astype(int)


def by_hand(X: np.ndarray) -> np.ndarray:
    second = 1 / (1 + np.exp(-8 * (2 * X[:, 0] + 0.5 * (X[:, 1] - X[:, 2] + 1) - 0.5)))
    return np.stack([1 - second, second], axis=1)


def test_what_decides_comes_first_and_what_is_not_looked_at_is_worth_nothing() -> None:
    X, y = rows()
    found = permutation_importance(by_hand, X, y, GROUPS)
    assert [one.column for one in found] == ["decides", "colour", "idle"]
    assert found[0].nll > found[1].nll > 5 * found[1].nll_error > 0
    assert found[0].acc > found[1].acc > 0
    assert_allclose([found[2].nll, found[2].acc, found[2].nll_error], 0.0, atol=1e-12)


def test_the_features_of_a_column_are_dealt_out_together() -> None:
    """Half a category would be a level that no row has."""
    X, y = rows()
    seen = []

    def predict(X: np.ndarray) -> np.ndarray:
        seen.append(X)
        return by_hand(X)

    permutation_importance(predict, X, y, GROUPS)
    assert all(np.all(one[:, 1] + one[:, 2] == 1) for one in seen)


def test_many_rows_are_sampled() -> None:
    X, y = rows()
    sizes = set()

    def predict(X: np.ndarray) -> np.ndarray:
        sizes.add(len(X))
        return by_hand(X)

    permutation_importance(predict, X, y, GROUPS, most_predictions=0)
    assert sizes == {LEAST_ROWS}


def test_relevance_is_the_part_of_a_column_in_the_kernels_distances() -> None:
    X, _ = rows()
    X = X / X.std(axis=0)
    parameters = {"kernel.lengthscales": [1.0, 2.0, 2.0, 10.0], "kernel.variance": 5.0, "delta": None}
    found = ard_relevance(parameters, X, GROUPS)
    assert found is not None
    total = 1 + 2 / 4 + 1 / 100
    assert_allclose([found["decides"], found["colour"], found["idle"]], np.array([1, 0.5, 0.01]) / total)


def test_relevance_of_kernels_of_their_own_and_of_sums() -> None:
    X, _ = rows()
    X = X / X.std(axis=0)
    lengths = [[1.0, 1e9, 1e9, 1e9], [1e9, 1e9, 1e9, 0.1]]
    found = ard_relevance({"kernel.stack.lengthscales": lengths, "kernel.stack.variance": [5.0, 1.0]}, X, GROUPS)
    assert found is not None
    assert_allclose([found["decides"], found["idle"]], [0.5, 0.5])  # classes count alike
    parts = {
        "kernel.kernels[0].lengthscales": [1.0, 1e9, 1e9, 1e9],
        "kernel.kernels[0].variance": 3.0,
        "kernel.kernels[1].lengthscales": [1e9, 1e9, 1e9, 1.0],
        "kernel.kernels[1].variance": 1.0,
    }
    found = ard_relevance(parts, X, GROUPS)
    assert found is not None
    assert_allclose([found["decides"], found["idle"]], [0.75, 0.25])


def test_one_lengthscale_for_all_tells_nothing() -> None:
    X, _ = rows()
    assert ard_relevance({"kernel.lengthscales": 2.0, "kernel.variance": 5.0}, X, GROUPS) is None
    assert ard_relevance({}, X, GROUPS) is None


def test_far_is_what_hardly_a_held_out_row_is() -> None:
    held_out = np.linspace(0.0, 1.0, 201)
    assert far_beyond(held_out) == held_out[199]  # the 200th of 201: 99% of 202, rounded up
    assert far_beyond(np.array([0.2, 0.4])) == 0.4
    assert_allclose(openness(np.array([[1.0, 3.0]]), np.array([2.0, 4.0])), [0.625])
