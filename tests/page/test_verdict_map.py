"""The verdicts as a picture: every published figure has one mark, of its verdict's shape, that says what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpcnoise_cli.claims.claim import all_claims
from gpcnoise_cli.claims.equivalence import Verdict
from gpcnoise_cli.claims.evidence import Evidence
from gpcnoise_cli.claims.judge import Judged, judge, judge_all
from gpcnoise_cli.figures.style import drawing
from gpcnoise_cli.page.drawings import NARROW, WIDE
from gpcnoise_cli.page.verdict_map import EXPLAINED, MARKS, _figure, _kind, panels_of, verdict_drawing

Cells = Callable[..., list[Path]]


@pytest.fixture
def judged(uci_cells: Cells, tmp_path: Path) -> list[Judged]:
    results = tmp_path / "results"
    uci_cells("adult", "GPC-I", [(85.53, 0.3971), (85.54, 0.3972), (85.52, 0.3970)])
    uci_cells("thyroid", "GPC-II", [(99.4, 0.120), (99.4, 0.121), (99.4, 0.122)])
    uci_cells("thyroid", "GPC-II", [(99.4, 0.029)], ledger="uci")
    uci_cells("letter", "GPCsm", [(96.0, 0.9), (96.1, 0.8)])
    return judge_all(results)


def test_every_published_figure_has_a_mark_that_says_what_it_is(judged: list[Judged]) -> None:
    svg = verdict_drawing(judged)
    assert svg is not None
    figures = [one for one in judged if one.claim.is_figure]
    for one in (svg.svg, svg.narrow):
        assert one is not None
        assert one.count("<title>") == len(figures)
        assert "adult, GPC-I: nll 0.3971, here 0.3971: confirmed" in one
        assert "thyroid, GPC-II: nll 0.0285, here 0.121: contradicted (reason the paper's training)" in one
        assert "miniboone, GPC-I: acc 99.89: not runnable" in one


def test_a_contradiction_with_a_reason_looks_different(judged: list[Judged]) -> None:
    kinds = {_kind(one) for one in judged}
    assert EXPLAINED in kinds
    assert kinds <= {*MARKS}
    assert {verdict.value for verdict in Verdict} <= {*MARKS}
    assert len({(look["marker"], look.get("markerfacecolor"), look.get("color")) for look in MARKS.values()}) == len(
        MARKS
    )


@pytest.mark.parametrize(("width", "across"), [(WIDE, 4), (NARROW, 2)])
def test_the_key_fits_into_the_picture(judged: list[Judged], width: float, across: int) -> None:
    with drawing():
        figure, _ = _figure(panels_of(judged), width, across)
        figure.draw_without_rendering()
        key = figure.legends[0].get_window_extent()
        assert 0 <= key.x0 < key.x1 <= figure.bbox.width
        assert min(label.get_window_extent().x0 for label in figure.axes[0].get_yticklabels()) >= 0


def test_without_a_figure_there_is_no_picture(tmp_path: Path) -> None:
    statement = next(claim for claim in all_claims() if claim.table == "text")
    assert verdict_drawing([judge(statement, Evidence.read(tmp_path))]) is None
