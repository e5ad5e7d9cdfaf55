"""The published figures and the verdicts of the data audit, as data files of the package.

`published.csv` is Tables III to V of the paper, one figure per line; an empty value is the paper's NA. `leaks.csv` is
what `gpcnoise data audit` says of the real files (miniboone, which could not be had, is sorted by class as a whole).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

METRICS = ("acc", "nll")
PAPER_KERNEL = "rbf"
SUM_KERNEL = "matern52+rbf"
# Columns that the paper took from other papers: their runs did not have the row number for a feature.
COPIED = ("Selu", "ORTH")
_FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class PublishedSet:
    """A set as the paper lists it; d counts the row number."""

    name: str
    n: int
    d: int
    classes: int

    @property
    def binary(self) -> bool:
        return self.classes == 2


@cache
def published_sets() -> tuple[PublishedSet, ...]:
    """The 19 sets in the paper's order: the binary ones first."""
    rows = {row["dataset"]: row for row in _rows("published.csv")}
    return tuple(PublishedSet(name, int(row["n"]), int(row["d"]), int(row["classes"])) for name, row in rows.items())


@cache
def published_figures(metric: str, kernel: str) -> dict[tuple[str, str], float]:
    """The paper's figures by set and method; what it does not print is absent.

    Selu's (a network) and ORTH's (of the other kernel) stand in the tables of the RBF kernel.
    """
    return {
        (row["dataset"], row["method"]): float(row["value"])
        for row in _rows("published.csv")
        if (row["kernel"] == kernel or (kernel == PAPER_KERNEL and row["table"].startswith("tab_UCI_")))
        and row["metric"] == metric
        and row["value"]
    }


@cache
def published_labels(metric: str | None = None) -> tuple[str, ...]:
    """The methods of Tables III and IV in the paper's order; of one metric: those that have it (Selu has no nll)."""
    asked = METRICS if metric is None else (metric,)
    return tuple(dict.fromkeys(label for one in asked for _, label in published_figures(one, PAPER_KERNEL)))


def published_rows() -> list[dict[str, str]]:
    """The lines of `published.csv` as they are."""
    return _rows("published.csv")


@cache
def leak_verdicts() -> dict[str, str]:
    """leak, weak or none, for each set."""
    return {row["dataset"]: row["verdict"] for row in _rows("leaks.csv")}


def notes_beside(protocol: str) -> tuple[str, ...]:
    """What must be said where published figures stand beside figures of `protocol`."""
    if protocol == "paper":
        return ()
    leaking = ", ".join(name for name, verdict in leak_verdicts().items() if verdict == "leak")
    return (
        "the published figures are of protocol paper, where the row number is a feature and gives the class away "
        f"({leaking}): on these sets they are no measure for protocol {protocol}.",
    )


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
