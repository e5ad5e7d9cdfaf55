"""How the columns of your own table become numbers, recorded so that new files are read the same way.

A number passes through; true and false become 1 and 0; a category is spread over one 0/1 feature per level (one-hot); a
date becomes its parts (`dates`). What is missing follows the recorded policy: a number is set to the median of the
training rows beside a 0/1 feature that says so, a missing category is a level of its own. Rare levels, and levels that
training did not have, share one feature. Columns are found by name, so order does not matter and others are ignored.

Everything is stored as JSON. Models saved before there was a policy lack the newer entries: their defaults here mean
what those models did, which is to refuse missing values and unknown levels.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.cell import Cell, CellError, shown
from gpcnoise_cli.data.cells import MISSING_MARKERS, Cells
from gpcnoise_cli.data.dates import date_features, from_days, part_names
from gpcnoise_cli.data.labels import class_numbers
from gpcnoise_cli.data.split import ClassName
from gpcnoise_cli.errors import GpcnoiseError

if TYPE_CHECKING:
    import pandas as pd

TRUE, FALSE = ("true", "yes", "y", "t", "on", "1", "1.0"), ("false", "no", "n", "f", "off", "0", "0.0")
_BOOLEANS = {**dict.fromkeys(TRUE, 1.0), **dict.fromkeys(FALSE, 0.0)}
MISSING_LEVEL, OTHER_LEVEL = "(missing)", "(other)"


@dataclass(frozen=True)
class Column:
    """One column of the user's table and how it is read."""

    name: str
    kind: str  # numeric | boolean | categorical | date
    levels: tuple[str, ...] = ()  # categorical: as text, sorted
    missing: str = "refuse"  # refuse | impute
    indicator: bool = False  # whether the training file had gaps: then there is a feature that says so
    fill: float | None = None  # what stands in a gap: the median; of a date, in days since 1970
    unseen: str = "refuse"  # categorical: what becomes of levels that training did not have: refuse | pool
    pooled: bool = False  # categorical: whether there is a feature for rare levels, which takes those too
    format: str | None = None  # numeric: the decimal sign; date: how it is written
    parts: tuple[str, ...] = ()  # date: those that vary
    start: float = 0.0  # date: the first day

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Column:
        """What `asdict` gave, in this version or an earlier one."""
        return cls(**{**values, "levels": tuple(values["levels"]), "parts": tuple(values.get("parts", ()))})

    @property
    def features(self) -> tuple[str, ...]:
        """The names of what it becomes."""
        if self.kind == "categorical":
            levels = [*self.levels, *([MISSING_LEVEL] * self.indicator), *([OTHER_LEVEL] * self.pooled)]
            return tuple(f"{self.name}={level}" for level in levels)
        names = [f"{self.name} {part}" for part in part_names(self.parts)] if self.kind == "date" else [self.name]
        return (*names, *([f"{self.name} missing"] * self.indicator))


@dataclass
class Tally:
    """What was filled and pooled while rows were encoded, to be said afterwards."""

    filled: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, Counter[str]] = field(default_factory=dict)
    unlabelled: int = 0  # rows left out because they have no class

    def sentences(self) -> list[str]:
        said = []
        if self.unlabelled:
            said.append(f"{self.unlabelled:,} row{'s' if self.unlabelled != 1 else ''} without a class left out.")
        if self.filled:
            columns = ", ".join(f"{name!r} ({count:,})" for name, count in self.filled.most_common(5))
            said.append(f"missing values filled as in training: {columns}{', …' if len(self.filled) > 5 else ''}.")
        for name, levels in self.unseen.items():
            examples = ", ".join(shown(level) for level, _ in levels.most_common(3)) + (
                ", …" if len(levels) > 3 else ""
            )
            count = f"{levels.total():,} value{'s' if levels.total() != 1 else ''}"
            said.append(f"column {name!r}: {count} of rare or unknown levels ({examples}) pooled.")
        return said


