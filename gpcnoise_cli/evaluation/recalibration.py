"""Probabilities corrected by what became of held-out rows: beta calibration, or Venn–Abers.

Beta calibration (Kull, Silva Filho and Flach, 2017) fits log odds = a ln p − b ln(1 − p) + c with a, b ≥ 0, the shape
that two Beta distributions of scores have: three numbers, for which a hundred rows are enough, and the identity
(a = b = 1, c = 0) is among them. Venn–Abers (Vovk and Petej, 2014) makes no such assumption: an isotonic fit to the
held-out rows and the new one, once with each label, gives p₀ and p₁, and of them p = p₁/(1 − p₀ + p₁). It wants more
rows.

More than two classes are each corrected against the rest, and the results are divided by their sum. A model that is
calibrated already gains nothing: `gain` asks the held-out rows, each fifth corrected by what became of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.evaluation.calibration import Labels, Probabilities
from gpcnoise_cli.evaluation.metrics import clip_probabilities

Vector = NDArray[np.float64]
Correct = Callable[[Vector], Vector]
Correction = Callable[[Probabilities], Probabilities]

# Whether it helps is asked of this many rows at most, each corrected by those of the other parts.
PARTS, MOST_ROWS = 5, 1000
# Weak, so that labels which one threshold tells apart do not send the slopes to infinity.
PENALTY = 1e-3


def fit_beta(p: Vector, hit: Vector) -> Correct:
    """From probabilities of one class and whether (1 or 0) it was the one."""
    from scipy.optimize import minimize

    features, start = _log_odds(p), np.array([1.0, 1.0, 0.0])

    def loss(weights: Vector) -> tuple[float, Vector]:
        odds = features @ weights
        away = weights - start
        value = np.sum(np.logaddexp(0.0, odds) - hit * odds) + PENALTY * np.sum(away**2)
        return float(value), features.T @ (_sigmoid(odds) - hit) + 2 * PENALTY * away

    bounds = [(0.0, None), (0.0, None), (None, None)]
    weights = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return lambda new: _sigmoid(_log_odds(new) @ weights)


def fit_venn_abers(p: Vector, hit: Vector) -> Correct:
    """The same, with an isotonic regression for every place that a new score can have among the old ones."""
    from sklearn.isotonic import isotonic_regression

    scores, place_of = np.unique(p, return_inverse=True)
    hits, rows = np.bincount(place_of, weights=hit), np.bincount(place_of).astype(np.float64)

    @cache
    def with_one_more(place: int, label: float) -> float:
        """The fitted value of a new row: at even places between two scores, at odd ones on a score."""
        at = place // 2
        if place % 2:
            total, count = hits.copy(), rows.copy()
            total[at] += label
            count[at] += 1
        else:
            total, count = np.insert(hits, at, label), np.insert(rows, at, 1.0)
        return float(isotonic_regression(total / count, sample_weight=count)[at])

    def correct(new: Vector) -> Vector:
        left, right = np.searchsorted(scores, new, "left"), np.searchsorted(scores, new, "right")
        places, which = np.unique(left + right, return_inverse=True)  # 2·at between scores, 2·at + 1 on one
        both = np.array([[with_one_more(int(place), label) for label in (0.0, 1.0)] for place in places])
        return (both[:, 1] / (1 - both[:, 0] + both[:, 1]))[which]

    return correct


WAYS: dict[str, Callable[[Vector, Vector], Correct]] = {"beta": fit_beta, "venn-abers": fit_venn_abers}


def fit_correction(way: str, held_out: Probabilities, y: Labels) -> Correction:
    """What turns class probabilities [n, C] into corrected ones."""
    classes = held_out.shape[1]
    if classes == 2:
        correct = WAYS[way](held_out[:, 1], (y == 1).astype(np.float64))

        def binary(p: Probabilities) -> Probabilities:
            second = correct(p[:, 1])
            return clip_probabilities(np.stack([1 - second, second], axis=1))

        return binary
    each = [WAYS[way](held_out[:, c], (y == c).astype(np.float64)) for c in range(classes)]
    return lambda p: clip_probabilities(np.stack([correct(p[:, c]) for c, correct in enumerate(each)], axis=1))


def gain(way: str, held_out: Probabilities, y: Labels) -> tuple[float, float]:
    """The mean nll of the held-out rows as they are, and corrected by rows other than themselves."""
    rng = np.random.default_rng(0)
    asked = rng.permutation(len(y))[:MOST_ROWS]
    held_out, y = held_out[asked], y[asked]
    parts = rng.permutation(np.arange(len(y)) % min(PARTS, len(y)))
    corrected = np.empty_like(held_out)
    for part in np.unique(parts):
        inside = parts == part
        corrected[inside] = fit_correction(way, held_out[~inside], y[~inside])(held_out[inside])
    rows = np.arange(len(y))
    before, after = (-np.mean(np.log(clip_probabilities(p)[rows, y])) for p in (held_out, corrected))
    return float(before), float(after)


def _log_odds(p: Vector) -> Vector:
    """ln p, −ln(1 − p) and 1: what the log odds are a sum of."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)], axis=1)


def _sigmoid(x: Vector) -> Vector:
    from scipy.special import expit

    return np.asarray(expit(x), dtype=np.float64)
