"""What the paper claims, as data: each figure of Tables II to V, and what the text says of them and beside them.

Tables III to V are `tables/published.csv`. `averages.csv` holds Table II and the last lines of Table V,
`statements.csv` the text: where it stands (a label or section of the paper), what it says, how it is checked, the
margin, and the command that computes it. The paper prints no spreads.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpcnoise_cli.claims.margins import margin_of
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS
from gpcnoise_cli.methods.registry import METHODS
from gpcnoise_cli.tables.published import PAPER_KERNEL, published_rows, published_sets

_TABLES = {"tab_UCI_acc": "III", "tab_UCI_nll": "IV", "tab_GPCnoise": "V"}
TABLES = ("II", *_TABLES.values(), "text")
NO_DATA = {"miniboone": "no data (its file could not be had)"}
_FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Claim:
    """One row: a figure (`value`), an average of figures, or a statement (`says`, checked by `check`)."""

    name: str
    table: str
    where: str
    sets: str
    """A set; binary, multi-class or all; or what a statement is about."""
    label: str
    metric: str
    kernel: str
    value: float | None = None
    says: str = ""
    check: str = "same"
    against: str = ""
    """What `label` is compared with in a statement."""
    given_against_kernel: str = ""
    """The kernel of `against`, where it had another: the paper compares its RBF models with ORTH's combined kernel."""
    given_margin: float | None = None
    given_command: str = ""

    @property
    def margin(self) -> float | None:
        return self.given_margin if self.value is None else margin_of(self.metric, self.value)

    @property
    def is_figure(self) -> bool:
        """Whether it is one figure of one set."""
        return self.value is not None and self.table != "II" and self.sets in {one.name for one in published_sets()}

    @property
    def against_kernel(self) -> str:
        return self.given_against_kernel or self.kernel

    def members(self) -> tuple[str, ...]:
        """The sets of the UCI benchmark that it is about, in the paper's order."""
        kind, _, without = self.sets.partition(" without ")
        kinds = {"binary": (True,), "multi-class": (False,), "all": (True, False)}.get(kind, ())
        return tuple(
            one.name for one in published_sets() if (one.binary in kinds and one.name != without) or one.name == kind
        )

    def command(self, preset: str, protocol: str) -> str:
        """What computes the cells behind it; empty where nothing here can."""
        columns: dict[str, list[tuple[str, str] | None]] = {}
        for label, kernel in ((self.label, self.kernel), (self.against, self.against_kernel)):
            if label:
                columns.setdefault(kernel, []).append(column_of(label))
        if self.given_command or not self.members() or any(None in both for both in columns.values()):
            return self.given_command
        return " && ".join(
            self._grid_command(preset, protocol, kernel, [one for one in both if one])
            for kernel, both in columns.items()
        )

    def _grid_command(self, preset: str, protocol: str, kernel: str, columns: Sequence[tuple[str, str]]) -> str:
        words = ["gpcnoise reproduce uci", f"--preset {preset}", f"--protocol {protocol}", f"--kernel {kernel}"]
        if self.sets != "all":
            words.append(f"--datasets {','.join(self.members())}")
        likelihoods = [name for kind, name in columns if kind == "likelihood"]
        methods = [name for kind, name in columns if kind == "method"]
        words += [f"--likelihoods {','.join(likelihoods)}"] if likelihoods else []
        words += [f"--methods {','.join([*(['svgp'] if likelihoods else []), *methods])}"] if methods else []
        return " ".join(words)


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim: the tables in order, then the text."""
    figures = [
        _figure(row, _TABLES[row["table"]], row["table"], row["dataset"], row["method"])
        for row in published_rows()
        if row["value"]
    ]
    averages = [_figure(row, row["table"], row["where"], row["sets"], row["label"]) for row in _rows("averages.csv")]
    statements = [
        Claim(
            name=f"text/{row['name']}",
            table="text",
            where=row["where"],
            sets=row["sets"],
            label=row["first"],
            metric=row["metric"],
            kernel=row["kernel"],
            says=row["says"],
            check=row["check"],
            against=row["second"],
            given_against_kernel=row["second_kernel"],
            given_margin=float(row["margin"]) if row["margin"] else None,
            given_command=row["command"],
        )
        for row in _rows("statements.csv")
    ]
    return tuple(sorted([*figures, *averages], key=lambda claim: TABLES.index(claim.table))) + tuple(statements)


def _figure(row: Mapping[str, str], table: str, where: str, sets: str, label: str) -> Claim:
    """A claim that is a number."""
    return Claim(
        name=f"{where}/{sets}/{label}/{row['metric']}",
        table=table,
        where=where,
        sets=sets,
        label=label,
        metric=row["metric"],
        kernel=row["kernel"] or PAPER_KERNEL,
        value=float(row["value"]),
    )


def column_of(label: str) -> tuple[str, str] | None:
    """How a grid names what the tables call `label`: its kind (likelihood or method) and name; None if it has none."""
    for spec in LIKELIHOODS.values():
        if spec.label == label:
            return "likelihood", spec.name
    return next((("method", one.name) for one in METHODS.values() if one.label == label), None)


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
