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


BASELINES = ("Selu", "ORTH", "GPCep", "GPCaug")


@pytest.mark.parametrize("label", BASELINES)
def test_every_published_figure_of_another_author_is_judged_once_its_cells_are_there(
    label: str, uci_cells: Cells, results: Path
) -> None:
    claims = [claim for claim in all_claims() if claim.label == label and claim.is_figure and claim.sets != "miniboone"]
    assert len({claim.sets for claim in claims}) == 18
    assert {verdict(claim.name, results).note for claim in claims} == {"no cell"}
    kernel = "matern52+rbf" if label == "ORTH" else "rbf"
    for name in {claim.sets for claim in claims}:
        found = {claim.metric: claim.value or 0.0 for claim in claims if claim.sets == name}
        splits = around(found["acc"], found.get("nll", 0.1), 3, 1e-3)
        uci_cells(name, label, splits, kernel=kernel)
    assert {verdict(claim.name, results).verdict for claim in claims} == {Verdict.CONFIRMED}
    averages = [claim for claim in all_claims() if claim.label == label and claim.table == "II"]
    assert averages
    assert {verdict(claim.name, results).verdict for claim in averages} == {Verdict.CONFIRMED}


def test_what_the_text_says_of_other_authors_is_judged_by_their_cells(uci_cells: Cells, results: Path) -> None:
    uci_cells("nursery", "GPC-II", around(99.9, 0.01, 3))
    uci_cells("nursery", "GPCep", around(99.92, 0.0112, 3))
    assert verdict("text/ep-nursery", results).verdict is Verdict.CONTRADICTED, "it does not fail here"
    uci_cells("waveform-noise", "GPC-II", around(84.0, 0.46, 3))
    uci_cells("waveform-noise", "GPCaug", around(33.4, 1.098, 3))
    for name in ("aug-waveform-noise", "aug-waveform-noise-nll"):
        assert verdict(f"text/{name}", results).verdict is Verdict.CONFIRMED
    names = [one.name for one in published_sets() if one.binary and one.name not in ("mushroom", "miniboone")]
    for name in names:
        uci_cells(name, "GPC-II", around(95.0, 0.20, 3))
        uci_cells(name, "GPCep", around(95.0, 0.15, 3))
    assert verdict("text/ep-nll-binary", results).verdict is Verdict.CONFIRMED, "better is competitive, too"
    for name in names:
        uci_cells(name, "GPCep", around(95.0, 0.25, 3))
    assert verdict("text/ep-nll-binary", results).verdict is Verdict.CONTRADICTED


def test_the_rbf_models_are_compared_with_orth_and_the_kernel_it_was_published_with(
    uci_cells: Cells, results: Path
) -> None:
    names = [one.name for one in published_sets() if not one.binary]
    for name in names:
        uci_cells(name, "GPCsm", around(93.0, 0.2, 2))
        uci_cells(name, "ORTH", around(94.0, 0.3, 2))
    assert verdict("text/multi-acc-orth", results).note == "no cells: 12 of 12 sets"
    for name in names[:-1]:
        uci_cells(name, "ORTH", around(92.0, 0.3, 2), kernel="matern52+rbf")
    found = verdict("text/multi-acc-orth", results)
    assert (found.verdict, found.note) == (Verdict.NOT_COMPUTED, "no cells: 1 of 12 sets")
    uci_cells(names[-1], "ORTH", around(92.0, 0.3, 2), kernel="matern52+rbf")
    found = verdict("text/multi-acc-orth", results)
    assert found.verdict is Verdict.CONFIRMED
    assert {path.split("/")[2] for path in found.cells if "/orth/" in path} == {"matern52+rbf"}
    assert {path.split("/")[2] for path in found.cells if "/softmax/" in path} == {"rbf"}


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


def test_a_method_is_compared_with_itself_under_a_flip(uci_cells: Cells, results: Path) -> None:
    names = [f"text/fixed-delta-{what}-step" for what in ("adult", "rises")]
    uci_cells("adult", "GPC-I", around(85.0, 0.40, 4))
    for name in names:
        found = verdict(name, results)
        assert (found.verdict, found.note) == (Verdict.NOT_COMPUTED, "no cell")
    flipped = {"results": results / "ablations" / "fixed-delta", "departures": {"delta.mode": "fixed"}}
    uci_cells("adult", "GPC-I", around(85.0, 0.80, 3), **flipped, curve={"nll": [0.9, 0.5, 0.8]})  # type: ignore[arg-type]
    worse, rises = (verdict(name, results) for name in names)
    assert worse.ours is not None
    assert rises.ours is not None
    assert (worse.verdict, worse.ours.splits, round(worse.ours.mean, 2)) == (Verdict.CONFIRMED, 3, -0.40)
    assert [path for path in worse.cells if path.startswith("ablations/fixed-delta/uci-fast/paper/rbf/adult/step/")]
    assert (rises.verdict, round(rises.ours.mean, 2)) == (Verdict.CONFIRMED, 0.30)
    uci_cells("adult", "GPC-I", around(85.0, 0.40, 3), **flipped, curve={"nll": [0.5, 0.4]})  # type: ignore[arg-type]
    assert {verdict(name, results).verdict for name in names} == {Verdict.CONTRADICTED}


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

    ends = [{"method": label, "acc": acc, "nll": 1.0} for label, acc in (("GPC-I", 49.0), ("GPCsm", 50.0))]
    file("airline", {"settings": {"iterations": 9}, "n_test": 500, "runs": ends})
    file("noise", {"models": [{"elbo_step": -1.0, "elbo_probit": -2.0, "elbo_logit": -1.5}]})
    file("toy", {"models": "torn"})
    found = verdict("text/airline-softmax-acc", results)
    assert (found.verdict, found.note) == (Verdict.UNDECIDED, "one split: 1 of 1 (rivals, 9 steps)")
    found = verdict("text/elbo-order", results)
    assert (found.verdict, found.note) == (Verdict.CONTRADICTED, "0 of 1 models")
    assert verdict("text/toy-classified", results).verdict is Verdict.NOT_COMPUTED


