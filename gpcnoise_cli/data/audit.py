"""The audit: how well does the row number alone predict the class?

Several files of the archive are sorted by class, and the paper kept the row number as a feature. For each test row the
20 training rows with the nearest numbers vote; the accuracy of that vote, averaged over the ten splits of the protocol,
is set against the share of the largest class. A set whose rows stand in no order scores no better than that share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.delgado import read_archive_set
from gpcnoise_cli.data.folder import is_present
from gpcnoise_cli.data.generators import generate
from gpcnoise_cli.data.registry import UCI_NAMES, DatasetSpec, get_spec
from gpcnoise_cli.data.split import shuffled_rows
from gpcnoise_cli.errors import UsageError

NUM_NEIGHBOURS = 20
NUM_SPLITS = 10
LEAK_POINTS = 10.0  # percentage points above the largest class from which on it is called a leak
WEAK_POINTS = 2.0  # and from which on a weak one; below, none


@dataclass(frozen=True)
class Audit:
    """One set's figures, in percent; None where the set is not here."""

    dataset: str
    source: str | None
    vote: float | None
    majority: float | None
    verdict: str  # leak | weak | none | not here

    @property
    def gain(self) -> float | None:
        return None if self.vote is None or self.majority is None else self.vote - self.majority


def verdict_of(gain: float) -> str:
    return "leak" if gain >= LEAK_POINTS else "weak" if gain >= WEAK_POINTS else "none"


def audit_sets(names: tuple[str, ...] = ()) -> list[Audit]:
    """The audit of the named sets, of all 19 of the archive where none is named."""
    specs = [get_spec(name) for name in names or UCI_NAMES]
    for spec in specs:
        if spec.kind != "uci":
            raise UsageError(f"{spec.name!r} has no row number to audit; the sets of the archive have.")
    return [audit_set(spec) for spec in specs]


def audit_set(spec: DatasetSpec) -> Audit:
    if not is_present(spec) and not spec.generated:
        return Audit(spec.name, None, None, None, "not here")
    table = read_archive_set(spec, row_number=True) if is_present(spec) else generate(spec.name, row_number=True)
    return audit_column(spec.name, table.source, table.X[:, 0], table.y, len(table.class_names))


def audit_column(name: str, source: str, number: NDArray[np.float64], y: NDArray[np.int64], num_classes: int) -> Audit:
    """What one column of numbers gives away."""
    vote, majority = 100.0 * vote_accuracy(number, y, num_classes), 100.0 * float(np.bincount(y).max()) / len(y)
    return Audit(name, source, vote, majority, verdict_of(vote - majority))


def vote_accuracy(number: NDArray[np.float64], y: NDArray[np.int64], num_classes: int) -> float:
    """The accuracy of the vote on the test rows, averaged over the splits."""
    n_train = int(len(y) * 0.9)
    scores = []
    for split in range(NUM_SPLITS):
        rows = shuffled_rows(len(y), split)
        train, test = rows[:n_train], rows[n_train:]
        voted = nearest_vote(number[train], y[train], number[test], num_classes)
        scores.append(float(np.mean(voted == y[test])))
    return float(np.mean(scores))


def nearest_vote(
    number: NDArray[np.float64], y: NDArray[np.int64], asked: NDArray[np.float64], num_classes: int
) -> NDArray[np.int64]:
    """The class most common among the rows with the nearest numbers; ties go to the smaller class."""
    order = np.argsort(number, kind="stable")
    number, y = number[order], y[order]
    # The nearest k of a sorted list are among the k before and the k after the place of the asked number.
    place = np.searchsorted(number, asked)[:, None] + np.arange(-NUM_NEIGHBOURS, NUM_NEIGHBOURS)
    inside = (place >= 0) & (place < len(number))
    place = np.clip(place, 0, len(number) - 1)
    distance = np.where(inside, np.abs(number[place] - asked[:, None]), np.inf)
    nearest = np.take_along_axis(place, np.argsort(distance, axis=1, kind="stable")[:, :NUM_NEIGHBOURS], axis=1)
    votes = np.zeros((len(asked), num_classes), dtype=np.int64)
    np.add.at(votes, (np.arange(len(asked))[:, None], y[nearest]), 1)
    return votes.argmax(axis=1)
