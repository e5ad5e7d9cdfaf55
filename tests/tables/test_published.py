"""The figures that ship with the package are the paper's."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcnoise_cli.data.audit import audit_sets
from gpcnoise_cli.data.registry import UCI_NAMES, get_spec
from gpcnoise_cli.tables import published
from gpcnoise_cli.tables.published import leak_verdicts, published_figures, published_labels, published_sets

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_file_is_the_one_made_from_the_paper() -> None:
    original = REPOSITORY.parent / "shared" / "paper" / "results.csv"
    if not original.is_file():
        pytest.skip("the paper's figures are not here")
    assert (Path(published.__file__).parent / "published.csv").read_text() == original.read_text()


def test_the_sets_are_those_of_the_registry() -> None:
    assert sorted(one.name for one in published_sets()) == sorted(UCI_NAMES)
    for one in published_sets():
        spec = get_spec(one.name)
        assert (one.n, one.d, one.classes) == (spec.n, spec.d_paper, spec.num_classes), one.name


def test_what_the_paper_prints_as_na_is_absent() -> None:
    acc, nll = published_figures("acc", "rbf"), published_figures("nll", "rbf")
    assert published_labels() == ("Selu", "ORTH", "GPCep", "GPCaug", "GPC-I", "GPC-II", "GPC-III", "GPCsm")
    assert "Selu" not in published_labels("nll")
    assert len(acc) == 19 * 8 - 7
    assert len(nll) == 19 * 7 - 7
    assert ("adult", "GPCsm") not in acc
    assert acc["waveform", "GPCsm"] == 87.84
    assert published_figures("nll", "matern52+rbf")["letter", "GPCsm"] == 0.1433
    assert published_figures("acc", "matern32") == {}


def test_the_verdicts_on_the_row_number_are_those_of_the_audit(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPCNOISE_DATA_DIR", str(shared_data))
    quick = ("magic", "mushroom", "nursery", "page-blocks", "wall-following", "waveform", "statlog-landsat", "thyroid")
    audited = {one.dataset: one.verdict for one in audit_sets(quick)}
    assert {name: leak_verdicts()[name] for name in quick} == audited
    assert set(leak_verdicts()) == set(UCI_NAMES)
    assert leak_verdicts()["miniboone"] == "leak"
