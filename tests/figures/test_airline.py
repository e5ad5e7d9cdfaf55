"""The airline figure with the curves of other authors' methods; nothing is trained."""

from __future__ import annotations

from pathlib import Path

from gpcnoise_cli.figures.airline import METHODS, AirlineResult, AirlineRun, AirlineSettings, draw
from gpcnoise_cli.figures.files import save_figure
from gpcnoise_cli.figures.style import METHOD_LOOKS, drawing
from gpcnoise_cli.likelihoods.registry import paper_likelihoods
from gpcnoise_cli.training.events import CurvePoint


def made(**ends: float) -> AirlineResult:
    """Runs that end at these nlls."""
    runs = []
    for method, nll in ends.items():
        curve = tuple(CurvePoint(step, float(step), None, 50.0, nll + 1 / step, None) for step in (10, 20, 30))
        runs.append(AirlineRun(method, None, curve, 100 - 50 * nll, nll, 0.5, 0.01, None, 0.01, 1.0, 900.0))
    return AirlineResult("airline", 2_000_000, 10_000, 40.0, 100_000, tuple(runs))


def test_all_that_can_be_trained_on_three_classes_may_have_a_curve() -> None:
    assert set(METHODS) >= {*paper_likelihoods(), "augmented", "ep", "selu", "dirichlet", "softmax_sampled"}
    assert "probit_quadrature" not in METHODS
    assert AirlineSettings().methods == paper_likelihoods()


def test_further_methods_make_the_figure_no_less_the_full_one() -> None:
    more = AirlineSettings(methods=(*paper_likelihoods(), "ep", "augmented"))
    assert (more.note(), more.folder_name("airline")) == ("", "airline")
    fewer = AirlineSettings(methods=("ep",))
    assert "methods ep instead of" in fewer.note()
    assert fewer.folder_name("airline") == "airline-methods-ep"


def test_the_paper_s_verdict_is_about_its_own_methods() -> None:
    said = " ".join(made(step=1.04, softmax=0.99, ep=0.95, augmented=1.06).findings())
    assert "The best accuracy is GPCsm's and the best nll GPCsm's (as the paper says: GPCsm does best)." in said
    assert "by nll GPCep, GPCsm, GPC-I, GPCaug." in said
    assert "With the methods of others" not in " ".join(made(step=1.04, softmax=0.99).findings())


def test_curves_of_other_methods_are_drawn_and_told_apart(tmp_path: Path) -> None:
    result = made(step=1.04, probit=1.03, logit=1.02, softmax=0.99, ep=1.0, augmented=1.05)
    with drawing():
        figure = draw(result, "")["airline"]
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels[-3:] == ["GPCep (ep)", "GPCaug (augmented)", "largest class alone"]
        assert save_figure(figure, tmp_path, "airline")
    looks = [METHOD_LOOKS[run.method] for run in result.runs]
    assert len({look.colour for look in looks}) == len(looks)
    assert len({(look.colour, look.line, look.marker) for look in METHOD_LOOKS.values()}) == len(METHOD_LOOKS)
