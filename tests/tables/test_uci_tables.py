"""The tables in the paper's layout: with the published figures in place of measured ones they are the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.table import Row, Table
from gpcnoise_cli.tables.uci_comparisons import against_table, protocols_table
from gpcnoise_cli.tables.uci_ranks import comparisons, pair_table, rank_table
from gpcnoise_cli.tables.uci_tables import averages_table, kernel_table, metric_table

Make = Callable[..., Measured]
PAPER = ("GPC-I", "GPC-II", "GPC-III", "GPCsm")


def row_of(table: Table, name: str) -> dict[str, str]:
    (row,) = [row for row in table.rows if row.values[0].text == name]
    return texts(table, row)


def texts(table: Table, row: Row) -> dict[str, str]:
    names = [f"{column.group} {column.name}".strip() for column in table.columns]
    return dict(zip(names, [value.shown for value in row.values], strict=True))


def best(table: Table, name: str) -> list[str]:
    (row,) = [row for row in table.rows if row.values[0].text == name]
    return [column.name for column, value in zip(table.columns, row.values, strict=True) if value.best]


def test_the_appendix_layout(as_published: Make) -> None:
    table = metric_table("acc", as_published(splits=1))
    names = ["set", "n", "d", "C", "Selu†", "ORTH†", "GPCep†", "GPCaug†", *PAPER, "splits"]
    assert [column.name for column in table.columns] == names
    assert [row.values[0].text for row in table.rows][:7] == [
        "adult", "connect-4", "magic", "miniboone", "mushroom", "ringnorm", "twonorm",
    ]  # fmt: skip
    adult = row_of(table, "adult")
    assert list(adult.values()) == (
        ["adult", "48842", "15", "2", "84.67", "85.65", "85.64", "85.60", "85.53", "85.47", "85.55", "NA", "1"]
    )
    assert best(table, "adult") == ["ORTH†"]
    assert best(table, "mushroom") == ["Selu†", "ORTH†", "GPCaug†"]
    assert best(metric_table("nll", as_published()), "letter") == ["GPCsm"]
    assert "Selu†" not in [column.name for column in metric_table("nll", as_published()).columns]


def test_several_splits_have_a_standard_error_and_their_number(as_published: Make) -> None:
    table = metric_table("nll", as_published(splits=10))
    letter = row_of(table, "letter")
    assert (letter["GPC-I"], letter["ORTH†"], letter["splits"]) == ("0.1685±0.0123", "0.2276", "10")
    assert Figure.of([1.0, 2.0, 3.0]) == Figure(2.0, pytest.approx(0.57735, rel=1e-4), 3)  # type: ignore[arg-type]
    assert Figure.of([1.0]) == Figure(1.0, None, 1)


def test_different_numbers_of_splits_are_told_apart(as_published: Make) -> None:
    measured = as_published(splits=3)
    figures = dict(measured.figures)
    figures["acc", "letter", "GPCsm"] = Figure.of_splits({0: 96.0})
    table = metric_table("acc", Measured("paper", "rbf", figures, (), ()))
    assert row_of(table, "letter")["splits"] == "3/3/3/1"


def test_what_was_not_computed_is_a_dash_and_stays_out_of_averages(as_published: Make) -> None:
    table = metric_table("acc", as_published(splits=1, without=("miniboone", "nursery")))
    assert row_of(table, "miniboone")["GPC-I"] == "–"
    assert row_of(table, "miniboone")["Selu†"] == "93.07"
    assert row_of(table, "miniboone")["splits"] == "–"
    averages = row_of(table, "multi-class (11)")
    assert float(averages["GPCep†"]) == pytest.approx(90.4, abs=0.05)  # the paper's figure in brackets
    assert row_of(table, "binary (6)")["GPCsm"] == "NA"


def test_the_averages_are_those_of_table_two(as_published: Make) -> None:
    table = averages_table(as_published(splits=1))
    rows = [[value.text for value in row.values][3:] for row in table.rows]
    assert rows == [
        ["92.6", "93.0", "94.0", "94.5", "95.1", "95.1", "95.1", "NA"],
        ["NA", "0.1639", "0.1506", "0.1354", "0.1355", "0.1349", "0.1349", "NA"],
        ["91.1", "89.2", "87.1 (90.4)", "83.0 (87.5)", "93.0", "93.0", "93.0", "92.6"],
        ["NA", "0.5976", "1.5637 (0.3167)", "0.3844 (0.3196)", "0.2374", "0.2331", "0.2353", "0.1858"],
    ]
    assert [row.values[2].text for row in table.rows] == ["7/7", "7/7", "12/12", "12/12"]
    bold = [[value.text for value in row.values if value.best] for row in table.rows]
    assert bold == [["95.1"] * 3, ["0.1349"] * 2, ["93.0"] * 3, ["0.1858"]]


def test_the_kernel_table_is_table_five(as_published: Make) -> None:
    table = kernel_table(as_published("matern52+rbf", splits=1))
    wine = row_of(table, "wine-quality-white")
    assert [wine[f"acc {name}"] for name in PAPER] == ["60.71", "60.51", "60.96", "58.20"]
    assert [wine[f"nll {name}"] for name in PAPER] == ["1.2662", "1.2623", "1.2573", "0.9868"]
    averages = row_of(table, "multi-class (12)")
    assert [averages[f"nll {name}"] for name in PAPER] == ["0.2471", "0.2411", "0.2401", "0.1760"]


def test_against_the_paper_shows_the_difference_and_marks_leaks(as_published: Make) -> None:
    table = against_table("nll", as_published(shift=0.01))
    magic = row_of(table, "magic")
    assert (magic["row"], magic["GPC-I here"], magic["GPC-I paper"]) == ("leak", "0.0141", "0.0041")
    assert magic["GPC-I diff"] == "+0.0100"
    assert (magic["GPCsm here"], magic["GPCsm paper"], magic["GPCsm diff"]) == ("NA", "NA", "")
    assert row_of(table, "connect-4")["row"] == "weak"
    assert row_of(table, "adult")["row"] == ""


def test_protocols_side_by_side(as_published: Make) -> None:
    table = protocols_table("acc", as_published(), as_published(shift=-10, without=("adult",)))
    assert row_of(table, "magic")["GPC-II diff"] == "-10.00"
    assert row_of(table, "adult")["GPC-II clean"] == "–"


def test_orth_s_published_figures_are_of_the_other_kernel(as_published: Make) -> None:
    """They stand in the tables of the RBF kernel, and belong beside what was measured with their own."""
    orth = {("nll", "letter", "ORTH"): Figure.of_splits({0: 0.25})}
    for kernel in ("rbf", "matern52+rbf"):
        measured = as_published(kernel)
        table = against_table("nll", replace(measured, figures={**measured.figures, **orth}))
        assert [row_of(table, "letter")[f"ORTH {part}"] for part in ("here", "paper")] == ["0.2500", "0.2276"]
        assert any("those of ORTH are of the kernel matern52+rbf" in note for note in table.notes)
    assert not any("ORTH" in note for note in against_table("nll", as_published()).notes)


def test_ranks_and_pairs_say_how_many_sets(as_published: Make) -> None:
    measured = as_published(without=("miniboone",))
    found = comparisons("nll", measured)
    assert {kind: len(one.sets) for kind, one in found.items()} == {"all": 18, "multi-class": 12}
    table = rank_table("nll", "multi-class", found["multi-class"], measured)
    assert table.columns[1].name == "GPCsm"
    assert "n = 12" in table.notes[0]
    pairs = pair_table("nll", "multi-class", found["multi-class"], measured)
    assert len(pairs.rows) == 3 * 4 + 6
    assert comparisons("nll", as_published(without=tuple(found["all"].sets))) == {}


def test_published_figures_beside_protocol_clean_are_called_what_they_are(as_published: Make) -> None:
    """Ranked against figures that had the row number, a clean result would look worse than it is."""
    paper = as_published()
    clean = replace(paper, protocol="clean")
    for measured, said in ((paper, False), (clean, True)):
        ranked = comparisons("acc", measured)["all"]
        tables = (
            metric_table("acc", measured),
            averages_table(measured),
            rank_table("acc", "all", ranked, measured),
            pair_table("acc", "all", ranked, measured),
        )
        for table in tables:
            assert any("protocol paper" in note and "magic" in note for note in table.notes) == said
