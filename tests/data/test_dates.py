"""Dates: every usual way to write them is found, and their parts lie where they should."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcnoise_cli.data.dates import (
    FORMATS,
    ISO,
    date_features,
    days_since_epoch,
    fitting_formats,
    from_days,
    parse_dates,
    part_names,
)

MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).map(lambda one: one.replace(microsecond=0))


@given(st.lists(MOMENTS, min_size=1, max_size=4))
def test_moments_come_back_from_iso_text(moments: list[dt.datetime]) -> None:
    texts = [moment.isoformat(sep=" ") for moment in moments]
    assert ISO in fitting_formats(texts)
    assert parse_dates(texts, ISO).astype("datetime64[s]").tolist() == moments


@given(MOMENTS, st.sampled_from([form for form in FORMATS if "%d" in form and "%Y" in form and "%H:%M:%S" in form]))
def test_moments_come_back_from_every_format(moment: dt.datetime, form: str) -> None:
    texts = [moment.strftime(form)]
    assert form in fitting_formats(texts)
    assert parse_dates(texts, form).astype("datetime64[s]").tolist() == [moment]


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["2020-01-31", "2020-02-01"], ISO),
        (["2020-01"], ISO),
        (["2020-01-31T10:00:00Z"], ISO),
        (["01/31/2020", "02/01/2020"], "%m/%d/%Y"),
        (["31/01/2020", "01/02/2020"], "%d/%m/%Y"),
        (["31.01.2020"], "%d.%m.%Y"),
        (["Jan 1 2000"], "%b %d %Y"),
        (["January 5, 2020"], "%B %d, %Y"),
        (["5-Jan-20"], "%d-%b-%y"),
        (["12:30", "07:05"], "%H:%M"),
        (["1/2/2020 3:05 PM"], "%m/%d/%Y %I:%M %p"),
    ],
)
def test_the_format_of_a_column_is_found(texts: list[str], form: str) -> None:
    assert fitting_formats(texts)[0] == form


@pytest.mark.parametrize("texts", [["red", "blue"], ["A-12", "B-13"], ["12"], ["2020-13-45"], ["3.5"], ["10.0.0.1"]])
def test_what_is_no_date(texts: list[str]) -> None:
    assert fitting_formats(texts) == ()


def test_months_go_round() -> None:
    X = date_features(parse_dates(["2020-12-31", "2021-01-01", "2020-06-30"], ISO), ("month",), 0.0)
    december, january, june = X
    assert np.linalg.norm(december - january) < np.linalg.norm(december - june)
    assert part_names(("days", "month")) == ["days", "month sin", "month cos"]


def test_weekdays_and_days_are_those_of_the_calendar() -> None:
    times = parse_dates(["2024-01-01", "2024-01-08", "2024-01-02 12:00"], ISO)
    X = date_features(times, ("days", "weekday", "time"), days_since_epoch(times)[0])
    assert X[:, 0].tolist() == [0.0, 7.0, 1.5]
    np.testing.assert_allclose(X[0, 1:3], X[1, 1:3])
    np.testing.assert_allclose(X[0, 1:3], [0.0, 1.0], atol=1e-12)  # a Monday
    np.testing.assert_allclose(X[2, 3:], [0.0, -1.0], atol=1e-12)  # noon


def test_days_come_back() -> None:
    assert from_days(days_since_epoch(parse_dates(["2021-03-04 05:06"], ISO))[0]) == np.datetime64("2021-03-04T05:06")
