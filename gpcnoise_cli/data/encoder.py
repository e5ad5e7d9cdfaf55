"""How the columns of your own table become numbers, recorded so that new files are read the same way.

A numeric column passes through, a boolean one becomes 0/1, a categorical one is spread over one 0/1 column per level
(one-hot). The encoder keeps names, kinds and levels, finds columns by name (so order does not matter), ignores extra
ones, and refuses what it cannot read with one sentence that names the column, the row and the value. A level that was
not in the training file is an error: all-zero rows would be predicted with false confidence.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.split import ClassName
from gpcnoise_cli.errors import GpcnoiseError

if TYPE_CHECKING:
    import pandas as pd

_BOOLEANS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


@dataclass(frozen=True)
class Column:
    """One column of the user's table; `levels` (as text, sorted) only for a categorical one."""

    name: str
    kind: str  # numeric | boolean | categorical
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A place in the user's table, for messages: 0-based data row, column and what stands there."""

    row: int
    column: str
    value: Any


class CellError(GpcnoiseError):
    """A cell that cannot be read; the reader of the file adds file name and line to the sentence."""

    def __init__(self, cell: Cell, problem: str, advice: str) -> None:
        self.cell, self.problem, self.advice = cell, problem, advice
        super().__init__(self.sentence())

    def sentence(self, file: str = "", line: int | None = None) -> str:
        where = f"row {self.cell.row + 1}" + (f" (line {line})" if line is not None else "")
        return f"{file + ': ' if file else ''}{self.problem} in {where}, column {self.cell.column!r}; {self.advice}."


