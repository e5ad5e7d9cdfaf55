"""What a column is taken for, in blocks as in one piece."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gpcnoise_cli.data.cells import MISSING_MARKERS, Cells
from gpcnoise_cli.data.column_kinds import ColumnObserver, Finding, named_like_identifier


def found(values: list[object], name: str = "c", role: str | None = None, blocks: int = 1) -> Finding:
    observer, rows = ColumnObserver(name, role), np.arange(len(values))
    for part in np.array_split(rows, blocks):
        observer.observe(Cells.of(pd.Series([values[i] for i in part], name=name), MISSING_MARKERS), part)
    return observer.finish("impute")


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "rownames", "row_number", "index", "customerID", "PassengerId", "Unnamed: 0", "user_id", "case.no"],
)
def test_names_of_identifiers(name: str) -> None:
    assert named_like_identifier(name)


@pytest.mark.parametrize("name", ["age", "paid", "width", "valid", "humid", "grid", "nose", "rowing"])
def test_names_that_only_look_like_it(name: str) -> None:
    assert not named_like_identifier(name)


SHUFFLED = [i * 7 % 30 for i in range(30)]


@pytest.mark.parametrize("blocks", [1, 4])
@pytest.mark.parametrize(
    ("values", "name", "kind"),
    [
        (list(range(30)), "c", "identifier"),
        (list(range(60, 0, -2)), "c", "identifier"),
        (SHUFFLED, "c", "number"),
        (SHUFFLED, "id", "identifier"),
        ([i % 3 for i in range(30)], "shop_id", "number"),
        ([i / 7 for i in range(30)], "c", "number"),
        ([f"k{i}" for i in range(30)], "c", "identifier"),
        (["Yes", "no"] * 15, "c", "true/false"),
        ([True, False] * 15, "c", "true/false"),
        (["f", "m"] * 15, "c", "category"),
        (["3,750", "900"] * 15, "c", "number"),
        (["3,75", "900,5"] * 15, "c", "number"),
        (["45%", "7 %"] * 15, "c", "number"),
        (["2020-01-31", "2020-03-01"] * 15, "c", "date"),
        (["31/01/2020", "01/02/2020"] * 15, "c", "date"),
        (["4", "6", "rotary"] * 10, "c", "category"),
        (["x"] * 30, "c", "constant"),
        (["", "NA", "?"] * 10, "c", "empty"),
        ([None, 2.5, 3.5] * 10, "c", "number"),
    ],
)
def test_kinds(values: list[object], name: str, kind: str, blocks: int) -> None:
    finding = found(values, name, blocks=blocks)
    assert finding.kind == kind
    assert (finding.column is None) == (kind in ("identifier", "constant", "empty"))


def test_the_decimal_sign_is_that_of_the_whole_column() -> None:
    for values, sign, median in ((["3,75", "1.200"] * 10, ",", 601.875), (["3,750", "1,200"] * 10, ".", 2475.0)):
        column = found(values).column
        assert column is not None
        assert (column.format, column.fill) == (sign, median)


def test_month_before_day_is_said_where_both_would_fit() -> None:
    assert found(["03/04/2020", "05/06/2020"] * 10).notes == (
        "column 'c' is read as month/day, though day/month would fit as well.",
    )
    assert found(["03/14/2020", "05/06/2020"] * 10).notes == ()


def test_the_sample_for_the_median_is_even(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcnoise_cli.data.running_facts.SAMPLE", 400)
    values: list[object] = list(np.random.default_rng(1).permutation(20_000) / 2.0 + 0.25)
    column = found(values, blocks=9).column
    assert column is not None
    assert column.fill == pytest.approx(5000, abs=5 * 5000 / np.sqrt(400))  # five standard errors, generously
