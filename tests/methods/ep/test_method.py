"""GPCep through the seam: it learns, resumes bit-identical, reports what befell it, and comes back from its arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.generators import sample_ringnorm, sample_waveform
from gpcnoise_cli.data.split import Split, Table, make_split
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.grid.repeat import train_command
from gpcnoise_cli.methods.ep.method import CAREFUL_STEPS, METHOD, EPFit
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents
from gpcnoise_cli.training.progress import Interrupted, Progress


def config(*overrides: str) -> TrainConfig:
    return compose(["method=ep", "inducing=12", "batch_size=100", "iterations=18", *overrides])


@pytest.fixture(scope="module")
def rings() -> Split:
    X, y = sample_ringnorm(400, d=4)
    return make_split("rings", Table(X, y, (0, 1), tuple("abcd"), "generated"), protocol="clean", split=0)


@pytest.fixture(scope="module")
def waves() -> Split:
    X, y = sample_waveform(300)
    names = tuple(str(number) for number in range(X.shape[1]))
    return make_split("waves", Table(X, y, (0, 1, 2), names, "generated"), protocol="clean", split=0)


class Heard(TrainingEvents):
    def __init__(self) -> None:
        self.points: list[CurvePoint] = []
        self.said: list[str] = []
        self.steps: list[int] = []

    def started(self, step: int, iterations: int) -> None:
        self.steps = [step, iterations]

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        self.steps.append(step)
        assert np.isfinite(loss)

    def measured(self, point: CurvePoint) -> None:
        self.points.append(point)

    def message(self, text: str) -> None:
        self.said.append(text)


def test_it_learns_and_comes_back_from_its_files(rings: Split, tmp_path: Path) -> None:
    settings = config("iterations=80", "inducing=20")
    fit = METHOD.start(settings, rings)
    before = fit.propagation.evidence()
    classifier = fit.run(Progress([heard := Heard()]))
    found = classifier.predict(rings.X_test)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(found.argmax(axis=1) == rings.y_test) > 0.75
    facts = classifier.facts()
    # 360 rows are four batches; three passes at the end update only the sites.
    assert facts["steps"] == heard.steps[-1] == heard.points[-1].step == 80 + 3 * 4
    assert (heard.steps[0], heard.steps[1]) == (0, 92)
    assert facts["objective_value"] > before
    assert facts["site_bytes"] == 360 * 2 * 8
    assert facts["incidents"] == []
    TrainedModel.of(settings, classifier, rings).save(tmp_path)
    loaded = TrainedModel.load(tmp_path)
    assert_array_equal(loaded.classifier.predict(rings.X_test), found)
    assert_allclose(loaded.predict_scaled(rings.X_test), found, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["rings", "waves"])
def test_an_interrupted_fit_ends_bit_identical(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    data: Split = request.getfixturevalue(which)
    whole = METHOD.start(config(), data).run(Progress())
    checkpoint = tmp_path / "checkpoint.npz"
    first = METHOD.start(config(), data)
    with pytest.raises(Interrupted):
        first.run(Progress(stop_requested=lambda: first.step >= 13, checkpoint=checkpoint))
    # Inside a pass: the posterior has sites with features that are no longer those of its kernel.
    assert first.step % first.a_pass != 0
    second = METHOD.start(config(), data).run(Progress(checkpoint=checkpoint, resume=True))
    for ours, theirs in zip(second.arrays().values(), whole.arrays().values(), strict=True):
        assert_array_equal(ours, theirs)
    assert second.facts()["objective_value"] == whole.facts()["objective_value"]


def test_every_row_is_seen_once_in_a_pass(rings: Split) -> None:
    fit = METHOD.start(config(), rings)
    batches = fit._batches(4, 8)
    assert_array_equal(np.sort(np.concatenate(batches)), np.arange(rings.n_train))
    assert {len(batch) for batch in batches} == {90}
    assert_array_equal(np.concatenate(fit._batches(5, 7)), np.concatenate(batches[1:3]))


def spoil(fit: EPFit, row: int) -> None:
    """A site that the posterior does not contain, as if the features had changed much since it was put in."""
    sites = fit.propagation.sites.numpy()
    sites[row, 0] = 1e3
    fit.propagation.sites.assign(sites)


def test_a_lost_cavity_is_met_by_a_rebuild_and_reported(rings: Split) -> None:
    fit = METHOD.start(config("batch_size=400", "runtime.eval_every=100"), rings)
    heard = Heard()
    fit._advance(Progress([heard]))
    fit.history.rebuilt_at = 0
    spoil(fit, 7)
    fit._advance(Progress([heard]))
    assert fit.step == 1
    assert int(fit.propagation.careful) == CAREFUL_STEPS
    classifier = fit.run(Progress([heard]))
    assert int(fit.propagation.careful) == 0
    facts = classifier.facts()
    assert facts["lost_cavities"] == 1
    assert facts["incidents"] == [
        "1 time (first at step 1) a step met a variance that was not positive: the posterior was rebuilt from its "
        "sites, and the damping halved for 10 steps."
    ]
    assert heard.said == ["a variance is not positive at step 1: rebuilding the posterior, with half the damping."]
    assert np.all(np.isfinite(classifier.predict(rings.X_test)))


def test_a_posterior_that_cannot_be_factorised_is_rebuilt(rings: Split) -> None:
    fit = METHOD.start(config("iterations=6"), rings)
    fit._advance(Progress())
    fit.model.precision.assign(-fit.model.precision)
    facts = fit.run(Progress()).facts()
    assert facts["lost_cavities"] == 1
    assert np.isfinite(facts["objective_value"])


@pytest.mark.parametrize("rows", ["with test rows", "without"])
def test_a_posterior_that_is_lost_when_it_is_measured_is_rebuilt(rings: Split, rows: str) -> None:
    split = rings if rows == "with test rows" else replace(rings, X_test=rings.X_test[:0], y_test=rings.y_test[:0])
    fit = METHOD.start(config("iterations=6"), split)
    fit._advance(Progress())
    fit.model.precision.assign(-fit.model.precision)
    fit._measure(Progress())
    assert fit.history.lost == [fit.step]
    assert np.isfinite(fit.classifier.posterior()[0]).all()


def test_a_site_that_is_too_strong_is_left_out_and_counted(rings: Split) -> None:
    fit = METHOD.start(config("iterations=3", "method.settings.settling=0", "batch_size=400"), rings)
    fit._advance(Progress())
    A, _ = fit.model.features(fit.propagation.X)
    sites = fit.propagation.sites.numpy()
    sites[np.argmax(np.sum(A.numpy()[0] ** 2, axis=1)), 0] = 1e13
    fit.propagation.sites.assign(sites)
    fit._rebuild()
    facts = fit.run(Progress()).facts()
    assert facts["skipped_updates"] >= 1
    assert "had no cavity" in facts["incidents"][-1]


def test_it_may_start_from_an_earlier_fit(rings: Split) -> None:
    earlier = METHOD.start(config("iterations=4"), rings).run(Progress()).arrays()
    again = METHOD.start(config(), rings, earlier)
    assert_array_equal(again.model.Z, earlier["Z"])
    # The sites are not kept, so the posterior starts anew.
    assert_array_equal(again.model.shift, np.zeros((1, 12)))


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("damping=0.0", "method.settings.damping must be greater than 0 and at most 1, not 0.0"),
        ("damping=1.5", "method.settings.damping must be greater than 0 and at most 1, not 1.5"),
        ("settling=-1", "method.settings.settling must be at least 0, not -1"),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(rings: Split, setting: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        METHOD.start(config(f"method.settings.{setting}"), rings)


@pytest.mark.parametrize(
    "likelihood", [("--likelihood", "softmax"), ("likelihood.noise_variance=2.0", "likelihood=probit")]
)
def test_a_likelihood_is_not_to_be_chosen(cli: Callable[..., Any], likelihood: tuple[str, ...]) -> None:
    outcome = cli("train", "--method", "ep", *likelihood)
    assert outcome.code == 2
    assert "method=ep has a likelihood of its own (the probit for two classes, the step for more); leave out" in (
        outcome.stderr
    )


def test_the_command_that_repeats_it_names_no_likelihood() -> None:
    assert "likelihood" not in train_command(config())


def test_a_loss_that_is_no_number_ends_in_a_sentence(rings: Split) -> None:
    fit = METHOD.start(config(), rings)
    fit.model.shift.assign(np.full((1, 12), np.nan))
    with pytest.raises(GpcnoiseError, match="the loss is not a finite number at step 0; try"):
        fit.run(Progress())


def test_arrays_of_another_model_are_refused(rings: Split) -> None:
    arrays = METHOD.start(config("iterations=1", "method.settings.settling=0"), rings).run(Progress()).arrays()
    with pytest.raises(ValueError, match="not those of the configuration"):
        METHOD.restore(config("inducing=8"), arrays, 4, 2, 10)
