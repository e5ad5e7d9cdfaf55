"""Weights: how many rows a training row stands for.

A row of weight 2 counts as two such rows in everything that training does: the bound, the scaling, the starts and the
end of a run. Weights are not brought to a mean of one; doubling all of them is having twice the data. A row of weight 0
is left out. Class weights multiply the weights of the rows of a class; `balanced` gives each class the same total.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.parts import check_classes, trained_on
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import UsageError, nearest
from gpcnoise_cli.files import json_or_file

BALANCED = "balanced"
Weights = NDArray[np.float64]


def weighted(split: Split, weights: Weights | None, of_classes: Weights | None = None) -> Split:
    """`split` with these weights of its training rows, [n] and [C]; scaled by them, and without rows of weight 0."""
    if weights is None and of_classes is None:
        return split
    weights = np.ones(split.n_train) if weights is None else weights
    weights = weights if of_classes is None else weights * of_classes[split.y_train]
    if np.all(weights == 1.0):
        return split
    rows = np.flatnonzero(weights > 0)
    check_classes(split, rows, "leaving out the rows of weight 0")
    return trained_on(split, rows, weights[rows])


def balanced(y: NDArray[np.integer], classes: int, weights: Weights | None = None) -> Weights:
    """[C], such that all classes have the same total, and all of them together what they had."""
    totals = np.bincount(y, weights, minlength=classes).astype(np.float64)
    return np.sum(totals) / (classes * np.where(totals > 0, totals, 1.0))


def read_class_weights(
    given: str, class_names: Sequence[Any], y: NDArray[np.integer], weights: Weights | None = None
) -> Weights:
    """[C] from what `spelled_out` gives; a class that is not named has the weight 1."""
    if given == BALANCED:
        return balanced(y, len(class_names), weights)
    return class_weights(json.loads(spelled_out(given)), class_names)


def spelled_out(given: str) -> str:
    """`balanced`, or {class: weight} as JSON: the text itself, or from a JSON or CSV file (class, weight)."""
    if given == BALANCED:
        return given
    text = json_or_file(given, "class weights", f"""{BALANCED}, a file, or JSON such as '{{"yes": 5, "no": 1}}'""")
    try:
        return json.dumps(json.loads(text) if text.lstrip().startswith("{") else _lines(text))
    except ValueError as error:
        raise UsageError(
            f"the class weights {given[:60]!r} cannot be read ({error}); expected {{class: weight}}."
        ) from error


def class_weights(stored: Mapping[Any, Any], class_names: Sequence[Any]) -> Weights:
    names = [str(name) for name in class_names]
    found = np.ones(len(names))
    for name, value in stored.items():
        if str(name) not in names:
            close = nearest(str(name), names, most=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise UsageError(f"the class weights name the class {name!r}; {hint}the data have: {', '.join(names)}.")
        try:
            weight = float(value)
        except (TypeError, ValueError):
            weight = math.nan
        if not (math.isfinite(weight) and weight > 0):
            raise UsageError(f"the weight of class {name!r} must be a number greater than 0, not {value!r}.")
        found[names.index(str(name))] = weight
    return found


def _lines(text: str) -> dict[str, str]:
    """The lines `class,weight` of a CSV; a first line without a number is a heading."""
    lines = [line for line in csv.reader(io.StringIO(text)) if any(field.strip() for field in line)]
    for line in lines:
        if len(line) != 2:
            raise ValueError(f"a line has {len(line)} fields, not a class and its weight")
    try:
        float(lines[0][1])
    except (ValueError, IndexError):
        lines = lines[1:]
    return dict(lines)
