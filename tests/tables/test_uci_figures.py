"""Columns follow from the published figures, the registry and the records; what is new appears and disturbs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpcnoise_cli.claims.claim import column_of
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS
from gpcnoise_cli.methods.registry import METHODS
from gpcnoise_cli.tables.measured import Figure, Measured, measured_from
from gpcnoise_cli.tables.published import published_figures, published_sets
from gpcnoise_cli.tables.render import to_records, to_text
from gpcnoise_cli.tables.table import Table
from gpcnoise_cli.tables.uci_comparisons import against_table, presets_table, protocols_table
from gpcnoise_cli.tables.uci_ranks import comparisons, pair_table, rank_table
from gpcnoise_cli.tables.uci_tables import averages_table, kernel_table, metric_table

Make = Callable[..., Measured]
PAPER = ["GPC-I", "GPC-II", "GPC-III", "GPCsm"]
OTHERS = ["Selu†", "ORTH†", "GPCep†", "GPCaug†"]
BINARY = tuple(one.name for one in published_sets() if one.binary)
MULTI = tuple(one.name for one in published_sets() if not one.binary)


def also(measured: Measured, label: str, sets: tuple[str, ...], *, acc: float = 90.0, nll: float = 0.3) -> Measured:
    """`measured` with a further label on one split of these sets."""
    found = {
        (metric, name, label): Figure.of_splits({0: value})
        for metric, value in (("acc", acc), ("nll", nll))
        for name in sets
    }
    return replace(measured, figures={**measured.figures, **found})


def column(table: Table, label: str) -> dict[str, str]:
    (place,) = [index for index, one in enumerate(table.columns) if one.full_name == label]
    return {row.values[0].text: row.values[place].shown for row in table.rows}


def labels(table: Table) -> list[str]:
    return [one.name for one in table.columns if one.name not in ("set", "n", "d", "C", "splits")]


def without(table: Table, label: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if key.split()[0] not in (label, "splits")}
        for row in to_records(table)
    ]


def test_another_author_s_method_has_its_measured_column_beside_the_published_one(as_published: Make) -> None:
    table = metric_table("acc", also(as_published(splits=1), "GPCaug", ("ringnorm", "letter")))
    assert labels(table) == [*OTHERS[:3], "GPCaug", "GPCaug†", *PAPER]
    here, published = column(table, "GPCaug"), column(table, "GPCaug†")
    assert (here["letter"], here["pendigits"]) == ("90.00", "–")
    assert published["pendigits"] == "98.53"
    assert (here["multi-class (12)"], published["multi-class (12)"]) == ("–", "83.03"), "no average is a mixture"


def test_a_likelihood_has_no_gap_on_sets_that_it_is_not_for(as_published: Make) -> None:
    found = column(metric_table("acc", also(as_published(splits=1), "SVGP-probit", ("ringnorm",))), "SVGP-probit")
    assert (found["ringnorm"], found["adult"], found["letter"]) == ("90.00", "–", "NA")


@pytest.mark.parametrize("registered", [True, False], ids=["likelihood", "method"])
def test_a_label_that_the_paper_does_not_know_has_a_column_and_leaves_the_others_alone(
    as_published: Make, monkeypatch: pytest.MonkeyPatch, registered: bool
) -> None:
    before = as_published(splits=1)
    if registered:
        monkeypatch.setitem(LIKELIHOODS, "new", replace(LIKELIHOODS["softmax"], name="new", label="GPCnew"))
        assert labels(metric_table("acc", before)) == [*OTHERS, *PAPER], "no empty column for what nobody has measured"
    measured = also(before, "GPCnew", ("ringnorm", "letter"))
    table = metric_table("acc", measured)
    assert labels(table) == [*OTHERS, *PAPER, "GPCnew"]
    found = column(table, "GPCnew")
    assert (found["letter"], found["ringnorm"], found["pendigits"], found["multi-class (12)"]) == (
        "90.00",
        "90.00",
        "–",
        "–",
    )
    assert labels(kernel_table(measured)) == 2 * [*PAPER, "GPCnew"]
    assert [one.name for one in against_table("acc", measured).columns if one.group == "GPCnew"] == ["here"]
    assert column(presets_table("acc", measured, measured), "GPCnew fast")["letter"] == "90.00"
    assert "GPCnew" not in [one.group for one in presets_table("acc", before, measured).columns]
    assert without(averages_table(measured), "GPCnew") == without(averages_table(before), "GPCnew")
    assert without(table, "GPCnew") == without(metric_table("acc", before), "GPCnew")
    found = comparisons("acc", measured)
    assert {kind: found[kind] for kind in ("all", "multi-class")} == comparisons("acc", before)
    assert "GPCnew" not in found["measured-multi-class"].methods, "measured on a single set"
    said = "not ranked, without a figure on some of these sets: GPCsm."
    assert said in rank_table("acc", "all", found["all"], measured).notes


def test_all_that_was_measured_is_ranked_over_the_sets_that_all_have(as_published: Make) -> None:
    measured = also(as_published(without=("miniboone",)), "GPCep", (*BINARY[:3], *MULTI[:6]), acc=100.0)
    measured = also(measured, "SVGP-probit", BINARY[:3], acc=1.0)
    measured = also(measured, "GPD", ("ringnorm", "letter"))
    found = comparisons("acc", measured)
    assert list(found) == ["all", "multi-class", "measured-all", "measured-binary", "measured-multi-class"]
    assert found["measured-all"].sets == (*BINARY[:3], *MULTI[:6])
    assert found["measured-all"].methods == ("GPCep", *PAPER[:3])
    assert found["measured-binary"].methods == ("GPCep", *PAPER[:3], "SVGP-probit")
    assert found["measured-multi-class"].methods == ("GPCep", *PAPER)
    assert {kind: one.ranks[0] for kind, one in found.items() if "measured" in kind} == {
        "measured-all": 1.0,
        "measured-binary": 1.0,
        "measured-multi-class": 1.0,
    }
    table = rank_table("acc", "measured-multi-class", found["measured-multi-class"], measured)
    assert "multi-class sets that all compared methods have" in table.title
    assert "not ranked, with a figure on too few sets: SVGP-probit, GPD." in table.notes
    # Among the published columns nothing changes.
    assert found["all"].methods == (*OTHERS, *PAPER[:3])
    assert len(found["all"].sets) == 18
    pairs = pair_table("acc", "measured-all", found["measured-all"], measured)
    assert ["GPCep", "GPC-III"] in [[value.text for value in row.values[:2]] for row in pairs.rows]


def test_columns_without_enough_in_common_are_left_out_from_the_least_measured_on(as_published: Make) -> None:
    measured = also(also(as_published(), "GPCep", MULTI[:6]), "GPCaug", MULTI[7:])
    found = comparisons("nll", measured)
    assert found["measured-multi-class"].methods == ("GPCep", *PAPER)
    assert found["measured-multi-class"].sets == MULTI[:6]
    assert "measured-binary" in found, "the paper's own are compared by themselves"
    few = also(as_published(without=(*BINARY, *MULTI[2:])), "GPCep", MULTI[:2])
    assert comparisons("nll", few) == {}


def test_measured_columns_are_averaged_over_the_sets_that_all_of_them_have(as_published: Make) -> None:
    before = as_published(splits=1)
    measured = also(also(before, "GPCep", MULTI[:6], acc=98.0), "GPCaug", MULTI[2:9], acc=97.0)
    table = metric_table("acc", measured)
    assert (column(table, "GPCep")["multi-class (12)"], column(table, "GPCep")["multi-class, shared (4)"]) == (
        "–",
        "98.00",
    )
    four = [published_figures("acc", "rbf")[name, "GPC-I"] for name in MULTI[2:6]]
    assert float(column(table, "GPC-I")["multi-class, shared (4)"]) == pytest.approx(sum(four) / 4, abs=0.006)
    assert (
        column(table, "GPC-I")["multi-class (12)"] == column(metric_table("acc", before), "GPC-I")["multi-class (12)"]
    )
    said = "shared: over the sets, and on each the splits, that all of the measured columns have (multi-class: GPCep, "
    assert any(said in note for note in table.notes)
    averages = averages_table(measured)
    assert column(averages, "sets")["multi-class, shared"] == "4/12"
    assert column(averages, "GPCaug")["multi-class, shared"] == "0.3000", "the last line of that name is of the nll"
    assert "multi-class, shared" not in column(averages_table(before), "sets")


def on_splits(first: int, last: int, **acc: float) -> Measured:
    """These labels on every set; a later split has a higher accuracy by ten points."""
    figures = {
        ("acc", name, label): Figure.of_splits({split: value + 10.0 * split for split in range(first, last + 1)})
        for name in MULTI
        for label, value in {**dict.fromkeys(PAPER, 50.0), **acc}.items()
    }
    return Measured("paper", "rbf", figures, (), ())


def test_what_was_measured_is_compared_on_the_splits_that_all_have() -> None:
    """A method that is better on every split, but was run on the hard ones only, is the better one."""
    few, many = on_splits(0, 1, GPCep=52.0), on_splits(0, 4)
    measured = replace(many, figures={**few.figures, **many.figures})
    line = column(metric_table("acc", measured), "GPC-I")
    assert (line["letter"], line["multi-class (12)"], line["multi-class, shared (12)"]) == (
        "70.00±7.07",
        "70.00",
        "55.00",
    )
    assert column(metric_table("acc", measured), "GPCep")["multi-class, shared (12)"] == "57.00"
    found = comparisons("acc", measured)["measured-multi-class"]
    assert found.methods[found.order[0]] == "GPCep"
    notes = rank_table("acc", "measured-multi-class", found, measured).notes
    assert "splits of each set that all of those measured here have: 2." in notes
    apart = on_splits(5, 6, GPCep=52.0)
    apart = replace(many, figures={**apart.figures, **many.figures})
    assert "GPCep" not in comparisons("acc", apart)["measured-multi-class"].methods


@pytest.mark.parametrize(("last", "diff", "splits"), [(0, "+2.00", "1"), (2, "+2.00", "3")])
def test_sides_are_compared_on_the_splits_that_both_have(last: int, diff: str, splits: str) -> None:
    one, other = on_splits(0, last), replace(on_splits(0, 4, **dict.fromkeys(PAPER, 52.0)), protocol="clean")
    table = presets_table("acc", one, other)
    assert column(table, "GPC-I diff")["letter"] == diff
    assert column(table, "splits")["letter"] == splits
    assert "fast minus paper: from +2.00 (chess-krvk, GPC-I) to +2.00 (wine-quality-white, GPCsm)" in table.notes[0]
    assert column(protocols_table("acc", one, other), "GPC-I diff")["letter"] == diff


def test_sides_without_a_common_split_have_no_difference() -> None:
    table = presets_table("acc", on_splits(0, 1), on_splits(2, 2))
    assert [column(table, f"GPC-I {part}")["letter"] for part in ("paper", "fast", "diff")] == ["55.00", "70.00", ""]
    assert not any("fast minus paper" in note for note in table.notes)


def test_another_authors_method_may_have_a_metric_that_the_paper_does_not_print(as_published: Make) -> None:
    before = as_published(splits=1)
    measured = also(before, "Selu", ("letter", "waveform"), acc=97.5, nll=0.1)
    acc = metric_table("acc", measured)
    assert any(note.startswith("†: published") for note in acc.notes)
    letter = next(row for row in to_records(acc) if row["set"] == "letter")
    assert (letter["Selu"], letter["Selu†"]) == (97.5, 97.26)
    nll = metric_table("nll", measured)
    assert labels(nll) == ["Selu", *OTHERS[1:], *PAPER]
    assert (column(nll, "Selu")["letter"], column(nll, "Selu")["adult"]) == ("0.1000", "–")
    beside = against_table("acc", measured)
    assert (column(beside, "Selu here")["letter"], column(beside, "Selu paper")["letter"]) == ("97.50", "97.26")
    assert (column(beside, "Selu here")["adult"], column(beside, "Selu diff")["adult"]) == ("–", "")
    assert column(averages_table(before), "Selu†")["binary"] == "92.6"


@pytest.mark.parametrize("name", [name for name, spec in METHODS.items() if spec.label])
def test_a_registered_method_has_the_column_that_the_paper_has_for_it(as_published: Make, name: str) -> None:
    """What is measured stands beside what was published, which is marked."""
    label = METHODS[name].label
    assert f"{label}†" in OTHERS
    record = {
        "dataset": "letter",
        "acc": 95.0,
        "nll": 0.2,
        "preset": "fast",
        "method": name,
        "label": label,
        "split": 0,
    }
    before, one = as_published(splits=1), measured_from([record], "paper", "rbf")
    assert label not in labels(metric_table("acc", before))
    table = metric_table("acc", replace(before, figures={**before.figures, **one.figures}))
    here, published = column(table, label), column(table, f"{label}†")
    assert (here["letter"], here["pendigits"]) == ("95.00", "–")
    assert published["letter"] not in ("–", "95.00")
    assert column_of(label) == ("method", name)


def test_softmax_on_two_classes_is_shown_where_it_was_computed(as_published: Make) -> None:
    one = also(as_published(splits=1), "GPCsm", ("ringnorm",))
    found = column(metric_table("acc", one), "GPCsm")
    assert (found["ringnorm"], found["twonorm"], found["binary (7)"]) == ("90.00", "NA", "NA")
    assert "GPCsm" not in comparisons("acc", one)["all"].methods
    every = also(one, "GPCsm", tuple(each.name for each in published_sets() if each.binary))
    assert column(metric_table("acc", every), "GPCsm")["binary (7)"] == "90.00"
    assert "GPCsm" in comparisons("acc", every)["all"].methods


def test_the_average_without_a_failure_is_of_the_published_column(as_published: Make) -> None:
    measured = also(as_published(), "GPCep", MULTI, acc=99.0)
    found = averages_table(measured)
    assert column(found, "GPCep")["multi-class"] == "99.0"
    assert column(found, "GPCep†")["multi-class"] == "87.1 (90.4)"


def test_a_record_is_filed_under_its_label_and_old_ones_under_their_method() -> None:
    common = {"dataset": "letter", "acc": 90.0, "nll": 0.3, "preset": "fast", "iterations": 100, "split": 0}
    old = {**common, "method": "GPCsm", "inducing": 300, "batch_size": 1024}
    new = {**old, "method": "svgp", "label": "GPCsm", "acc": 92.0, "split": 1}
    other = {**common, "method": "selu", "label": "Selu"}
    measured = measured_from([old, new, other], "paper", "rbf")
    assert measured.labels() == {"GPCsm", "Selu"}
    assert measured.figures["acc", "letter", "GPCsm"].splits == 2
    assert measured.settings == ("GPCsm: preset fast, 100 steps, m = 300, batch 1024", "Selu: preset fast, 100 steps")


def test_many_columns_are_set_in_blocks_that_fit(as_published: Make) -> None:
    measured = as_published()
    for label in ("Selu", "ORTH", "GPCep", "GPCaug", "GPCnew", "GPCnewer"):
        measured = also(measured, label, tuple(one.name for one in published_sets()))
    for table in (metric_table("nll", measured), against_table("nll", measured), kernel_table(measured)):
        for width in (80, 120):
            lines = to_text(table, width=width).splitlines()
            assert max(map(len, lines[1:])) <= width, table.title
            assert sum(line.startswith("letter") for line in lines) >= 2 - (width == 120), table.title
            heads = " ".join(lines)
            assert all(name in heads for name in labels(table))