def test_other_methods_on_airline_and_delta_are_judged_by_their_curves(results: Path) -> None:
    def file(folder: str, methods: list[str], runs: list[dict[str, object]], iterations: int = 100) -> None:
        path = results / "figures" / folder / "summary.json"
        path.parent.mkdir(parents=True)
        path.write_text(
            json.dumps({"settings": {"iterations": iterations, "methods": methods}, "n_test": 10_000, "runs": runs})
        )

    own = {"GPC-I": 1.04, "GPC-II": 1.03, "GPC-III": 1.02, "GPCsm": 0.99}
    file("airline", ["step"], [{"method": label, "acc": 50.0, "nll": nll} for label, nll in own.items()])
    found = verdict("text/airline-ep", results)
    assert (found.verdict, found.note) == (Verdict.NOT_COMPUTED, "no curve of GPCep")
    # A curve that was made apart counts with the same settings only.
    file("airline-methods-ep", ["ep"], [{"method": "GPCep", "acc": 50.0, "nll": 1.0}])
    file("airline-methods-augmented", ["augmented"], [{"method": "GPCaug", "acc": 49.0, "nll": 1.035}])
    file("airline-methods-dirichlet", ["dirichlet"], [{"method": "GPD", "acc": 49.0, "nll": 0.1}], iterations=5)
    found = verdict("text/airline-ep", results)
    assert (found.verdict, found.note) == (Verdict.UNDECIDED, "one split: 4 of 4 (rivals, 100 steps)")
    assert verdict("text/airline-aug", results).note == "one split: 3 of 4 (rivals, 100 steps)"
    assert verdict("text/airline-softmax-nll", results).note == "one split: 3 of 3 (rivals, 100 steps)"


@pytest.mark.parametrize(
    ("nll", "error", "expected"),
    [(0.99, 0.005, Verdict.CONFIRMED), (1.02, 0.005, Verdict.UNDECIDED), (1.06, 0.005, Verdict.CONTRADICTED)],
)
def test_on_airline_the_spread_is_that_over_the_test_rows(
    nll: float, error: float, expected: Verdict, results: Path
) -> None:
    ends = {"GPC-I": 1.04, "GPC-II": 1.03, "GPC-III": 1.02, "GPCsm": nll}
    runs = [{"method": label, "acc": 50.0, "nll": end, "nll_error": error} for label, end in ends.items()]
    path = results / "figures" / "airline" / "summary.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"settings": {"iterations": 100}, "n_test": 10_000, "runs": runs}))
    assert verdict("text/airline-softmax-nll", results).verdict is expected
    assert verdict("text/airline-softmax-acc", results).verdict is Verdict.UNDECIDED, "a figure without errors"


def test_which_method_settles_later_is_read_off_the_curves(results: Path) -> None:
    def file(folder: str, curves: list[str]) -> None:
        path = results / "figures" / folder
        path.mkdir(parents=True)
        (path / "summary.json").write_text(json.dumps({"settings": {"methods": folder}, "runs": []}))
        (path / "curves.csv").write_text("\n".join(["dataset,likelihood,delta_mode,step,nll", *curves]) + "\n")

    def curve(name: str, mode: str, *nll: float) -> list[str]:
        return [f"adult,{name},{mode},{50 * step},{value}" for step, value in enumerate(nll, start=1)]

    quick, late = curve("step", "free", 0.9, 0.4, 0.4, 0.4), curve("probit", "free", 0.9, 0.9, 0.9, 0.4)
    file("delta", quick + late + curve("step", "fixed", 0.4, 0.4, 0.4, 0.4))
    assert verdict("text/aug-slow", results).note == "no curve of GPCaug"
    file("delta-methods-augmented", curve("augmented", "", 0.9, 0.9, 0.4, 0.4))
    assert verdict("text/aug-slow", results).note == "one split: 1 of 2 (with a free δ)"
    assert verdict("text/softmax-slow", results).note == "no curve of GPCsm"


def test_a_curve_of_a_method_that_is_not_here_cannot_be_run(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpcnoise_cli.methods.registry import METHODS

    monkeypatch.delitem(METHODS, "ep")
    path = results / "figures" / "airline" / "summary.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"settings": {}, "runs": []}))
    found = verdict("text/airline-ep", results)
    assert (found.verdict, found.note) == (Verdict.NOT_RUNNABLE, "no method GPCep here")
