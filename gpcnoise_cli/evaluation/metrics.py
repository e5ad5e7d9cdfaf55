"""How good a table of class probabilities is: accuracy, likelihood, calibration, ranking, and each class by itself.

One set of functions for every command. Probabilities are [n, C], labels 0..C−1. What a test set cannot tell, such as
the recall of a class that is not in it, is None.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.evaluation.calibration import Labels, Probabilities, expected_calibration_error
from gpcnoise_cli.evaluation.selective import selective_curve

LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True)
class PerClass:
    """One value per class, in the order of the class numbers."""

    precision: list[float | None]  # right among those predicted as this class; None where none was
    recall: list[float | None]  # found among the rows of this class; None where there is none
    rows: list[int]


@dataclass(frozen=True)
class Metrics:
    acc: float  # percent
    nll: float  # mean, nats
    brier: float  # mean squared distance to the one-hot label, 0..2
    ece: float  # expected calibration error of the predicted class, 0..1, bins of equal width
    ece_equal_mass: float  # the same with as many rows in each bin
    auroc: float | None  # of class 1, or the mean of each class against the rest; None where a class is absent
    acc_at_80: float  # percent, of the 80% most confident rows
    acc_at_90: float
    acc_at_95: float
    per_class: PerClass


def clip_probabilities(probabilities: NDArray[np.floating]) -> Probabilities:
    """Into [1e-12, 1] and summing to one, so that one confident mistake cannot make the mean infinite."""
    clipped = np.clip(np.asarray(probabilities, dtype=np.float64), LEAST_PROBABILITY, 1.0)
    return clipped / clipped.sum(axis=1, keepdims=True)


def evaluate(probabilities: NDArray[np.floating], y: Labels) -> Metrics:
    """All metrics of one test set."""
    p = clip_probabilities(probabilities)
    rows = np.arange(len(p))
    one_hot = np.zeros_like(p)
    one_hot[rows, y] = 1.0
    selective = selective_curve(p, y)
    return Metrics(
        acc=float(100.0 * np.mean(p.argmax(axis=1) == y)),
        nll=float(-np.mean(np.log(p[rows, y]))),
        brier=float(np.mean(np.sum((p - one_hot) ** 2, axis=1))),
        ece=expected_calibration_error(p, y),
        ece_equal_mass=expected_calibration_error(p, y, equal_mass=True),
        auroc=area_under_roc(p, y),
        acc_at_80=selective.at(80),
        acc_at_90=selective.at(90),
        acc_at_95=selective.at(95),
        per_class=per_class(p.argmax(axis=1), y, p.shape[1]),
    )


def standard_errors(probabilities: NDArray[np.floating], y: Labels) -> tuple[float, float]:
    """Of accuracy (percent) and nll, over the rows: what they would vary by on other rows of the same kind."""
    p = clip_probabilities(probabilities)
    per_row = 100.0 * (p.argmax(axis=1) == y), np.log(p[np.arange(len(p)), y])
    acc, nll = (float(np.std(values, ddof=1)) / np.sqrt(len(y)) for values in per_row)
    return acc, nll


def area_under_roc(probabilities: Probabilities, y: Labels) -> float | None:
    """The chance that a row of the class is ranked above one of the rest; the mean over classes if they are many."""
    from sklearn.metrics import roc_auc_score

    classes = probabilities.shape[1]
    if len(np.unique(y)) < classes:
        return None
    if classes == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(roc_auc_score(y, probabilities, multi_class="ovr", average="macro"))


def per_class(predicted: Labels, y: Labels, classes: int) -> PerClass:
    """Precision and recall of every class."""
    from sklearn.metrics import precision_recall_fscore_support

    precision, recall, _, rows = precision_recall_fscore_support(
        y, predicted, labels=np.arange(classes), average=None, zero_division=np.nan
    )
    return PerClass(_known(precision), _known(recall), [int(count) for count in rows])


def _known(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
