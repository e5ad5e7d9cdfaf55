"""Prediction sets hold the true class as often as they promise, whatever the model is worth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.evaluation.conformal import (
    coverage_of,
    least_probability,
    prediction_sets,
    rank_for,
    rows_needed,
)


def labelled(rng: np.random.Generator, n: int, classes: int, sharpness: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose classes follow softmax(scores), and a model that is too sure of itself, or not sure enough."""
    scores = 1.5 * rng.normal(size=(n, classes))
    truth = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    told = np.exp(sharpness * scores) / np.exp(sharpness * scores).sum(axis=1, keepdims=True)
    return told, (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_they_cover_what_they_promise(level: float, sharpness: float) -> None:
    """Each repetition has held-out rows and one new row of its own, so the hits are binomial: no other tolerance."""
    rng, repetitions, n = np.random.default_rng(1), 1500, 59
    hits = 0
    for _ in range(repetitions):
        p, y = labelled(rng, n + 1, 4, sharpness)
        sets = prediction_sets(p[n:], least_probability(p[:n], y[:n], level))
        hits += int(sets[0, y[n]])
    assert hits >= binom.ppf(1e-4, repetitions, level)


def test_they_do_not_cover_more_than_they_must_where_the_model_is_often_wrong() -> None:
    """No set would be empty here, so the coverage is k/(n + 1) exactly."""
    rng, repetitions, n, level = np.random.default_rng(2), 1500, 19, 0.9
    hits = 0
    for _ in range(repetitions):
        p, y = labelled(rng, n + 1, 6, 0.5)
        hits += int(prediction_sets(p[n:], least_probability(p[:n], y[:n], level))[0, y[n]])
    assert rank_for(n, level) / (n + 1) == level
    assert binom.ppf(1e-4, repetitions, level) <= hits <= binom.ppf(1 - 1e-4, repetitions, level)


def test_a_set_is_never_empty_and_holds_the_most_probable_class() -> None:
    sets = prediction_sets(np.array([[0.4, 0.35, 0.25], [0.9, 0.08, 0.02]]), 0.95)
    assert sets.tolist() == [[True, False, False], [True, False, False]]


def test_too_few_held_out_rows_leave_no_class_out() -> None:
    p, y = np.array([[0.9, 0.1]] * 8), np.zeros(8, dtype=int)
    assert rows_needed(0.9) == 9
    assert least_probability(p, y, 0.9) == 0.0
    assert prediction_sets(np.array([[1.0, 0.0]]), 0.0).all()
    assert least_probability(np.array([[0.9, 0.1]] * 9), np.zeros(9, dtype=int), 0.9) == 0.9


def test_coverage_by_hand() -> None:
    sets = np.array([[True, False], [True, True], [False, True], [True, False]])
    found = coverage_of(sets, np.array([0, 1, 0, 0]), 0.9)
    assert (found.coverage, found.mean_size, found.singletons) == (0.75, 1.25, 0.75)
    assert 0.30 < found.low < 0.75 < found.high < 0.96


@pytest.mark.parametrize("level", [0.0, 1.0, 90.0, float("nan")])
def test_a_level_that_cannot_be_meant_is_refused(level: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        least_probability(np.array([[0.5, 0.5]]), np.array([0]), level)
