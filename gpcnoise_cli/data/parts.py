"""Parts of the training rows: folds for cross-validation, and rows that are kept from training.

Either way the rest is what a model is trained on, so under protocol `clean` it is scaled anew: mean and spread of rows
that are to judge a model must not reach it. Test rows stay what they are, and unseen.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.scaling import Scaler, moments
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import UsageError

Rows = NDArray[np.int64]


def keep_back(split: Split, fraction: float) -> Split:
    """`split` with the last part of its training rows as calibration rows: neither trained on nor scored."""
    if fraction == 0.0:
        return split
    kept = int(split.n_train * (1.0 - fraction))
    if not 0 < kept < split.n_train:
        raise UsageError(
            f"keeping {fraction:g} of {split.n_train} training rows for calibration leaves none on one side."
        )
    rows = np.arange(split.n_train)  # a split is shuffled, so its last rows are as good as any
    check_classes(split, rows[:kept], f"keeping {fraction:g} of the training rows for calibration")
    part = trained_on(split, rows[:kept], _some(split.weights, rows[:kept]))
    X = _as_scaled(split, part.scaler, split.X_train[kept:])
    return replace(part, X_calibration=X, y_calibration=split.y_train[kept:])


def fold_rows(split: Split, count: int) -> list[Rows]:
    """The training rows in `count` parts, with every class spread over them evenly; by the number of the split."""
    from sklearn.model_selection import StratifiedKFold

    if count > split.n_train:
        raise UsageError(f"{split.n_train} rows cannot make {count} folds; take --folds {split.n_train} or less.")
    folds = StratifiedKFold(count, shuffle=True, random_state=split.split)
    with warnings.catch_warnings():
        # Of a class with fewer rows than folds; some folds will not have one, which is all there is to it.
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = [rows for _, rows in folds.split(np.zeros(split.n_train), split.y_train)]
        except ValueError as error:
            largest = int(np.bincount(split.y_train).max())
            raise UsageError(
                f"no class has as many rows as there are folds ({count}); take --folds {largest} or less."
            ) from error
    for rows in found:
        check_classes(split, np.setdiff1d(np.arange(split.n_train), rows), f"folds={count}")
    return found


def folds_of(split: Split, count: int) -> Iterator[tuple[Rows, Split]]:
    """Each fold: its rows, and a split that has them in place of the test rows, and as calibration rows."""
    everything = np.arange(split.n_train)
    for rows in fold_rows(split, count):
        others = np.setdiff1d(everything, rows)
        part = trained_on(split, others, _some(split.weights, others))
        X, y = _as_scaled(split, part.scaler, split.X_train[rows]), split.y_train[rows]
        yield rows, replace(part, X_test=X, y_test=y, X_calibration=X, y_calibration=y)


def trained_on(split: Split, rows: Rows, weights: NDArray[np.float64] | None) -> Split:
    """`split` with some of its training rows, which count by `weights`, and scaled by them."""
    X = split.X_train
    if split.protocol == "clean":
        # Relative to the spread over all rows, which need not be one: the encoding may weigh its features.
        (mean, part), (_, whole) = moments(X[rows], weights), moments(X, split.weights)
        spread = np.where((part > 0) & (whole > 0), part / np.where(whole > 0, whole, 1.0), 1.0)
        old = split.scaler
        scaler = Scaler(old.mean + old.scale * mean, old.scale * spread)
    else:
        scaler = split.scaler
    return replace(
        split,
        X_train=_as_scaled(split, scaler, X[rows]),
        y_train=split.y_train[rows],
        X_test=_as_scaled(split, scaler, split.X_test),
        scaler=scaler,
        rows=_some(split.rows, rows),
        weights=weights,
    )


def _some(values: NDArray[Any] | None, rows: Rows) -> NDArray[Any] | None:
    return None if values is None else values[rows]


def _as_scaled(split: Split, scaler: Scaler, X: NDArray[Any]) -> NDArray[Any]:
    """Rows that are scaled as those of `split`, scaled by `scaler` instead."""
    old = split.scaler
    moved = (X - (scaler.mean - old.mean) / old.scale) / (scaler.scale / old.scale)
    return np.ascontiguousarray(moved.astype(X.dtype, copy=False))


def check_classes(split: Split, kept: Rows, what: str) -> None:
    absent = np.setdiff1d(split.y_train, split.y_train[kept])
    if len(absent):
        raise UsageError(
            f"{what} would leave no row of class {split.class_names[absent[0]]!r} to train on; take less, another "
            "--split, or merge it with another class."
        )
