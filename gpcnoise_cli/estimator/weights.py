"""Sample and class weights of the estimator: a row that is repeated and one that has a weight are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.weights import BALANCED, balanced, class_weights

Weights = NDArray[np.float64]
# Rows are searched for repetitions up to this many of them, and put together where that spares this part of them.
MOST_SEARCHED, WORTH = 20_000, 0.25


def merged(
    X: NDArray[np.float64], y: NDArray[np.int64], weights: Weights | None
) -> tuple[NDArray[np.float64], NDArray[np.int64], Weights | None]:
    """Equal rows of one class as one row with the sum of their weights: the same bound, in fewer terms.

    Rows without weights stay as they are unless many of them are repeated.
    """
    if len(X) > MOST_SEARCHED:
        return X, y, weights
    rows, first, place = np.unique(np.column_stack([X, y]), axis=0, return_index=True, return_inverse=True)
    if weights is None and len(rows) > (1 - WORTH) * len(X):
        return X, y, None
    return X[first], y[first], np.bincount(place.ravel(), weights).astype(np.float64)


def with_classes(weights: Weights | None, given: Any, y: NDArray[np.int64], classes: NDArray[Any]) -> Weights | None:
    """The weights of rows times those of their classes: None, "balanced", or {class: weight}."""
    if given is None:
        return weights
    if isinstance(given, str) and given == BALANCED:
        factors = balanced(y, len(classes), weights)
    elif isinstance(given, dict):
        factors = class_weights(given, classes.tolist())
    else:
        raise ValueError(f"class_weight must be None, {BALANCED!r} or a dictionary {{class: weight}}, not {given!r}.")
    return factors[y] if weights is None else weights * factors[y]