@dataclass(frozen=True)
class TableEncoder:
    """The recorded reading of a table: its feature columns, its target column and the names of its classes."""

    columns: tuple[Column, ...]
    target: str
    class_names: tuple[ClassName, ...]
    markers: tuple[str, ...] = MISSING_MARKERS  # texts that mean missing, besides an empty cell
    kept: tuple[str, ...] = ()  # columns that predictions carry along

    @classmethod
    def for_numeric(cls, features: tuple[str, ...], target: str, class_names: tuple[ClassName, ...]) -> TableEncoder:
        """The encoder of a set whose features are all numbers, such as the archive's."""
        return cls(tuple(Column(name, "numeric") for name in features), target, class_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.features)

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """For each feature the column of the table that it comes from."""
        return tuple(column.name for column in self.columns for _ in column.features)

    def categories(self) -> list[slice]:
        """Where the features of each category stand."""
        found, place = [], 0
        for column in self.columns:
            block = slice(place, place + len(column.features))
            found += [block] if column.kind == "categorical" else []
            place = block.stop
        return found

    def encode(
        self,
        frame: pd.DataFrame,
        *,
        rows: NDArray[np.int64] | None = None,
        fill: bool = True,
        tally: Tally | None = None,
    ) -> NDArray[np.float64]:
        """The numeric matrix [n, d] of `frame`, before scaling.

        `rows` are the numbers of its rows in the table, for messages. Without `fill`, numbers that are missing stay
        NaN, for medians that are still to be found.
        """
        self.check_columns([str(name) for name in frame.columns])
        tally = tally or Tally()
        blocks = []
        for column in self.columns:
            cells = Cells.of(frame[column.name], self.markers)
            try:
                blocks.append(_encoded(cells, column, fill, tally))
            except CellError as error:
                raise (error if rows is None else error.in_table(rows)) from error
        return np.hstack(blocks) if blocks else np.empty((len(frame), 0))

    def check_columns(self, names: list[str]) -> None:
        absent = [column.name for column in self.columns if column.name not in names]
        if absent:
            words = ", ".join(repr(name) for name in absent)
            raise GpcnoiseError(
                f"missing column{'s' if len(absent) > 1 else ''} {words}; "
                f"the model was trained on {'them' if len(absent) > 1 else 'it'}."
            )

    def encode_labels(self, labels: pd.Series[Any], rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The class numbers of the labels, −1 where there is none."""
        y = class_numbers(labels, self.class_names, self.markers)
        if (y == -2).any():
            row = int(np.flatnonzero(y == -2)[0])
            known = ", ".join(repr(name) for name in self.class_names[:10])
            known += ", …" if len(self.class_names) > 10 else ""
            cell = Cell(row if rows is None else int(rows[row]), self.target, labels.iloc[row])
            raise CellError(cell, f"unknown class {shown(cell.value)}", f"the model knows the classes {known}")
        return y

    def with_medians(self, X: NDArray[np.float64]) -> TableEncoder:
        """The same with the medians of these rows, encoded without fill, in the gaps of numbers."""
        columns, place = [], 0
        for column in self.columns:
            if column.missing == "impute" and column.kind in ("numeric", "boolean"):
                present = X[~np.isnan(X[:, place]), place]
                column = replace(column, fill=float(np.median(present))) if len(present) else column
            columns.append(column)
            place += len(column.features)
        return replace(self, columns=tuple(columns))

    def filled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """X without the gaps that `encode` left."""
        if not np.isnan(X).any():
            return X
        X, place = X.copy(), 0
        for column in self.columns:
            if column.fill is not None:
                values = X[:, place]
                values[np.isnan(values)] = column.fill
            place += len(column.features)
        return X

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and text, ready for JSON."""
        columns = [{**asdict(one), "levels": list(one.levels), "parts": list(one.parts)} for one in self.columns]
        lists = {"markers": list(self.markers), "kept": list(self.kept)}
        return {"columns": columns, "target": self.target, "class_names": list(self.class_names), **lists}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TableEncoder:
        """What `to_dict` gave, in this version or an earlier one."""
        columns = tuple(Column.from_dict(stored) for stored in values["columns"])
        extra = {key: tuple(values[key]) for key in ("markers", "kept") if key in values}
        return cls(columns, values["target"], tuple(values["class_names"]), **extra)


def _encoded(cells: Cells, column: Column, fill: bool, tally: Tally) -> NDArray[np.float64]:
    count = int(cells.missing.sum())
    if count and column.missing == "refuse":
        row = int(np.flatnonzero(cells.missing)[0])
        others = f"there are {count} here, " if count > 1 else ""
        advice = f"{others}the policy is to refuse them: fill or remove them, or train with --missing impute"
        raise CellError(Cell(row, column.name, None), "missing value", advice)
    if count:
        tally.filled[column.name] += count
    if column.kind == "categorical":
        return _levels(cells, column, tally)
    if column.kind == "date":
        times = np.full(len(cells.missing), from_days(column.fill or 0.0))
        times[cells.positions] = read_dates(cells, column.format)
        features = date_features(times, column.parts, column.start)
    else:
        numbers = np.full(len(cells.missing), column.fill if fill and column.fill is not None else np.nan)
        numbers[cells.positions] = read_numbers(cells, column.format) if column.kind == "numeric" else _flags(cells)
        features = numbers[:, None]
    return np.hstack([features, cells.missing[:, None]]) if column.indicator else features


def _levels(cells: Cells, column: Column, tally: Tally) -> NDArray[np.float64]:
    """One-hot; a level unknown to training goes to the pool, or to no feature at all where training had no pool."""
    size = len(column.levels)
    missing, other = size, size + column.indicator
    place = {level: index for index, level in enumerate(column.levels)}
    texts = cells.as_texts()
    coded = np.full(len(cells.missing), missing if column.indicator else other)
    coded[cells.positions] = [place.get(text, other) for text in texts]
    unseen = Counter(text for text in texts if text not in place)
    if unseen and column.unseen == "refuse":
        row = int(cells.positions[next(i for i, text in enumerate(texts) if text not in place)])
        known = ", ".join(repr(level) for level in column.levels[:10]) + (", …" if size > 10 else "")
        cell = Cell(row, column.name, texts[int(np.searchsorted(cells.positions, row))])
        raise CellError(cell, f"unseen level {shown(cell.value)}", f"the training file had {known}")
    if unseen:
        tally.unseen.setdefault(column.name, Counter()).update(unseen)
    return np.asarray(coded[:, None] == np.arange(len(column.features)), dtype=np.float64)


def read_numbers(cells: Cells, decimal: str | None = None) -> NDArray[np.float64]:
    """The present cells as finite numbers, or the error that names the first that is none."""
    numbers = cells.as_numbers(decimal or ".")
    wrong = np.isnan(numbers)
    if wrong.any():
        raise _junk(cells, wrong, "not a number", "numbers")
    infinite = np.isinf(numbers)
    if infinite.any():
        first = int(np.flatnonzero(infinite)[0])
        cell = _cell(cells, first)
        endless = cells.texts is None or "inf" in cells.texts[first].lower()
        problem = "infinite value" if endless else f"{shown(cell.value)} is too large for a number"
        raise CellError(cell, problem, "write a finite one, or leave the cell empty")
    return numbers


def read_dates(cells: Cells, form: str | None) -> NDArray[np.datetime64]:
    times = cells.as_times(form)
    wrong = np.isnat(times)
    if wrong.any():
        raise _junk(cells, wrong, "not a date", "dates" if form is None else f"dates written as {form}")
    return times


def _flags(cells: Cells) -> NDArray[np.float64]:
    coded = np.array([_BOOLEANS.get(text.lower(), np.nan) for text in cells.as_texts()], dtype=np.float64)
    if np.isnan(coded).any():
        cell = _cell(cells, int(np.flatnonzero(np.isnan(coded))[0]))
        advice = "the model was trained on a true/false column"
        raise CellError(cell, f"{shown(cell.value)} is neither true nor false", advice)
    return coded


def _cell(cells: Cells, index: int) -> Cell:
    return Cell(int(cells.positions[index]), cells.name, cells.as_texts()[index])


def _junk(cells: Cells, wrong: NDArray[np.bool_], problem: str, expected: str) -> CellError:
    cell = _cell(cells, int(np.flatnonzero(wrong)[0]))
    return CellError(
        cell, f"{shown(cell.value)} is {problem}", f"the model reads {expected} here: mend it or leave it empty"
    )
