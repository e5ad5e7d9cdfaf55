"""The δ figure with methods that have none beside it; nothing is trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpcnoise_cli.figures.delta import (
    MODES,
    QUANTILES,
    DeltaResult,
    DeltaRun,
    DeltaSettings,
    Marginals,
    _overrides,
    draw,
)
from gpcnoise_cli.figures.files import save_figure
from gpcnoise_cli.figures.style import drawing
from gpcnoise_cli.training.events import CurvePoint


def run(method: str, mode: str, nlls: Sequence[float]) -> DeltaRun:
    delta = 0.1 if mode else None
    curve = tuple(CurvePoint(100 * k, 1.0, None, 80.0, nll, delta) for k, nll in enumerate(nlls, 1))
    found = Marginals(0.1, 0.1, QUANTILES, QUANTILES + (mode == "fixed")) if mode else None
    return DeltaRun("adult", method, mode, curve, 80.0, nlls[-1], found)


WITH_DELTA = [run("step", mode, (0.9, 0.5, 0.5 + 0.1 * (mode == "fixed"))) for mode in MODES]
OTHERS = [run("augmented", "", (0.9, 0.8, 0.4)), run("ep", "", (0.42, 0.41, 0.4))]


def test_a_method_without_a_delta_has_a_sentence_and_leaves_the_verdicts_alone() -> None:
    alone, beside = DeltaResult(tuple(WITH_DELTA), ()), DeltaResult((*WITH_DELTA, *OTHERS), ())
    assert beside.findings()[: len(alone.findings())] == alone.findings()
    assert beside.findings()[len(alone.findings()) :] == [
        "GPCaug on adult: acc 80.00%, nll 0.4000, below 1 of 1 with a free δ; within 5% of that from step 300 on.",
        "GPCep on adult: acc 80.00%, nll 0.4000, below 1 of 1 with a free δ; within 5% of that from step 100 on.",
    ]
    ends = {(row["likelihood"], row["delta_mode"]): row for row in beside.tables()["delta"]}
    assert (ends["ep", ""]["delta"], ends["step", "free"]["delta"]) == (None, 0.1)
    assert {row["likelihood"] for row in beside.tables()["marginals"]} == {"step"}


def test_a_curve_that_rises_at_the_end_has_not_settled_before() -> None:
    assert run("ep", "", (0.5, 0.5, 0.5, 0.6)).settled_at == 400
    assert run("ep", "", (0.5, 0.5)).settled_at == 100


def test_figures_are_drawn_with_and_without_a_delta(tmp_path: Path) -> None:
    for runs, names in (((*WITH_DELTA, *OTHERS), {"delta", "marginals"}), (OTHERS, {"delta"})):
        result = DeltaResult(tuple(runs), ())
        assert result.findings()
        with drawing():
            figures = draw(result, "")
            assert set(figures) == names
            labels = [text.get_text() for text in figures["delta"].legends[0].get_texts()]
            assert {"GPCaug (augmented)", "GPCep (ep)"} <= set(labels)
            assert ("free δ" in labels) == ("marginals" in names)
            for name, figure in figures.items():
                assert save_figure(figure, tmp_path, name)


def test_a_mode_is_asked_for_only_where_there_is_a_delta() -> None:
    settings = DeltaSettings()
    assert settings.methods == ("step", "probit", "logit")
    assert DeltaSettings(methods=(*settings.methods, "ep")).folder_name("delta") == "delta"
    assert {"likelihood": "step", "delta": "free"}.items() <= _overrides("adult", "step", "free", settings).items()
    other = _overrides("adult", "ep", "", settings)
    assert other["method"] == "ep"
    assert not {"delta", "likelihood"} & set(other)
