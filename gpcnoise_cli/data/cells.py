"""One column of a block of a table, told apart: which cells are missing, and what stands in the others.

A text file has only texts; a typed one (Parquet, Feather, Excel, a data frame) may have numbers and moments. Either can
be asked for as what the model needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.dates import FORMATS, Times, fitting_formats, parse_dates
from gpcnoise_cli.data.number_text import parse_numbers
from gpcnoise_cli.errors import GpcnoiseError

if TYPE_CHECKING:
    import pandas as pd

# An empty cell is always missing; so are these, unless `--na-values` names others.
MISSING_MARKERS = (
    *("NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "NaT"),
    "?",
)


@dataclass(frozen=True)
class Cells:
    """`texts`, `numbers` or `times` hold the present cells, in their order; the other two are None."""

    name: str
    missing: NDArray[np.bool_]
    texts: list[str] | None = None
    numbers: NDArray[np.float64] | None = None
    times: Times | None = None
    categorical: bool = False  # the file itself says so

    @classmethod
    def of(cls, values: pd.Series[Any], markers: Collection[str]) -> Cells:
        name, kind = str(values.name), values.dtype.kind
        missing = values.isna().to_numpy()
        present = values[~missing] if missing.any() else values
        if values.dtype.name == "category" or kind == "b":
            texts = [level_text(value) for value in present.tolist()]
            return cls(name, missing, texts, categorical=kind != "b")
        if kind in "iuf":
            return cls(name, missing, numbers=present.to_numpy(dtype=np.float64))
        if kind == "m":
            return cls(name, missing, numbers=present.dt.total_seconds().to_numpy(dtype=np.float64))
        if kind == "M":
            times = present.dt.tz_convert(None) if getattr(values.dtype, "tz", None) is not None else present
            return cls(name, missing, times=times.to_numpy(dtype="datetime64[ns]"))
        if kind == "c":
            raise GpcnoiseError(f"column {name!r} holds complex numbers; --drop {name!r} leaves it out.")
        texts = [value.strip() if isinstance(value, str) else level_text(value) for value in present.tolist()]
        marked = [not text or text in markers for text in texts]
        if any(marked):
            missing = missing.copy()
            missing[np.flatnonzero(~missing)] = marked
            texts = [text for text, is_missing in zip(texts, marked, strict=True) if not is_missing]
        return cls(name, missing, texts)

    @property
    def positions(self) -> NDArray[np.int64]:
        """Where in the block the present cells stand."""
        return np.flatnonzero(~self.missing)

    def as_texts(self) -> list[str]:
        if self.texts is not None:
            return self.texts
        if self.numbers is not None:
            return [level_text(value) for value in self.numbers.tolist()]
        return [] if self.times is None else np.datetime_as_string(self.times, unit="auto").tolist()

    def counted(self) -> Counter[str]:
        """How often each text stands there, in the order in which they come."""
        if self.numbers is None:
            return Counter(self.as_texts())
        values, first, counts = np.unique(self.numbers, return_index=True, return_counts=True)
        order, found = np.argsort(first), Counter[str]()
        for value, count in zip(values[order].tolist(), counts[order].tolist(), strict=True):
            found[level_text(value)] += count
        return found

    def as_numbers(self, decimal: str = ".") -> NDArray[np.float64]:
        """NaN where a present cell is no number."""
        if self.numbers is not None:
            return self.numbers
        return parse_numbers(self.texts, decimal) if self.texts is not None else np.full(len(self.positions), np.nan)

    def as_times(self, form: str | None) -> Times:
        """NaT where a present cell is no moment; without a format, that of the texts themselves."""
        if self.times is not None:
            return self.times
        texts = self.as_texts()
        return parse_dates(texts, form or (fitting_formats(texts) or FORMATS)[0])


def level_text(value: Any) -> str:
    """A value as the name of a level: a whole number has no point, whichever way the file types it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).strip()
