"""The geometry of the page's pictures: everything inside its frame, nothing invented, nothing lost at the ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcnoise_cli.page.drawings import (
    MOST_POINTS,
    SPARK_HEIGHT,
    SPARK_WIDTH,
    difference_chart,
    line_chart,
    rank_diagram,
    reliability_chart,
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


@given(y=st.lists(NUMBERS, min_size=1, max_size=100))
def test_a_chart_holds_its_line_between_its_ticks(y: list[float]) -> None:
    chart = line_chart("t", list(range(1, len(y) + 1)), y)
    left, top, right, bottom = chart.box
    assert all(left - 0.1 <= a <= right + 0.1 and top - 0.1 <= b <= bottom + 0.1 for a, b, _ in chart.dots)
    assert 2 <= len(chart.y_ticks) <= 8
    labels = [float(tick.label) for tick in chart.y_ticks]
    assert labels == sorted(set(labels))
    assert labels[0] <= min(y) + 1e-6 * abs(min(y))
    assert max(y) - 1e-6 * abs(max(y)) <= labels[-1]


def test_a_difference_is_on_the_side_of_its_sign() -> None:
    chart = difference_chart("t", {"a": {"x": -1.0, "y": 0.25}}, ("x", "y"), better="right", digits=2)
    assert chart is not None
    by_look = {point.look: point for point in chart.points}
    assert by_look[0].x < chart.zero < by_look[1].x
    assert by_look[1].told == "a, y: +0.25"
    assert difference_chart("t", {}, ("x",), better="right", digits=2) is None


def test_ranks_lie_on_their_axis_in_order() -> None:
    figures = {(f"s{i}", f"m{j}"): float(i + j) for i in range(5) for j in range(4)}
    comparison = compare([f"m{j}" for j in range(4)], figures, [f"s{i}" for i in range(5)], larger_is_better=False)
    assert comparison is not None
    drawn = rank_diagram(comparison, "t")
    assert [mark.name for mark in drawn.marks] == ["m0", "m1", "m2", "m3"]
    assert [mark.x for mark in drawn.marks] == [tick.at for tick in drawn.ticks]
    assert all(mark.y < drawn.height for mark in drawn.marks)


def test_a_calibrated_bin_lies_on_the_diagonal() -> None:
    chart = reliability_chart([0.25, 0.9], [0.25, 0.5], [10, 1000])
    assert chart is not None
    assert chart.bins[0].y == chart.bins[0].perfect
    assert chart.bins[1].y > chart.bins[1].perfect  # below the diagonal: too sure
    assert chart.bins[1].bar < chart.bins[0].bar  # the taller bar
    assert reliability_chart([], [], []) is None
