"""Decisions by cost: of all that may be done with a row, what costs least on average under its class probabilities.

A table of costs has a line for each class and a column for each decision. Decisions are usually the classes, with
nothing to pay on the diagonal; there may be others, such as having a person look at the row for a fixed price.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import UsageError, nearest
from gpcnoise_cli.evaluation.calibration import Probabilities
from gpcnoise_cli.files import json_or_file

EXAMPLE = """'{"yes": {"no": 5}, "no": {"yes": 1}}'"""


@dataclass(frozen=True)
class Costs:
    """What decision a costs where the class is c: `matrix[c, a]`."""

    decisions: tuple[Any, ...]
    matrix: NDArray[np.float64]  # [C, A]

    def decide(self, probabilities: Probabilities) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The cheapest decision of each row, by its number, and what it costs on average."""
        expected = probabilities @ self.matrix
        return expected.argmin(axis=1), expected.min(axis=1)


def read_costs(given: str, class_names: Sequence[Any]) -> Costs:
    """From a JSON text, or from a CSV or JSON file.

    JSON: {class: {decision: cost, …}, …}; a number in place of the inner part is the cost of any wrong class. CSV: the
    classes in the first column, a further column for each decision. What a class costs that is decided rightly is 0
    unless it is given; every other cost must be given.
    """
    text = json_or_file(given, "costs", f"a file, or JSON such as {EXAMPLE}")
    stored = _from_json(text, given) if text.lstrip().startswith("{") else _from_csv(text, given)
    return _complete(stored, class_names)


def _from_json(text: str, given: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise UsageError(
            f"the costs {_short(given)} are no JSON ({error}); expected something like {EXAMPLE}."
        ) from error


def _from_csv(text: str, given: str) -> dict[str, Any]:
    lines = [line for line in csv.reader(io.StringIO(text)) if any(field.strip() for field in line)]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise UsageError(
            f"the costs {_short(given)} have no decisions; expected a line of names, then a line for each class."
        )
    head, found = lines[0][1:], {}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(lines[0]):
            raise UsageError(f"line {number} of the costs {given} has {len(line)} fields, not {len(lines[0])}.")
        found[line[0]] = {name: value for name, value in zip(head, line[1:], strict=True) if value.strip()}
    return found


def _complete(stored: Mapping[str, Any], class_names: Sequence[Any]) -> Costs:
    names = [str(name) for name in class_names]
    for name in stored:
        if name not in names:
            close = nearest(name, names, most=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise UsageError(f"the costs name the class {name!r}; {hint}the model has: {', '.join(names)}.")
    missing = [name for name in names if name not in stored]
    if missing:
        raise UsageError(f"the costs say nothing of the class {missing[0]!r}; give a line for each class.")
    others = {one: None for line in stored.values() if isinstance(line, Mapping) for one in line if one not in names}
    decisions = (*names, *others)
    matrix = np.array([[_cost(stored[name], name, decision) for decision in decisions] for name in names])
    return Costs((*class_names, *others), matrix)


def _cost(line: Any, name: str, decision: str) -> float:
    right = 0.0 if decision == name else None
    value = line.get(decision, right) if isinstance(line, Mapping) else line if right is None else right
    if value is None:
        raise UsageError(f"the costs do not say what it costs to decide {decision!r} where the class is {name!r}.")
    try:
        cost = float(value)
    except (TypeError, ValueError):
        cost = math.nan
    if not math.isfinite(cost):
        raise UsageError(
            f"the cost of deciding {decision!r} where the class is {name!r} must be a number, not {value!r}."
        )
    return cost


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"
