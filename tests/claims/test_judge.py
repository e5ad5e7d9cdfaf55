"""Verdicts from made ledgers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpcnoise_cli.claims.claim import Claim, all_claims
from gpcnoise_cli.claims.equivalence import Verdict
from gpcnoise_cli.claims.evidence import Evidence
from gpcnoise_cli.claims.judge import Judged, judge, judge_all
from gpcnoise_cli.tables.published import published_figures, published_sets

Cells = Callable[..., list[Path]]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def claim_named(name: str) -> Claim:
    return next(claim for claim in all_claims() if claim.name == name)


def verdict(name: str, results: Path, **asked: object) -> Judged:
    return judge(claim_named(name), Evidence.read(results), **asked)  # type: ignore[arg-type]


def around(acc: float, nll: float, splits: int, wobble: float = 0.01) -> list[tuple[float, float]]:
    middle = (splits - 1) / 2
    return [(acc + wobble * (k - middle), nll + 0.1 * wobble * (k - middle)) for k in range(splits)]


def test_the_same_figure_on_ten_splits_is_confirmed(uci_cells: Cells, results: Path) -> None:
    uci_cells("adult", "GPC-I", around(85.53, 0.3971, 10))
    for name in ("tab_UCI_acc/adult/GPC-I/acc", "tab_UCI_nll/adult/GPC-I/nll"):
        found = verdict(name, results)
        assert (found.verdict, found.ours and found.ours.splits) == (Verdict.CONFIRMED, 10)
        assert len(found.cells) == 10
        assert abs(found.difference or 0.0) < 1e-9


def test_another_figure_on_ten_splits_is_contradicted_and_its_reason_is_not_known(
    uci_cells: Cells, results: Path
) -> None:
    uci_cells("adult", "GPC-I", around(80.0, 0.6, 10))
    (found,) = judge_all(results, claims=[claim_named("tab_UCI_nll/adult/GPC-I/nll")])
    assert (found.verdict, found.reason) == (Verdict.CONTRADICTED, "not known")


def test_one_split_is_undecided_however_near_or_far(uci_cells: Cells, results: Path) -> None:
    uci_cells("adult", "GPC-I", [(85.53, 9.9)])
    for name in ("tab_UCI_acc/adult/GPC-I/acc", "tab_UCI_nll/adult/GPC-I/nll"):
        found = verdict(name, results)
        assert (found.verdict, found.more, found.note) == (Verdict.UNDECIDED, 1, "one split")


def test_one_split_may_lean_on_the_spread_of_the_other_preset(uci_cells: Cells, results: Path) -> None:
    uci_cells("adult", "GPC-I", around(85.0, 0.41, 10))
    uci_cells("adult", "GPC-I", [(85.5, 0.3980)], ledger="uci")
    assert verdict("tab_UCI_nll/adult/GPC-I/nll", results, presets=["paper"]).verdict is Verdict.CONFIRMED


def test_a_wide_spread_says_how_many_more_splits_it_takes(uci_cells: Cells, results: Path) -> None:
    uci_cells("adult", "GPC-I", [(85.53, 0.3871), (85.53, 0.4071)])
    found = verdict("tab_UCI_nll/adult/GPC-I/nll", results)
    assert found.verdict is Verdict.UNDECIDED
    assert found.more is not None
    assert found.note == f"about {found.more} more split{'' if found.more == 1 else 's'}"


def test_the_preset_with_more_splits_is_used_and_paper_where_they_are_as_many(uci_cells: Cells, results: Path) -> None:
    uci_cells("adult", "GPC-I", around(85.53, 0.3971, 3))
    uci_cells("adult", "GPC-I", around(80.0, 0.3971, 2), ledger="uci")
    found = verdict("tab_UCI_acc/adult/GPC-I/acc", results)
    assert found.source is not None
    assert (found.source.preset, found.source.protocol) == ("fast", "paper")
    uci_cells("adult", "GPC-I", around(80.0, 0.3971, 3), ledger="uci")
    found = verdict("tab_UCI_acc/adult/GPC-I/acc", results)
    assert found.source is not None
    assert found.source.preset == "paper"


def test_without_cells_it_says_what_is_missing(results: Path) -> None:
    wanted = {
        "tab_UCI_acc/adult/GPC-I/acc": (Verdict.NOT_COMPUTED, "no cell"),
        "tab_UCI_acc/miniboone/GPC-I/acc": (Verdict.NOT_RUNNABLE, "no data (its file could not be had)"),
        "text/miniboone-5-minutes": (Verdict.NOT_RUNNABLE, "no data (its file could not be had)"),
        "text/elbo-order": (Verdict.NOT_COMPUTED, "no figure noise"),
        "tab_UCI/binary/GPC-I/acc": (Verdict.NOT_COMPUTED, "no cells: 6 of 6 sets"),
    }
    for name, expected in wanted.items():
        found = verdict(name, results)
        assert (found.verdict, found.note) == expected, name


def test_a_method_that_is_not_here_is_not_runnable(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpcnoise_cli.methods.registry import METHODS

    monkeypatch.delitem(METHODS, "selu")
    found = verdict("tab_UCI_acc/adult/Selu/acc", results)
    assert (found.verdict, found.note) == (Verdict.NOT_RUNNABLE, "no method Selu here")


def test_miniboone_is_judged_once_it_has_cells(uci_cells: Cells, results: Path) -> None:
    uci_cells("miniboone", "GPC-I", around(99.89, 0.0046, 3, 0.001))
    assert verdict("tab_UCI_acc/miniboone/GPC-I/acc", results).verdict is Verdict.CONFIRMED


def test_cells_that_depart_from_their_preset_are_behind_no_claim(uci_cells: Cells, results: Path) -> None:
    uci_cells("adult", "GPC-I", around(85.53, 0.3971, 3), departures={"iterations": 5})
    assert verdict("tab_UCI_acc/adult/GPC-I/acc", results).verdict is Verdict.NOT_COMPUTED


def test_averages_and_statements_use_the_splits_that_all_sets_have(uci_cells: Cells, results: Path) -> None:
    names = [one.name for one in published_sets() if one.binary and one.name != "miniboone"]
    for label, shift in (("GPC-I", 0.0), ("GPC-II", -0.02)):
        for name in names:
            acc, nll = (published_figures(metric, "rbf")[name, "GPC-I"] for metric in ("acc", "nll"))
            uci_cells(name, label, around(acc, nll + shift, 4 if name == "magic" else 3))
    average = verdict("tab_UCI/binary/GPC-I/nll", results)
    assert average.verdict is Verdict.CONFIRMED
    assert average.ours is not None
    assert average.ours.splits == 3
    # Compared with the published figures of the six sets, not with an average that has miniboone in it.
    assert abs(average.difference or 0.0) < 2e-4
    assert average.note == "(without miniboone)"
    assert verdict("text/binary-nll-probit", results).verdict is Verdict.CONFIRMED
    assert verdict("text/binary-acc-probit", results).verdict is Verdict.CONFIRMED
    assert verdict("text/binary-nll-logit", results).verdict is Verdict.NOT_COMPUTED


def test_a_statement_that_is_the_other_way_round_is_contradicted(uci_cells: Cells, results: Path) -> None:
    uci_cells("waveform-noise", "GPCsm", around(86.0, 0.60, 5))
    uci_cells("waveform-noise", "GPC-III", around(86.0, 0.42, 5))
    found = verdict("text/delta-worse-waveform-noise", results)
    assert found.verdict is Verdict.CONTRADICTED
    assert found.ours is not None
    assert abs(found.ours.mean - 0.18) < 1e-9


def test_all_rows_right_on_two_splits_is_not_taken_for_certainty(uci_cells: Cells, results: Path) -> None:
    uci_cells("ringnorm", "GPC-I", [(100.0, 0.05), (100.0, 0.05)])
    found = verdict("tab_UCI_acc/ringnorm/GPC-I/acc", results)
    assert found.ours is not None
    assert found.ours.error is not None
    assert found.ours.error > 0.0


def test_figures_of_one_split_stay_undecided_and_exact_ones_do_not(results: Path) -> None:
    def file(experiment: str, content: dict[str, object]) -> None:
        folder = results / "figures" / experiment
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text(json.dumps(content))

    run = {"dataset": "adult", "likelihood": "step", "lowest_nll": 0.3}
    file("delta", {"runs": [run | {"delta_mode": "fixed", "nll": 0.8}, run | {"delta_mode": "free", "nll": 0.4}]})
    file("noise", {"models": [{"elbo_step": -1.0, "elbo_probit": -2.0, "elbo_logit": -1.5}]})
    file("toy", {"models": "torn"})
    found = verdict("text/fixed-delta-adult", results)
    assert (found.verdict, found.note) == (Verdict.UNDECIDED, "one split: 1 of 1 (likelihoods)")
    found = verdict("text/elbo-order", results)
    assert (found.verdict, found.note) == (Verdict.CONTRADICTED, "0 of 1 models")
    assert verdict("text/toy-classified", results).verdict is Verdict.NOT_COMPUTED