@dataclass(frozen=True)
class TableEncoder:
    """The recorded reading of a table: its feature columns, its target column and the names of its classes."""

    columns: tuple[Column, ...]
    target: str
    class_names: tuple[ClassName, ...]

    @classmethod
    def for_numeric(cls, features: tuple[str, ...], target: str, class_names: tuple[ClassName, ...]) -> TableEncoder:
        """The encoder of a set whose features are all numbers, such as the archive's."""
        return cls(tuple(Column(name, "numeric") for name in features), target, class_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        names: list[str] = []
        for column in self.columns:
            names += [f"{column.name}={level}" for level in column.levels] or [column.name]
        return tuple(names)

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """For each feature the column of the table that it comes from."""
        return tuple(column.name for column in self.columns for _ in column.levels or (column.name,))

    def encode(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """The numeric matrix [n, d] of `frame`, before scaling."""
        missing = [column.name for column in self.columns if column.name not in frame.columns]
        if missing:
            names = ", ".join(repr(name) for name in missing)
            raise GpcnoiseError(
                f"missing column{'s' if len(missing) > 1 else ''} {names}; "
                f"the model was trained on {'them' if len(missing) > 1 else 'it'}."
            )
        check_complete(frame[[column.name for column in self.columns]])
        blocks = [_ENCODERS[column.kind](frame[column.name], column) for column in self.columns]
        return np.hstack(blocks) if blocks else np.empty((len(frame), 0))

    def encode_labels(self, labels: pd.Series[Any]) -> NDArray[np.int64]:
        """Class numbers of the labels; by value, or by text where the file types them differently (1, 1.0, '1')."""
        by_value = {name: index for index, name in enumerate(self.class_names)}
        by_text = {str(name): index for index, name in enumerate(self.class_names)}
        found = [by_value.get(label, by_text.get(str(label), -1)) for label in labels.tolist()]
        y = np.asarray(found, dtype=np.int64)
        if (y < 0).any():
            row = int(np.flatnonzero(y < 0)[0])
            known = ", ".join(repr(name) for name in self.class_names[:10])
            known += ", …" if len(self.class_names) > 10 else ""
            cell = Cell(row, self.target, labels.iloc[row])
            raise CellError(cell, f"unknown class {shown(cell.value)}", f"the model knows the classes {known}")
        return y

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and text, ready for JSON."""
        columns = [{**asdict(column), "levels": list(column.levels)} for column in self.columns]
        return {"columns": columns, "target": self.target, "class_names": list(self.class_names)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TableEncoder:
        columns = tuple(Column(c["name"], c["kind"], tuple(c["levels"])) for c in values["columns"])
        return cls(columns, values["target"], tuple(values["class_names"]))


def plain(value: Any) -> Any:
    """A NumPy scalar as Python's own number, anything that JSON has no word for as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool) else str(value)


def shown(value: Any) -> str:
    """A value in a message: quoted if it is text, and never longer than a line."""
    text = repr(plain(value))
    return text if len(text) <= 60 else f"{text[:40]}…"


def check_complete(frame: pd.DataFrame) -> None:
    """Refuse missing and infinite values: the first place and how many there are in all."""
    holes = frame.isna().to_numpy()
    if holes.any():
        raise _first_of(frame, holes, "missing value")
    infinite = np.zeros(frame.shape, dtype=bool)
    for j, name in enumerate(frame.columns):
        if frame[name].dtype.kind in "fc":
            infinite[:, j] = ~np.isfinite(frame[name].to_numpy())
    if infinite.any():
        raise _first_of(frame, infinite, "infinite value")


def _first_of(frame: pd.DataFrame, bad: NDArray[np.bool_], what: str) -> CellError:
    row, column = (int(i) for i in np.argwhere(bad)[0])
    count = int(bad.sum())
    advice = f"there {'is 1' if count == 1 else f'are {count}'} in all: fill or remove {'it' if count == 1 else 'them'}"
    return CellError(Cell(row, str(frame.columns[column]), frame.iloc[row, column]), what, advice)


def parse_numbers(values: pd.Series[Any]) -> NDArray[np.float64]:
    """The values as float64, NaN where one is not a number."""
    import pandas as pd

    return np.asarray(pd.to_numeric(values, errors="coerce"), dtype=np.float64)


def _encode_numeric(values: pd.Series[Any], column: Column) -> NDArray[np.float64]:
    numbers = parse_numbers(values)
    bad = ~np.isfinite(numbers)
    if bad.any():
        raise junk_error(values, bad)
    return numbers[:, None]


def junk_error(values: pd.Series[Any], bad: NDArray[np.bool_]) -> CellError:
    row, count = int(np.flatnonzero(bad)[0]), int(bad.sum())
    cell = Cell(row, str(values.name), values.iloc[row])
    others = f" ({count} such values in all)" if count > 1 else ""
    return CellError(cell, f"{shown(cell.value)} is not a number{others}", "the other values of the column are numbers")


def _encode_boolean(values: pd.Series[Any], column: Column) -> NDArray[np.float64]:
    coded = np.array([_BOOLEANS.get(str(value).lower(), np.nan) for value in values.tolist()], dtype=np.float64)
    if np.isnan(coded).any():
        row = int(np.flatnonzero(np.isnan(coded))[0])
        cell = Cell(row, column.name, values.iloc[row])
        raise CellError(
            cell, f"{shown(cell.value)} is neither true nor false", "the model was trained on a true/false column"
        )
    return coded[:, None]


def _encode_categorical(values: pd.Series[Any], column: Column) -> NDArray[np.float64]:
    position = {level: index for index, level in enumerate(column.levels)}
    coded = np.array([position.get(str(value), -1) for value in values.tolist()], dtype=np.int64)
    if (coded < 0).any():
        row = int(np.flatnonzero(coded < 0)[0])
        cell = Cell(row, column.name, values.iloc[row])
        known = ", ".join(repr(level) for level in column.levels[:10]) + (", …" if len(column.levels) > 10 else "")
        raise CellError(cell, f"unseen level {shown(cell.value)}", f"the training file had {known}")
    return np.asarray(coded[:, None] == np.arange(len(column.levels)), dtype=np.float64)


_ENCODERS = {"numeric": _encode_numeric, "boolean": _encode_boolean, "categorical": _encode_categorical}
