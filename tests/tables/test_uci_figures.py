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
from gpcnoise_cli.tables.published import published_sets
from gpcnoise_cli.tables.render import to_records, to_text
from gpcnoise_cli.tables.table import Table
from gpcnoise_cli.tables.uci_comparisons import against_table, presets_table
from gpcnoise_cli.tables.uci_ranks import comparisons, pair_table, rank_table
from gpcnoise_cli.tables.uci_tables import averages_table, kernel_table, metric_table

Make = Callable[..., Measured]
PAPER = ["GPC-I", "GPC-II", "GPC-III", "GPCsm"]
OTHERS = ["Selu", "ORTH", "GPCep", "GPCaug"]


def also(measured: Measured, label: str, sets: tuple[str, ...], *, acc: float = 90.0, nll: float = 0.3) -> Measured:
    """`measured` with a further label on these sets."""
    found = {
        (metric, name, label): Figure(value, None, 1) for metric, value in (("acc", acc), ("nll", nll)) for name in sets
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


def test_another_author_s_likelihood_shows_what_was_measured_and_else_what_was_published(as_published: Make) -> None:
    table = metric_table("acc", also(as_published(splits=1), "GPCaug", ("ringnorm", "letter")))
    assert labels(table) == [*OTHERS, *PAPER]
    found = column(table, "GPCaug")
    assert found["letter"] == "90.00"
    assert found["pendigits"].startswith("98.53")
    assert found["pendigits"] != "98.53", "a published figure is marked as one"


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
    assert column(presets_table("acc", before, measured), "GPCnew fast")["letter"] == "90.00"
    assert without(averages_table(measured), "GPCnew") == without(averages_table(before), "GPCnew")
    assert without(table, "GPCnew") == without(metric_table("acc", before), "GPCnew")
    assert comparisons("acc", measured) == comparisons("acc", before)
    assert (
        "not ranked, without a figure on some of these sets: GPCsm, GPCnew."
        in rank_table("acc", "all", comparisons("acc", measured)["all"], measured).notes
    )


def test_a_further_label_is_ranked_once_it_is_complete(as_published: Make) -> None:
    measured = also(as_published(), "GPCnew", tuple(one.name for one in published_sets()), acc=100.0)
    ranked = comparisons("acc", measured)["all"]
    assert ranked.methods == (*OTHERS, *PAPER[:3], "GPCnew")
    assert len(ranked.sets) == 19
    pairs = pair_table("acc", "all", ranked, measured)
    assert ["GPC-III", "GPCnew"] in [[value.text for value in row.values[:2]] for row in pairs.rows]


def test_another_authors_method_shows_the_measured_figure_first_and_the_published_one_marked(
    as_published: Make,
) -> None:
    before = as_published(splits=1)
    measured = also(before, "Selu", ("letter", "waveform"), acc=97.5, nll=0.1)
    acc = metric_table("acc", measured)
    found = column(acc, "Selu")
    assert (found["letter"], found["waveform"]) == ("97.50", "97.50")
    assert found["adult"] == "84.67†"
    assert found["multi-class (12)"].endswith("†"), "an average of both kinds is not a measured one"
    assert any(note.startswith("†: published") for note in acc.notes)
    letter = next(row for row in to_records(acc) if row["set"] == "letter")
    assert (letter["Selu"], letter["Selu mark"], letter["ORTH mark"]) == (97.5, "", "†")
    # The paper has no nll for it: what is not measured is missing, and nothing else is.
    nll = metric_table("nll", measured)
    assert labels(nll) == [*OTHERS, *PAPER]
    assert (column(nll, "Selu")["letter"], column(nll, "Selu")["adult"]) == ("0.1000", "–")
    assert comparisons("nll", measured) == comparisons("nll", before)
    beside = against_table("acc", measured)
    assert (column(beside, "Selu here")["letter"], column(beside, "Selu paper")["letter"]) == ("97.50", "97.26")
    assert (column(beside, "Selu here")["adult"], column(beside, "Selu diff")["adult"]) == ("–", "")
    assert column(averages_table(before), "Selu")["binary"] == "92.6†"


@pytest.mark.parametrize("name", [name for name, spec in METHODS.items() if spec.label])
def test_a_registered_method_has_the_column_that_the_paper_has_for_it(as_published: Make, name: str) -> None:
    """What is measured stands in it, and on the other sets what was published, marked."""
    label = METHODS[name].label
    assert label in OTHERS
    record = {"dataset": "letter", "acc": 95.0, "nll": 0.2, "preset": "fast", "method": name, "label": label}
    before, one = as_published(splits=1), measured_from([record], "paper", "rbf")
    measured = replace(before, figures={**before.figures, **one.figures})
    found = column(metric_table("acc", measured), label)
    assert found["letter"] == "95.00"
    assert found["pendigits"].endswith("†")
    assert column_of(label) == ("method", name)


def test_softmax_on_two_classes_is_shown_where_it_was_computed(as_published: Make) -> None:
    one = also(as_published(splits=1), "GPCsm", ("ringnorm",))
    found = column(metric_table("acc", one), "GPCsm")
    assert (found["ringnorm"], found["twonorm"], found["binary (7)"]) == ("90.00", "NA", "NA")
    assert "GPCsm" not in comparisons("acc", one)["all"].methods
    every = also(one, "GPCsm", tuple(each.name for each in published_sets() if each.binary))
    assert column(metric_table("acc", every), "GPCsm")["binary (7)"] == "90.00"
    assert "GPCsm" in comparisons("acc", every)["all"].methods


def test_the_second_average_goes_once_the_failure_is_measured(as_published: Make) -> None:
    measured = also(as_published(), "GPCep", ("nursery",), acc=99.0)
    assert averages_table(measured).rows[2].values[5].shown == "91.1†"
    assert averages_table(measured).rows[2].values[6].shown == "83.0 (87.5)†"


def test_a_record_is_filed_under_its_label_and_old_ones_under_their_method() -> None:
    common = {"dataset": "letter", "acc": 90.0, "nll": 0.3, "preset": "fast", "iterations": 100}
    old = {**common, "method": "GPCsm", "inducing": 300, "batch_size": 1024}
    new = {**old, "method": "svgp", "label": "GPCsm", "acc": 92.0}
    other = {**common, "method": "selu", "label": "Selu"}
    measured = measured_from([old, new, other], "paper", "rbf")
    assert measured.labels() == {"GPCsm", "Selu"}
    assert measured.figures["acc", "letter", "GPCsm"].splits == 2
    assert measured.settings == ("GPCsm: preset fast, 100 steps, m = 300, batch 1024", "Selu: preset fast, 100 steps")


def test_many_columns_are_set_in_blocks_that_fit(as_published: Make) -> None:
    measured = as_published()
    for label in (*OTHERS, "GPCnew", "GPCnewer"):
        measured = also(measured, label, tuple(one.name for one in published_sets()))
    for table in (metric_table("nll", measured), against_table("nll", measured), kernel_table(measured)):
        for width in (80, 120):
            lines = to_text(table, width=width).splitlines()
            assert max(map(len, lines[1:])) <= width, table.title
            assert sum(line.startswith("letter") for line in lines) >= 2 - (width == 120), table.title
            heads = " ".join(lines)
            assert all(name in heads for name in labels(table))
