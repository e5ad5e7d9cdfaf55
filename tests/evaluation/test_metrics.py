"""Metrics against scikit-learn, against cases done by hand, and within their bounds for any input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, precision_score, recall_score, roc_auc_score

from gpcnoise_cli.evaluation.calibration import expected_calibration_error, reliability, wilson
from gpcnoise_cli.evaluation.metrics import LEAST_PROBABILITY, clip_probabilities, evaluate, standard_errors
from gpcnoise_cli.evaluation.selective import selective_curve


def draw(seed: int, n: int, classes: int, sharpness: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = sharpness * rng.normal(size=(n, classes))
    probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
    return probabilities / probabilities.sum(axis=1, keepdims=True), rng.integers(classes, size=n)


@pytest.mark.parametrize("classes", [2, 3, 26])
def test_they_equal_those_of_scikit_learn(classes: int) -> None:
    p, y = draw(classes, 300, classes, sharpness=2.0)
    metrics = evaluate(p, y)
    assert metrics.acc == 100.0 * accuracy_score(y, p.argmax(axis=1))
    assert_allclose(metrics.nll, log_loss(y, p, labels=range(classes)), rtol=1e-10)
    per_class = [brier_score_loss(y == c, p[:, c], pos_label=True) for c in range(classes)]
    assert_allclose(metrics.brier, sum(per_class), rtol=1e-10)
    ranking = [roc_auc_score(y == c, p[:, c]) for c in range(classes)]
    assert_allclose(metrics.auroc, ranking[1] if classes == 2 else np.mean(ranking), rtol=1e-10)
    predicted = p.argmax(axis=1)
    assert_allclose(metrics.per_class.precision, precision_score(y, predicted, average=None))
    assert_allclose(metrics.per_class.recall, recall_score(y, predicted, average=None))
    assert metrics.per_class.rows == np.bincount(y, minlength=classes).tolist()


def test_standard_errors_are_what_the_metrics_vary_by_on_other_rows() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(3, 2.0), size=400)

    def labels(p: np.ndarray) -> np.ndarray:
        return np.minimum((p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1), 2)

    acc, nll = standard_errors(p, labels(p))
    drawn = [evaluate(p[rows], labels(p[rows])) for rows in rng.integers(0, len(p), size=(200, len(p)))]
    assert_allclose(acc, np.std([one.acc for one in drawn]), rtol=0.15)
    assert_allclose(nll, np.std([one.nll for one in drawn]), rtol=0.15)


def test_a_case_by_hand() -> None:
    p = np.array([[0.75, 0.25], [0.25, 0.75], [0.75, 0.25], [0.5, 0.5]])
    metrics = evaluate(p, np.array([0, 1, 1, 0]))
    assert metrics.acc == 75.0
    assert_allclose(metrics.nll, -(2 * np.log(0.75) + np.log(0.25) + np.log(0.5)) / 4, rtol=1e-10)
    assert_allclose(metrics.brier, (2 * 0.125 + 1.125 + 0.5) / 4, rtol=1e-10)
    # Three predictions at 0.75, two of them right; one at 0.5, right.
    assert_allclose(metrics.ece, (3 * (0.75 - 2 / 3) + 1 * 0.5) / 4, rtol=1e-10)


def test_certain_and_right_is_the_best_there_is() -> None:
    y = np.array([0, 2, 1])
    metrics = evaluate(np.eye(3)[y], y)
    assert metrics.acc == 100.0
    assert_allclose([metrics.nll, metrics.brier, metrics.ece], 0.0, atol=1e-11)


def test_certain_and_wrong_costs_much_but_not_everything() -> None:
    metrics = evaluate(np.array([[1.0, 0.0]]), np.array([1]))
    assert_allclose(metrics.nll, -np.log(LEAST_PROBABILITY), rtol=1e-9)
    assert (metrics.acc, metrics.acc_at_80) == (0.0, 0.0)
    assert_allclose([metrics.brier, metrics.ece, metrics.ece_equal_mass], [2.0, 1.0, 1.0])


def test_chance_is_worth_log_c() -> None:
    y = np.arange(60) % 3
    metrics = evaluate(np.full((60, 3), 1 / 3), y)
    assert_allclose(metrics.nll, np.log(3), rtol=1e-12)
    assert_allclose(metrics.ece, 0.0, atol=1e-12)


def test_calibrated_predictions_have_no_calibration_error() -> None:
    """Of ten predictions at 0.6, six are right; of ten at 0.9, nine."""
    p = np.repeat([[0.6, 0.4], [0.9, 0.1]], 10, axis=0)
    y = np.array([0] * 6 + [1] * 4 + [0] * 9 + [1])
    assert_allclose(expected_calibration_error(p, y), 0.0, atol=1e-15)
    table = reliability(p, y)
    assert_allclose(table.confidence, [0.6, 0.9])
    assert_allclose(table.accuracy, [0.6, 0.9])
    assert_array_equal(table.count, [10, 10])


def test_calibration_against_a_plain_loop_over_the_bins() -> None:
    p, y = draw(4, 500, 4, sharpness=1.5)
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == y
    expected = 0.0
    for low in np.arange(15) / 15:
        inside = (confidence >= low) & (confidence < low + 1 / 15)
        if inside.any():
            expected += inside.mean() * abs(confidence[inside].mean() - correct[inside].mean())
    assert_allclose(expected_calibration_error(p, y), expected, rtol=1e-10)


@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 40),
    classes=st.integers(2, 6),
    sharpness=st.floats(0.0, 2000.0),
)
def test_whatever_the_probabilities_the_metrics_stay_within_their_bounds(
    seed: int, n: int, classes: int, sharpness: float
) -> None:
    p, y = draw(seed, n, classes, sharpness)
    metrics = evaluate(p, y)
    assert 0.0 <= metrics.acc <= 100.0
    assert 0.0 <= metrics.nll <= -np.log(LEAST_PROBABILITY / 2)
    assert 0.0 <= metrics.brier <= 2.0
    assert 0.0 <= metrics.ece <= 1.0
    assert 0.0 <= metrics.ece_equal_mass <= 1.0
    assert (metrics.auroc is None) == (len(set(y.tolist())) < classes)
    assert metrics.auroc is None or 0.0 <= metrics.auroc <= 1.0
    assert all(0.0 <= value <= 100.0 + 1e-9 for value in (metrics.acc_at_80, metrics.acc_at_90, metrics.acc_at_95))
    for equal_mass in (False, True):
        table = reliability(clip_probabilities(p), y, equal_mass=equal_mass)
        assert table.count.sum() == n
        assert_allclose(np.sum(table.count * table.accuracy), n * metrics.acc / 100)


@given(seed=st.integers(0, 2**31), size=st.floats(0.0, 3.0))
def test_clipping_gives_positive_rows_that_sum_to_one(seed: int, size: float) -> None:
    """Float32 predictions may be off by a rounding: a little negative, or summing to a little more than one."""
    p, _ = draw(seed, 8, 3, 100.0)
    rough = p.astype(np.float32) + np.float32(1e-7 * size) * np.random.default_rng(seed).normal(size=p.shape)
    clipped = clip_probabilities(rough)
    assert clipped.dtype == np.float64
    assert_allclose(clipped.sum(axis=1), 1.0, rtol=1e-15)
    assert np.all(clipped >= LEAST_PROBABILITY * (1 - 1e-6))
    assert_allclose(clipped, p, atol=2e-6)


def test_equal_mass_against_a_plain_loop_over_the_sorted_rows() -> None:
    p, y = draw(5, 450, 4, sharpness=1.5)
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.array_split(np.argsort(confidence), 15)
    gaps = [abs(confidence[rows].mean() - correct[rows].mean()) for rows in bins]
    assert_allclose(expected_calibration_error(p, y, equal_mass=True), np.mean(gaps), rtol=1e-10)
    assert reliability(p, y, equal_mass=True).count.tolist() == [30] * 15


@given(seed=st.integers(0, 2**31), n=st.integers(1, 30), classes=st.integers(2, 4), levels=st.integers(1, 5))
def test_ties_make_neither_depend_on_the_order_of_rows(seed: int, n: int, classes: int, levels: int) -> None:
    """Few levels of confidence, so that bins and coverages end in the middle of rows that are equally confident."""
    p, y = draw(seed, n, classes)
    p = p[np.arange(n) % min(levels, n)]
    order = np.random.default_rng(seed).permutation(n)
    once, again = evaluate(p, y), evaluate(p[order], y[order])
    assert_allclose(once.ece_equal_mass, again.ece_equal_mass, atol=1e-12)
    assert_allclose(selective_curve(p, y).accuracy, selective_curve(p[order], y[order]).accuracy, atol=1e-12)


@given(seed=st.integers(0, 2**31), n=st.integers(1, 60), classes=st.integers(2, 5), coverage=st.integers(1, 100))
def test_selective_accuracy_against_brute_force(seed: int, n: int, classes: int, coverage: int) -> None:
    """Without ties: keep the most confident rows until `coverage` percent are kept."""
    p, y = draw(seed, n, classes)
    order = np.argsort(-p.max(axis=1))
    kept = next(rows for rows in range(1, n + 1) if 100 * rows >= coverage * n)
    expected = 100.0 * np.mean((p.argmax(axis=1) == y)[order[:kept]])
    assert_allclose(selective_curve(p, y).at(coverage), expected, rtol=1e-12, atol=1e-12)


def test_selective_accuracy_by_hand() -> None:
    """Ten rows, the least confident one wrong: at 90% and below all are right."""
    confidence = np.linspace(0.55, 0.99, 10)
    p = np.column_stack([confidence, 1 - confidence])
    metrics = evaluate(p, np.array([1] + [0] * 9))
    assert (metrics.acc, metrics.acc_at_95, metrics.acc_at_90, metrics.acc_at_80) == (90.0, 90.0, 100.0, 100.0)


@given(seed=st.integers(0, 2**31), n=st.integers(2, 25))
def test_auroc_is_the_chance_of_the_right_order(seed: int, n: int) -> None:
    p, y = draw(seed, n, 2)
    p = np.column_stack([1 - p[:, 1].round(1), p[:, 1].round(1)])  # ties count one half
    above, below = p[y == 1, 1], p[y == 0, 1]
    found = evaluate(p, y).auroc
    if len(above) and len(below):
        difference = above[:, None] - below[None, :]
        assert_allclose(found, np.mean((difference > 1e-9) + 0.5 * (np.abs(difference) <= 1e-9)), atol=1e-12)
    else:
        assert found is None


def test_what_a_test_set_cannot_tell_is_none() -> None:
    metrics = evaluate(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]), np.array([0, 0]))
    assert metrics.auroc is None
    assert metrics.per_class.precision == [1.0, 0.0, None]
    assert metrics.per_class.recall == [0.5, None, None]
    assert metrics.per_class.rows == [2, 0, 0]


def test_wilson_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Averaged over all outcomes, 95% give or take what whole numbers allow; and never outside of [0, 1]."""
    n = 20
    low, high = wilson(np.arange(n + 1) / n, n)
    assert np.all((low >= 0) & (high <= 1) & (low < high))
    for p in (0.1, 0.5, 0.8):
        holds = (low <= p) & (p <= high)
        assert 0.92 < np.sum(binom.pmf(np.arange(n + 1), n, p)[holds]) < 0.99
    assert_allclose((low[0], high[0]), (0.0, 0.1611), atol=5e-5)  # none of twenty


def test_the_bins_of_a_reliability_table_have_intervals() -> None:
    p, y = draw(0, 300, 3)
    table = reliability(p, y)
    low, high = table.interval
    assert np.all((low <= table.accuracy + 1e-12) & (table.accuracy <= high + 1e-12))
