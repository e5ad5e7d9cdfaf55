"""The original files of the ASA Data Expo 2009, a year of flights and the table of aircraft, read in a stream.

A year has seven million lines; only one block of them is in memory at a time besides the int16 result (18 bytes a
flight). Rows with a missing value, of an unknown aircraft, or of one without a year of manufacture are dropped.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import GpcnoiseError

if TYPE_CHECKING:
    import pandas as pd

# The paper's eight inputs, in its order.
COLUMNS = ("plane_age", "Distance", "AirTime", "DepTime", "ArrTime", "DayOfWeek", "DayofMonth", "Month")
_USED = ("Year", "TailNum", "ArrDelay", *COLUMNS[1:])
_INT16 = np.iinfo(np.int16)


def read_planes(path: Path) -> pd.Series[Any]:
    """Year of manufacture by tail number, where it is known."""
    import pandas as pd

    try:
        frame = pd.read_csv(path, usecols=["tailnum", "year"], dtype="str")
    except (ValueError, OSError) as error:
        raise GpcnoiseError(f"{path.name} is not the table of aircraft ({str(error).splitlines()[0]}).") from error
    year = pd.to_numeric(frame["year"], errors="coerce")
    known = year.notna() & (year > 0)
    return pd.Series(year[known].to_numpy(), index=frame["tailnum"][known]).groupby(level=0).first()


def read_year(
    path: Path, planes: Path, *, first_month: int, last_month: int, block: int = 200_000
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """The complete flights of some months, in the file's order: X with the columns of `COLUMNS`, and the delay."""
    import pandas as pd

    built = read_planes(planes)
    features: list[NDArray[np.int16]] = []
    delays: list[NDArray[np.int16]] = []
    try:
        types: dict[Hashable, Any] = {name: "str" if name == "TailNum" else "float64" for name in _USED}
        with pd.read_csv(path, usecols=list(_USED), dtype=types, chunksize=block, encoding="latin-1") as reader:
            for rows in reader:
                rows = rows[rows["Month"].between(first_month, last_month)]
                X, delay = _whole_rows(rows, built)
                features.append(X)
                delays.append(delay)
    except (ValueError, EOFError, OSError) as error:
        raise GpcnoiseError(f"{path.name} is not a whole year of flights ({str(error).splitlines()[0]}).") from error
    if sum(map(len, delays)) == 0:
        raise GpcnoiseError(f"{path.name} holds no complete flight of the months {first_month} to {last_month}.")
    return np.concatenate(features), np.concatenate(delays)


def _whole_rows(rows: pd.DataFrame, built: pd.Series[Any]) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    age = rows["Year"] - rows["TailNum"].map(built)
    values = np.column_stack([age, *(rows[name] for name in (*COLUMNS[1:], "ArrDelay"))]).astype(np.float64)
    # NaN compares false; an aircraft built after the flight is a mistake of the table.
    whole = ((values >= _INT16.min) & (values <= _INT16.max)).all(axis=1) & (values[:, 0] >= 0)
    kept = values[whole].astype(np.int16)
    return kept[:, :-1], kept[:, -1]
