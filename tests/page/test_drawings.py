"""The page's pictures: nothing invented, nothing lost at the ends, and every dot says what it is."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcnoise_cli.evaluation.calibration import Reliability
from gpcnoise_cli.evaluation.importance import Importance
from gpcnoise_cli.figures.run_pictures import MOST_DOTS
from gpcnoise_cli.figures.style import drawing
from gpcnoise_cli.page.drawings import (
    MOST_POINTS,
    NARROW,
    SPARK_HEIGHT,
    SPARK_WIDTH,
    WIDE,
    Drawing,
    _difference_figure,
    curve_drawing,
    difference_drawing,
    importance_drawing,
    rank_drawing,
    reliability_drawing,
    spark,
    thin,
)
from gpcnoise_cli.tables.statistics import compare

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False).map(lambda value: round(value, 6))


@given(rows=st.lists(st.integers(), min_size=1, max_size=500))
def test_thinning_keeps_both_ends_and_the_order(rows: list[int]) -> None:
    kept = thin(list(enumerate(rows)))
    assert len(kept) == min(len(rows), MOST_POINTS)
    assert (kept[0], kept[-1]) == ((0, rows[0]), (len(rows) - 1, rows[-1]))
    assert kept == sorted(kept)


@given(nll=st.lists(NUMBERS, min_size=2, max_size=60))
def test_a_spark_stays_inside_its_frame(nll: list[float]) -> None:
    drawn = spark({"step": list(range(len(nll))), "nll": nll, "acc": nll[::-1]})
    assert drawn is not None
    for points in (drawn.nll, drawn.acc):
        places = [tuple(map(int, point.split(","))) for point in points.split()]
        assert len(places) == min(len(nll), MOST_POINTS)
        assert all(0 <= x <= SPARK_WIDTH and 0 <= y <= SPARK_HEIGHT for x, y in places)


@pytest.mark.parametrize("curve", [None, {}, {"step": [1], "nll": [0.5], "acc": [90.0]}, {"step": [1, 2], "nll": None}])
def test_no_curve_no_spark(curve: object) -> None:
    assert spark(curve) is None


def test_a_gap_in_a_curve_is_left_out() -> None:
    drawn = spark({"step": [1, 2, 3], "nll": [0.5, None, 0.3], "acc": [90.0, 91.0, 92.0]})
    assert drawn is not None
    assert len(drawn.nll.split()) == 2


def parsed(drawn: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawn.svg))


def told(drawn: Drawing) -> list[str]:
    return [str(title.text) for title in parsed(drawn).iter("title")]


def test_every_dot_of_a_curve_says_its_value() -> None:
    drawn = curve_drawing("x", "nll", [10, 20, 30], [0.5, 0.25, 0.125])
    assert told(drawn) == ["step 10: 0.5", "step 20: 0.25", "step 30: 0.125"]
    assert parsed(drawn).get("aria-label") == "nll: step 10: 0.5 to step 30: 0.125"


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0], [1e9, -1e9], [0.1] * 500])
def test_any_curve_can_be_drawn(y: list[float]) -> None:
    drawn = curve_drawing("x", "t", list(range(len(y))), y)
    assert len(told(drawn)) == min(len(y), MOST_DOTS)


def test_the_key_of_all_methods_fits_its_figure() -> None:
    methods = ("Selu", "ORTH", "GPCep", "GPCaug", "GPC-I", "GPC-II", "GPC-III", "GPCsm")
    for width in (NARROW, WIDE):
        with drawing():
            figure, _ = _difference_figure({"a": dict.fromkeys(methods, 0.5)}, methods, width, 2)
            figure.draw_without_rendering()
            box = figure.legends[0].get_window_extent()
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.x1


def test_a_difference_names_its_set_and_method() -> None:
    drawn = difference_drawing("x", "t", {"a": {"x": -1.0, "y": 0.25}}, ("x", "y"), better="right", digits=2)
    assert drawn is not None
    assert told(drawn) == ["a, x: -1.00", "a, y: +0.25"]
    assert drawn.note == "better is to the right"
    assert difference_drawing("x", "t", {}, ("x",), better="right", digits=2) is None


def test_the_ranks_are_told_in_order() -> None:
    figures = {(f"s{i}", f"m{j}"): float(i + j) for i in range(5) for j in range(4)}
    comparison = compare([f"m{j}" for j in range(4)], figures, [f"s{i}" for i in range(5)], larger_is_better=False)
    assert comparison is not None
    drawn = rank_drawing("x", "t", comparison)
    assert parsed(drawn).get("aria-label") == "Average ranks, t: m0 1.00, m1 2.00, m2 3.00, m3 4.00"
    words = [text.text for text in parsed(drawn).iter("text")]
    assert {"1", "4", "m0 1.00", "m3 4.00"} <= set(words)


def test_a_reliability_diagram_says_how_many_rows_each_dot_has() -> None:
    table = Reliability(np.array([0.25, 0.9]), np.array([0.25, 0.5]), np.array([1, 1000]))
    drawn = reliability_drawing("x", "t", table)
    assert told(drawn) == [
        "confidence 0.250: 25.0% right (1.5 to 88.2%), 1 rows",
        "confidence 0.900: 50.0% right (46.9 to 53.1%), 1000 rows",
    ]


def test_the_importance_of_columns_names_them_all() -> None:
    columns = [Importance("age", 0.25, 0.01, 8.0, 0.9), Importance("$5 to $10", 0.0, 0.0, 0.0, 0.1)]
    drawn = importance_drawing("x", "t", columns)
    assert parsed(drawn).get("aria-label") == "t; age: nll +0.2500; $5 to $10: nll +0.0000"
    words = {text.text for text in parsed(drawn).iter("text")}
    assert {"age", "$5 to $10", "ARD relevance, %"} <= words
    alone = importance_drawing("x", "t", [Importance("age", 0.25, 0.01, 8.0)])
    assert "ARD relevance, %" not in {text.text for text in parsed(alone).iter("text")}


def test_wide_drawings_have_a_narrow_form_with_the_same_words_and_no_identifier_twice() -> None:
    drawn = difference_drawing("x", "t", {"a": {"x": -1.0, "y": 0.25}}, ("x", "y"), better="right", digits=2)
    assert drawn is not None
    assert drawn.narrow is not None
    wide, narrow = (ElementTree.fromstring(str(svg)) for svg in (drawn.svg, drawn.narrow))
    assert [svg.get("class") for svg in (wide, narrow)] == ["chart wide", "chart narrow"]
    titles = [[title.text for title in svg.iter("title")] for svg in (wide, narrow)]
    assert titles[0] == titles[1] == ["a, x: -1.00", "a, y: +0.25"]
    names = [{element.get("id") for element in svg.iter()} - {None} for svg in (wide, narrow)]
    assert not names[0] & names[1]
    assert float(str(narrow.get("viewBox")).split()[2]) < 0.7 * float(str(wide.get("viewBox")).split()[2])
