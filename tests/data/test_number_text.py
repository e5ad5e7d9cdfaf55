"""Numbers as people write them, there and back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcnoise_cli.data.number_text import number_of, parse_numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3,750", 3750.0),
        ("1,234,567.5", 1234567.5),
        ("$1,200.50", 1200.5),
        ("-$5", -5.0),
        ("$-5", -5.0),
        ("(300)", -300.0),
        ("12.5%", 0.125),
        ("-4 %", -0.04),
        ("1 000 000", 1e6),
        ("1'000.25", 1000.25),
        ("£ 7", 7.0),
        ("20€", 20.0),
        ("−3.5", -3.5),
        ("1e-3", 0.001),
        (" 7 ", 7.0),
    ],
)
def test_ways_to_write_a_number(text: str, number: float) -> None:
    assert number_of(text) == pytest.approx(number, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "number"), [("3,75", 3.75), ("1.234,50 €", 1234.5), ("1.234", 1234.0), ("-0,5", -0.5), ("12", 12.0)]
)
def test_a_decimal_comma(text: str, number: float) -> None:
    assert number_of(text, ",") == number


@pytest.mark.parametrize(
    "text",
    ["", "-", "abc", "3,75", "1,23,456", "12,3456", "1.2.3", "$", "%", "e2", "$e2", ".", ",e1", "2020-01-31", "1 00"],
)
def test_what_is_no_number(text: str) -> None:
    assert math.isnan(number_of(text))


def test_a_point_is_no_decimal_sign_where_the_comma_is() -> None:
    assert math.isnan(number_of("1.5", ","))


@given(st.floats(-1e12, 1e12), st.sampled_from(["{:,.4f}", "{:.4f}", "${:,.4f}", "{:_.4f}"]))
def test_numbers_come_back(number: float, form: str) -> None:
    assert number_of(form.format(number)) == float(f"{number:.4f}")


@given(st.floats(-1e12, 1e12))
def test_numbers_come_back_with_a_decimal_comma(number: float) -> None:
    text = f"{number:,.2f}".translate(str.maketrans(",.", ".,"))
    assert number_of(text, ",") == float(f"{number:.2f}")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_to_the_last_bit(number: float) -> None:
    assert parse_numbers([repr(number)])[0] == number
    assert parse_numbers([repr(number), "3,000"])[0] == number


def test_percentages_are_parts_of_one() -> None:
    np.testing.assert_allclose(parse_numbers(["45%", "0.45"]), [0.45, 0.45])
