"""The airline task: was a US flight of January to April 2008 on time, late or early by more than five minutes?

Eight inputs, as in the paper: age of the aircraft, distance, air time, departure and arrival time, day of the week, day
of the month, month. Clock times are kept in files as hhmm and become minutes since midnight here (at hhmm, 9:59 and
10:00 would lie 41 apart), as in the usual treatment of these data. The matrix is float32 and is scaled block by block,
so that loading needs little more memory than the result.

The last 10,000 rows of the shuffled order are the test rows under either protocol; `paper` trains on the first
2,000,000, `clean` on all the others.
"""

from __future__ import annotations

import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.airline_csv import COLUMNS, read_year
from gpcnoise_cli.data.folder import absent, data_dir
from gpcnoise_cli.data.registry import DatasetSpec
from gpcnoise_cli.data.scaling import Scaler
from gpcnoise_cli.data.split import Split, check_request, shuffled_rows
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_arrays

CLASS_NAMES = ("on-time", "late", "early")
CLOCK = ("DepTime", "ArrTime")
TOLERANCE = 5
NUM_TEST = 10_000
NUM_TRAIN_PAPER = 2_000_000
_BLOCK = 200_000


@dataclass(frozen=True)
class Flights:
    """Raw flights: X int16 with the columns of `COLUMNS` (clock times as hhmm) and the arrival delay in minutes."""

    X: NDArray[np.int16]
    arr_delay: NDArray[np.int16]
    source: str


def load_airline(spec: DatasetSpec, *, protocol: str, split: int) -> Split:
    """The airline task from the data folder."""
    return split_flights(spec.name, read_flights(spec), protocol=protocol, split=split)


def read_flights(spec: DatasetSpec) -> Flights:
    """The prepared npz if it is there, else the year's CSV and the table of aircraft, streamed."""
    npz = data_dir() / spec.files[0]
    if npz.is_file():
        return read_npz(npz)
    years = [npz.parent / name for name in ("2008.csv", "2008.csv.bz2", "2008.csv.gz")]
    year = next((path for path in years if path.is_file()), None)
    planes = npz.parent / "plane-data.csv"
    if year is None or not planes.is_file():
        raise absent(spec)
    X, arr_delay = read_year(year, planes, first_month=1, last_month=4)
    # Streaming a year takes a minute, reading the prepared file a second: keep it where the folder can be written.
    arrays = {"X": X, "columns": np.array(COLUMNS), "arr_delay": arr_delay}
    with suppress(GpcnoiseError):
        write_arrays(npz, arrays, compressed=True)
    return Flights(X, arr_delay, source="csv")


def read_npz(path: Path) -> Flights:
    """The prepared file: `X` int16, `columns` naming its columns, `arr_delay` minutes."""
    try:
        # Opened here, because np.load leaves a file open that turns out not to be one of its own.
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            X, columns, arr_delay = file["X"], [str(name) for name in file["columns"]], file["arr_delay"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise GpcnoiseError(f"{path.name} is not a whole airline file ({error}); get it again.") from error
    missing = [name for name in COLUMNS if name not in columns]
    if missing or X.ndim != 2 or len(X) != len(arr_delay):
        raise GpcnoiseError(
            f"{path.name} is not an airline file: {'no column ' + missing[0] if missing else 'odd shapes'}."
        )
    order = [columns.index(name) for name in COLUMNS]
    return Flights(X if order == list(range(X.shape[1])) else X[:, order], arr_delay, source="npz")


def delay_classes(arr_delay: NDArray[np.integer]) -> NDArray[np.int64]:
    """0 on time (|delay| ≤ 5 minutes), 1 late, 2 early."""
    y = np.zeros(len(arr_delay), dtype=np.int64)
    y[arr_delay > TOLERANCE] = 1
    y[arr_delay < -TOLERANCE] = 2
    return y


def split_flights(dataset: str, flights: Flights, *, protocol: str, split: int) -> Split:
    """Shuffle, cut and scale; test rows are the last 10,000 of the shuffled order (a tenth of a smaller set)."""
    check_request(protocol, split, 0.1)
    n = len(flights.X)
    n_test = min(NUM_TEST, n // 10)
    n_train = min(n - n_test, NUM_TRAIN_PAPER) if protocol == "paper" else n - n_test
    if n_test == 0:
        raise GpcnoiseError(f"{dataset}: {n} flights are too few to split; ten are the least.")
    rows = shuffled_rows(n, split)
    train, test = rows[:n_train], rows[n - n_test :]
    scaler = _fit_scaler(flights.X, None if protocol == "paper" else train, 1e-6 if protocol == "paper" else 0.0)
    return Split(
        dataset=dataset,
        protocol=protocol,
        split=split,
        source=flights.source,
        X_train=_scaled(flights.X, train, scaler),
        y_train=delay_classes(flights.arr_delay[train]),
        X_test=_scaled(flights.X, test, scaler),
        y_test=delay_classes(flights.arr_delay[test]),
        class_names=CLASS_NAMES,
        feature_names=COLUMNS,
        scaler=scaler,
    )


def _minutes(X: NDArray[np.int16]) -> NDArray[np.float64]:
    """The rows as float64, clock times turned from hhmm into minutes since midnight."""
    values = X.astype(np.float64)
    for name in CLOCK:
        clock = values[:, COLUMNS.index(name)]
        hours = np.floor(clock / 100.0)
        clock[:] = 60.0 * hours + (clock - 100.0 * hours)
    return values


def _fit_scaler(X: NDArray[np.int16], rows: NDArray[np.int64] | None, floor: float) -> Scaler:
    """Mean and std over `rows` (None: all); sums of whole numbers are exact in float64, so blocks change nothing."""
    n = len(X) if rows is None else len(rows)
    total, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for start in range(0, n, _BLOCK):
        chosen = slice(start, min(start + _BLOCK, n))
        values = _minutes(X[chosen] if rows is None else X[rows[chosen]])
        total += values.sum(axis=0)
        squares += np.square(values).sum(axis=0)
    mean = total / n
    std = np.sqrt(np.maximum(squares / n - mean**2, 0.0))
    return Scaler(mean, np.where(std > 0.0, std, 1.0) if floor == 0.0 else floor + std)


def _scaled(X: NDArray[np.int16], rows: NDArray[np.int64], scaler: Scaler) -> NDArray[np.float32]:
    result = np.empty((len(rows), X.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        result[start : start + len(block)] = scaler.transform(_minutes(X[block]))
    return result
