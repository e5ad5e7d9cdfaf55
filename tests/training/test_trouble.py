"""Trouble that a run meets by itself: too little precision, a loss that runs away, an end worse than its best.

Each is forced, seen to be met, and seen to be said: in the messages, in the history that becomes the result.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split, Table, make_split
from gpcnoise_cli.training import trouble
from gpcnoise_cli.training.assessment import Assessment
from gpcnoise_cli.training.history import History
from gpcnoise_cli.training.progress import Interrupted
from gpcnoise_cli.training.trainer import Trainer

CYCLES = (
    "optimizer=natgrad",
    "likelihood=softmax",
    "iterations=160",
    "optimizer.cycle=40",
    "optimizer.cycle_growth=1",
    "optimizer.early_stop=false",
    "runtime.precision=mixed",
)


@pytest.fixture
def build(
    config: Callable[..., TrainConfig], split: Callable[..., Split], trainer: Callable[..., Trainer]
) -> Callable[..., Trainer]:
    def one(*overrides: str, checkpoint: Path | None = None) -> Trainer:
        return trainer(config(*CYCLES, *overrides), split(3), checkpoint)

    return one


def spoil(trainer: Trainer, at: int, monkeypatch: pytest.MonkeyPatch, how: Callable[[Trainer], None]) -> None:
    """Let `how` happen to the model once, right after step `at`."""
    advance, done = trainer._advance, []

    def spoiled(target: int) -> None:
        advance(target)
        if trainer.step >= at and not done:
            done.append(trainer.step)
            how(trainer)

    monkeypatch.setattr(trainer, "_advance", spoiled)


def forget_the_mean(trainer: Trainer) -> None:
    trainer.model.q_mu.unconstrained_variable.assign(
        tf.random.stateless_normal(trainer.model.q_mu.shape, [1, 2], dtype=tf.float64) * 30.0
    )


def test_a_quiet_run_has_no_incidents(build: Callable[..., Trainer]) -> None:
    quiet = build()
    quiet.train()
    assert quiet.history.incidents == []
    assert quiet.history.precision == "mixed"
    assert len(quiet.history.bounds) == 4
    assert quiet.history.best_bound == max(quiet.history.bounds)


def test_a_loss_that_runs_away_is_met_at_the_best_state_with_smaller_steps(
    build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps so small after the first cycle that nothing but a return can bring the model back."""
    run = build()

    def harm(trainer: Trainer) -> None:
        forget_the_mean(trainer)
        trainer.schedule.scale.assign(1e-6)

    spoil(run, 60, monkeypatch, harm)
    run.train()
    assert run.history.returns == 1
    said = [text for text in run.history.incidents if "back to the best state" in text]
    assert len(said) == 1
    assert "with steps half as long" in said[0]
    assert said[0] in run.progress.listeners[0].messages
    assert run.elbo() > 2 * run.history.bounds[0]
    assert float(run.schedule.scale) == pytest.approx(5e-7)


