"""The claims are the paper's: every figure of its tables once, and statements that say how they are checked."""

from __future__ import annotations

from statistics import mean

from gpcnoise_cli.claims.claim import TABLES, all_claims, column_of
from gpcnoise_cli.claims.judge import _CELL_CHECKS
from gpcnoise_cli.claims.margins import ACC_POINTS, margin_of
from gpcnoise_cli.claims.shown import SHOWN
from gpcnoise_cli.tables.published import published_figures, published_rows


def test_every_published_figure_is_a_claim_once() -> None:
    claims = all_claims()
    assert len({claim.name for claim in claims}) == len(claims)
    printed = [row for row in published_rows() if row["value"]]
    figures = [claim for claim in claims if claim.is_figure]
    assert len(figures) == len(printed)
    assert sorted(claim.value or 0.0 for claim in figures) == sorted(float(row["value"]) for row in printed)
    assert {claim.table for claim in claims} == set(TABLES)


def test_the_averages_are_those_of_the_columns_of_tables_three_to_five() -> None:
    for claim in all_claims():
        if claim.value is None or claim.is_figure:
            continue
        figures = published_figures(claim.metric, "matern52+rbf" if claim.table == "V" else "rbf")
        average = mean(figures[name, claim.label] for name in claim.members())
        # The paper averaged figures with more decimals than it prints.
        assert abs(average - claim.value) < (0.06 if claim.metric == "acc" else 1.1e-4), claim.name


def test_statements_say_where_they_stand_and_how_they_are_checked() -> None:
    statements = [claim for claim in all_claims() if claim.table == "text"]
    assert len(statements) > 40
    for claim in statements:
        assert claim.says, claim.name
        assert claim.where, claim.name
        assert claim.check in {*SHOWN, *_CELL_CHECKS, "miniboone"}, claim.name
        if claim.check in _CELL_CHECKS:
            assert claim.members(), claim.name
            assert claim.margin is not None
    assert {claim.check for claim in statements} >= set(SHOWN)


def test_the_command_of_a_claim_names_its_cells() -> None:
    named = {claim.name: claim for claim in all_claims()}
    figure = named["tab_GPCnoise/letter/GPCsm/nll"].command("paper", "paper")
    assert figure == (
        "gpcnoise reproduce uci --preset paper --protocol paper --kernel matern52+rbf --datasets letter "
        "--likelihoods softmax"
    )
    assert named["text/multi-acc-selu"].command("fast", "paper").endswith("--likelihoods softmax --methods svgp,selu")
    assert named["tab_UCI_acc/letter/Selu/acc"].command("fast", "clean").endswith("--datasets letter --methods selu")
    rbf, combined = named["text/multi-acc-orth"].command("fast", "paper").split(" && ")
    assert "--kernel rbf " in rbf
    assert rbf.endswith("--likelihoods softmax")
    assert "--kernel matern52+rbf " in combined
    assert combined.endswith("--methods orth")
    assert named["text/elbo-order"].command("fast", "paper") == "gpcnoise reproduce noise"


def test_columns_of_labels() -> None:
    assert column_of("GPC-III") == ("likelihood", "logit")
    assert column_of("Selu") == ("method", "selu")
    assert column_of("nobody") is None


def test_margins_depend_on_the_published_figure_alone() -> None:
    assert margin_of("acc", 99.9) == margin_of("acc", 33.4) == ACC_POINTS
    assert margin_of("nll", 0.0) == 0.005
    assert abs(margin_of("nll", 1.0) - 0.105) < 1e-12
