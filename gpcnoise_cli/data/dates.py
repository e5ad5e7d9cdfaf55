"""Dates and times: which format a column is written in, and the numbers that a model gets of them.

A moment becomes its days since the first one of the training file and its year; month, weekday and time of day go
round, so each becomes the sine and cosine of an angle, and December lies beside January. Parts that never vary in the
training file are left out: a column of dates has no time of day, a column of clock times has nothing else.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.datetime64]

ISO = "ISO8601"
_DAYS = ("%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y")
_NAMED = ("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%b %Y")
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
# In the order of preference: where a column fits two, such as 03/04/2020, the month comes first.
FORMATS = (
    ISO,
    *_DAYS,
    *_NAMED,
    *(f"{day} {clock}" for day, clock in itertools.product((*_DAYS, *_NAMED), _CLOCKS)),
    *_CLOCKS,
)
# Only when asked for: these look like numbers.
DIGITS = ("%Y%m%d", "%Y%m%d%H%M%S", "%Y")
_ISO_TEXT = re.compile(r"\d{4}-\d{1,2}(-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?)?")
# A date has a digit and something between; most texts are told by this, without trying all formats.
_LIKELY = re.compile(r"(?=.*\d)[\w\s,.:/+-]{4,40}")

PARTS = ("days", "year", "month", "weekday", "time")
_CYCLIC = ("month", "weekday", "time")


def parse_dates(texts: Sequence[str], form: str) -> Times:
    """Every text as a moment, NaT where it is none in that format; moments with a zone are put into UTC."""
    import pandas as pd

    different = list(dict.fromkeys(texts))
    wanted = [text if form != ISO or _ISO_TEXT.fullmatch(text) else None for text in different]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing is guessed here that pandas could warn of
        parsed = pd.to_datetime(pd.Series(wanted, dtype=object), format=form, errors="coerce", utc=True)
    moments = parsed.dt.tz_localize(None).to_numpy(dtype="datetime64[ns]")
    known = dict(zip(different, moments, strict=True))
    return np.asarray([known[text] for text in texts], dtype="datetime64[ns]")


def fitting_formats(texts: Iterable[str], candidates: Sequence[str] = FORMATS) -> tuple[str, ...]:
    """The candidates in which every text is a date."""
    different = list(dict.fromkeys(texts))
    few, left = different[:5], tuple(candidates)
    if not all(_LIKELY.fullmatch(text) for text in few):
        return ()
    for sample in (few, different):
        left = tuple(form for form in left if not np.isnat(parse_dates(sample, form)).any())
    return left


def days_since_epoch(times: Times) -> NDArray[np.float64]:
    return (times - np.datetime64("1970-01-01", "ns")) / np.timedelta64(1, "D")


def from_days(days: float) -> np.datetime64:
    return np.datetime64("1970-01-01", "ns") + np.timedelta64(round(days * 86_400_000), "ms")


def part_values(times: Times) -> dict[str, NDArray[np.float64]]:
    """Each part as a number: the days since 1970, the year, and month, weekday and time as parts of a turn."""
    days = days_since_epoch(times)
    whole = np.floor(days)
    months = times.astype("datetime64[M]").astype(np.int64)
    return {
        "days": days,
        "year": (1970 + months // 12).astype(np.float64),
        "month": (months % 12) / 12.0,
        "weekday": ((whole + 3) % 7) / 7.0,  # 1 January 1970 was a Thursday
        "time": days - whole,
    }


def part_names(parts: Sequence[str]) -> list[str]:
    return [name for part in parts for name in ([f"{part} sin", f"{part} cos"] if part in _CYCLIC else [part])]


def date_features(times: Times, parts: Sequence[str], start: float) -> NDArray[np.float64]:
    """[n, k] features of moments; `start` is the first day of the training file."""
    values, features = part_values(times), []
    for part in parts:
        if part in _CYCLIC:
            angle = 2.0 * np.pi * values[part]
            features += [np.sin(angle), np.cos(angle)]
        else:
            features.append(values[part] - (start if part == "days" else 0.0))
    return np.stack(features, axis=1) if features else np.empty((len(times), 0))