def test_where_rounding_is_the_cause_it_goes_on_in_float64(
    build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = build()
    assess = run.assessor

    def distrust(optimizer: object) -> Assessment:
        found = assess(run.optimizer)
        return found if run.step < 60 else Assessment(found.bound, 1.0, 0.001)

    monkeypatch.setattr(run, "assessor", distrust)
    spoil(run, 60, monkeypatch, lambda trainer: (forget_the_mean(trainer), trainer.schedule.scale.assign(1e-6)))
    run.train()
    assert "on in float64" in run.history.incidents[0]
    assert run.model.work == tf.float64
    assert run.history.precision == "float64"
    assert run.step == 160


def test_a_run_that_cannot_be_helped_ends_with_its_best_state(
    build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = build()
    monkeypatch.setattr(trouble, "MOST_RETURNS", 0)
    spoil(run, 60, monkeypatch, lambda trainer: (forget_the_mean(trainer), trainer.schedule.scale.assign(1e-6)))
    run.train()
    assert run.step < 160
    assert "ending with the best state" in run.history.incidents[-1]
    assert run.assessor(run.optimizer).bound == pytest.approx(run.history.best_bound, rel=1e-6)


def test_a_run_never_ends_worse_than_it_was(build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch) -> None:
    """Harm done too late for the losses to show it: right before the last look."""
    run = build()
    spoil(run, 160, monkeypatch, forget_the_mean)
    run.train()
    assert any("its best state is kept" in text for text in run.history.incidents)
    assert run.assessor(run.optimizer).bound == pytest.approx(run.history.best_bound, rel=1e-6)
    assert run.elbo() == run.history.best_bound


def test_rounding_is_met_with_jitter_where_that_is_enough(
    build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = build("iterations=40")
    assess = run.assessor

    def rounding(optimizer: object) -> Assessment:
        return Assessment(assess(run.optimizer).bound, 1e-8 / float(run.model.jitter), 2e-3)

    monkeypatch.setattr(run, "assessor", rounding)
    run.train()
    assert run.history.incidents == [
        "at step 0 rounding moves the log likelihood of a row by 0.01 on average: jitter raised to 1e-05 of the prior "
        "variance."
    ]
    assert float(run.model.jitter) == pytest.approx(1e-5)
    assert run.model.work == tf.float32


@pytest.mark.slow
def test_a_run_that_changed_its_precision_resumes_bit_identical(
    build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The checkpoint tells the new process, which starts in the precision asked for, to go on in float64."""

    def distrustful(checkpoint: Path) -> Trainer:
        run = build("iterations=80", checkpoint=checkpoint)
        assess = run.assessor
        monkeypatch.setattr(
            run, "assessor", lambda optimizer: Assessment(assess(run.optimizer).bound, 1.0, 0.001 * (run.step < 1))
        )
        return run

    whole, first = distrustful(tmp_path / "whole.npz"), distrustful(tmp_path / "cut.npz")
    whole.train()
    assert whole.history.precision == "float64"
    first.progress.stop_requested = lambda: first.step >= 20
    with pytest.raises(Interrupted):
        first.train()
    second = distrustful(tmp_path / "cut.npz")
    second.resume()
    assert second.model.work == tf.float64
    second.train()
    for ours, expected in zip(second.variables, whole.variables, strict=True):
        assert_array_equal(ours, expected)
    assert second.history.incidents == whole.history.incidents


def test_a_history_survives_json() -> None:
    history = History(bounds=[-3.5], best_bound=-3.5, incidents=["said"], precision="float64", assessed_at=7)
    assert History.from_dict(history.to_dict()) == history


def test_short_lengthscales_on_one_feature_are_seen_to_need_more_than_float32(build: Callable[..., Trainer]) -> None:
    """The real assessor on a real model: many inducing points on a line, hardly any jitter."""
    run = build("runtime.jitter=1e-13", "inducing=60", "kernel.lengthscale=5.0", "kernel.variance=5.0", "iterations=20")
    run.model.q_mu.assign(0.3 * np.random.default_rng(0).normal(size=run.model.q_mu.shape))
    run.optimizer.settle()
    assert not run.assessor(run.optimizer).trustworthy
    run.train()
    assert run.history.incidents
    assert run.history.precision == "float64" or float(run.model.jitter) > 1e-12


def stripes(rows: int = 800, d: int = 3) -> Split:
    """Three classes in turn across a cube, in stripes much narrower than the distances between rows."""
    X = np.random.default_rng(0).random((rows, d))
    table = Table(X, (12 * X.mean(axis=1)).astype(np.int64) % 3, (0, 1, 2), tuple("abc"), "generated")
    return make_split("stripes", table, protocol="clean", split=0)


STRIPES = ("kernel.lengthscale_start=data", "inducing=60", "batch_size=256", "iterations=120", "optimizer.warm_up=0")


@pytest.mark.parametrize("stopped_at", [pytest.param(0, marks=pytest.mark.slow), 30])
def test_lengthscales_too_long_to_learn_anything_are_replaced(
    config: Callable[..., TrainConfig], trainer: Callable[..., Trainer], tmp_path: Path, stopped_at: int
) -> None:
    asked = config(*CYCLES, *STRIPES)
    run = trainer(asked, stripes(), tmp_path / "checkpoint.npz")
    if stopped_at:
        run.progress.stop_requested = lambda: run.step >= stopped_at
        with pytest.raises(Interrupted):
            run.train()
        run = trainer(asked, stripes(), tmp_path / "checkpoint.npz")
        run.progress.resume = True
    run.train()
    assert run.history.incidents == [
        "nothing was learned in 40 steps from a lengthscale of 2.3: starting again from 0.173."
    ]
    assert -run.history.best_bound / run.model.num_data < 0.9 * np.log(3)


def test_a_start_that_the_user_chose_is_kept(
    config: Callable[..., TrainConfig], trainer: Callable[..., Trainer]
) -> None:
    run = trainer(config(*CYCLES, *STRIPES, "kernel.lengthscale=2.3", "iterations=80"), stripes())
    run.train()
    assert run.history.incidents == []
