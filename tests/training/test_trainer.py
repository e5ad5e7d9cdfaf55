"""A whole run: the same every time, whatever interrupts it; and trouble that is met or named.

A trainer takes a second or two to compile, so one is compiled for each kind of run and put back to its start between
the tests. `SECONDS_PER_CALL` decides how many steps one call makes: at nearly zero, a run can be stopped at any step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.predictor.posterior import LARGEST_JITTER
from gpcnoise_cli.training import trainer as trainer_module
from gpcnoise_cli.training.batches import batch_indices
from gpcnoise_cli.training.history import History
from gpcnoise_cli.training.progress import Interrupted
from gpcnoise_cli.training.trainer import Trainer

State = list[np.ndarray]

ADAM = ("optimizer=adam", "likelihood=probit", "delta=optimal", "runtime.precision=mixed", "runtime.eval_every=15")
NATURAL = ("optimizer=natgrad", "likelihood=softmax", "optimizer.early_stop=false", "runtime.precision=mixed")
# All rows in every step and nearly fixed hyperparameters: the bound is flat as soon as q(u) has settled.
STOPPING = (
    "optimizer=natgrad",
    "likelihood=probit",
    "delta=fixed",
    "optimizer.learning_rate=1e-4",
    "iterations=3000",
    "batch_size=1000",
    "runtime.eval_every=100",
)
KINDS = {"adam": (ADAM, 3), "natgrad": (NATURAL, 3), "stopping": (STOPPING, 2)}


class Run:
    """A compiled trainer that can start over, and how its uninterrupted run ended."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self.start = [variable.numpy() for variable in trainer.variables]
        trainer.train()
        self.result = self.state()
        self.history = trainer.history
        self.messages = list(trainer.progress.listeners[0].messages)

    def state(self) -> State:
        return [variable.numpy() for variable in self.trainer.variables]

    def rewind(self) -> None:
        for variable, value in zip(self.trainer.variables, self.start, strict=True):
            variable.assign(value)
        self.trainer.history, self.trainer.best = History(precision=self.trainer.config.runtime.precision), []
        self.trainer.progress.stop_requested = lambda: False
        self.trainer.progress.listeners = [type(self.trainer.progress.listeners[0])()]
        self.trainer.steps_per_call = 1

    def interrupt_at(self, step: int) -> None:
        self.trainer.progress.stop_requested = lambda: self.trainer.step >= step
        with pytest.raises(Interrupted) as caught:
            self.trainer.train()
        assert caught.value.step == self.trainer.step == step
        self.trainer.progress.stop_requested = lambda: False

    def forget(self) -> None:
        """As after the end of the process: nothing is left but the file."""
        for variable in self.trainer.variables:
            variable.assign(tf.cast(tf.fill(variable.shape, 7), variable.dtype))
        self.trainer.history, self.trainer.best = History(precision=self.trainer.config.runtime.precision), []

    def assert_ended_as_before(self) -> None:
        for ours, expected in zip(self.state(), self.result, strict=True):
            assert_array_equal(ours, expected)
        assert without_times(self.trainer.history) == without_times(self.history)


def without_times(history: History) -> dict:
    values = history.to_dict()
    values.pop("seconds")
    return {**values, "curve": [{k: v for k, v in point.items() if k != "seconds"} for point in values["curve"]]}


@pytest.fixture(scope="module", params=KINDS)
def run(
    request: pytest.FixtureRequest,
    config: Callable[..., TrainConfig],
    split: Callable[..., Split],
    trainer: Callable[..., Trainer],
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    overrides, classes = KINDS[request.param]
    checkpoint = tmp_path_factory.mktemp(request.param) / "checkpoint.npz"
    return Run(trainer(config(*overrides), split(classes), checkpoint))


@pytest.fixture
def one_step_per_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_module, "SECONDS_PER_CALL", 1e-9)


@pytest.fixture
def manysteps_per_call(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(trainer_module, "SECONDS_PER_CALL", 1e9)


def test_it_learns(run: Run) -> None:
    curve = run.history.curve
    assert curve[-1].elbo > curve[0].elbo
    assert curve[-1].step == run.trainer.end


@pytest.mark.usefixtures("one_step_per_call")
def test_one_step_per_call_makes_no_difference(run: Run) -> None:
    run.rewind()
    run.trainer.train()
    run.assert_ended_as_before()


@pytest.mark.usefixtures("manysteps_per_call")
def test_manysteps_per_call_make_no_difference(run: Run) -> None:
    run.rewind()
    run.trainer.train()
    run.assert_ended_as_before()


@pytest.mark.usefixtures("one_step_per_call")
def test_interrupted_anywhere_and_resumed_it_ends_bit_identical(run: Run) -> None:
    """Before, at and after the borders of windows and measurements, in the wind-down, and at the very end."""
    end = run.history.curve[-1].step
    for step in (1, 15, 19, 20, 21, end - 1, end) if end < 100 else (20, end - 10, end):
        run.rewind()
        run.interrupt_at(step)
        run.forget()
        run.trainer.resume()
        assert run.trainer.step == step
        run.trainer.train()
        run.assert_ended_as_before()


@pytest.mark.usefixtures("one_step_per_call")
def test_interrupted_time_and_again_it_ends_bit_identical(run: Run) -> None:
    run.rewind()
    for step in (3, 4, 20, 33, 45):
        run.interrupt_at(step)
        run.forget()
        run.trainer.resume()
    run.trainer.train()
    run.assert_ended_as_before()


@pytest.mark.parametrize("run", ["stopping"], indirect=True)
def test_early_stopping_came_before_the_last_planned_step(run: Run) -> None:
    end = run.history.curve[-1].step
    assert end < 3000
    assert len(run.history.bounds) >= 2
    assert any(f"ending at step {end}" in text for text in run.messages)


@pytest.mark.parametrize("run", [pytest.param("adam", marks=pytest.mark.slow), "natgrad"], indirect=True)
@pytest.mark.usefixtures("one_step_per_call")
def test_a_trainer_built_anew_starts_alike_and_ends_bit_identical_from_a_checkpoint(
    run: Run, split: Callable[..., Split], trainer: Callable[..., Trainer], state_of: Callable[[Trainer], State]
) -> None:
    """What another process would do: model, loop and optimizer are new, and the file is all that is handed over."""
    data = split(3)
    anew = trainer(run.trainer.config, data, run.trainer.progress.checkpoint)
    for ours, expected in zip(state_of(anew), run.start, strict=True):
        assert_array_equal(ours, expected)
    run.rewind()
    run.interrupt_at(13)
    anew.resume()
    anew.train()
    assert anew.progress.listeners[0].begun == [(13, 50)]
    for ours, expected in zip(state_of(anew), run.result, strict=True):
        assert_array_equal(ours, expected)
    assert without_times(anew.history) == without_times(run.history)
    run.trainer.train()
    assert_array_equal(anew.probabilities(data.X_test), run.trainer.probabilities(data.X_test))


def test_another_seed_starts_elsewhere(
    config: Callable[..., TrainConfig], split: Callable[..., Split], trainer: Callable[..., Trainer]
) -> None:
    first, second = (trainer(config(*ADAM, f"seed={seed}"), split(3)) for seed in (0, 1))
    assert not np.array_equal(first.model.Z, second.model.Z)


@pytest.fixture
def measured(run: Run) -> Trainer:
    """A finished run of 50 steps that was measured every 15."""
    run.rewind()
    run.trainer.train()
    return run.trainer


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_points_lie_at_the_multiples_and_at_the_end(measured: Trainer) -> None:
    assert [point.step for point in measured.history.curve] == [15, 30, 45, 50]
    assert measured.progress.listeners[0].points == measured.history.curve


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_points_hold_the_metrics_of_the_moment(measured: Trainer) -> None:
    last = measured.history.curve[-1]
    metrics = evaluate(measured.probabilities(measured.split.X_test), measured.split.y_test)
    assert (last.acc, last.nll) == (metrics.acc, metrics.nll)
    assert last.delta == measured.model.delta_value()
    assert last.seconds == measured.history.seconds
    assert last.elbo == pytest.approx(measured.elbo())


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_progress_is_told_and_never_goes_back(measured: Trainer) -> None:
    steps = measured.progress.listeners[0].steps
    assert steps == sorted(set(steps))
    assert steps[-1] == 50
    assert measured.seconds_per_step > 0.0


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_the_bound_is_about_that_of_all_rows(measured: Trainer) -> None:
    """The smoothed bound is a mean over minibatches and over the last steps, so only roughly that of the end."""
    rows = measured.split.X_train, measured.split.y_train[:, None]
    assert measured.elbo() == pytest.approx(float(measured.model.elbo(rows)), rel=0.3)


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_after_training_mixed_precision_still_finds_the_bound_of_float64(measured: Trainer) -> None:
    trained, rows = measured.model, (measured.split.X_train, measured.split.y_train[:, None])
    exact = FusedSVGP(trained.kernel, trained.likelihood, trained.Z.numpy(), num_data=trained.num_data)
    exact.q_mu.assign(trained.q_mu)
    exact.q_sqrt.assign(trained.q_sqrt)
    assert trained.work == tf.float32
    assert float(trained.elbo(rows)) == pytest.approx(float(exact.elbo(rows)), rel=1e-4)


def first_step_with(row: int, data: Split, batch_size: int, seed: int = 0) -> int:
    steps = range(1000)
    return next(k for k in steps if row in batch_indices(seed, tf.constant(k, tf.int64), data.n_train, batch_size))


@pytest.mark.parametrize("overrides", [ADAM, NATURAL], ids=["adam", "natgrad"])
def test_a_loss_that_is_no_number_stops_at_the_step_named_with_nothing_moved(
    config: Callable[..., TrainConfig],
    split: Callable[..., Split],
    trainer: Callable[..., Trainer],
    overrides: tuple[str, ...],
) -> None:
    data = split(3)
    failing = trainer(config(*overrides), data)  # built on good rows; one of them is lost afterwards
    X = data.X_train.copy()
    X[5] = np.nan
    failing.loop.X = tf.constant(X)
    expected = first_step_with(5, data, 16)
    assert expected > 0
    failing.loop.run_until(expected)
    failing.optimizer.settle()
    before = [variable.numpy() for variable in failing.model.variables]
    with pytest.raises(GpcnoiseError, match=rf"loss is not a finite number at step {expected}; try a smaller"):
        failing.train()
    assert failing.step == expected
    for variable, value in zip(failing.model.variables, before, strict=True):
        assert_array_equal(variable, value)
    halvings = [text for text in failing.progress.listeners[0].messages if "halving" in text]
    assert bool(halvings) == (overrides is NATURAL)


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_a_parameter_that_is_no_number_is_named(run: Run) -> None:
    run.rewind()
    run.trainer.model.kernel.variance.unconstrained_variable.assign(np.nan)
    with pytest.raises(GpcnoiseError, match="a parameter is not a finite number at step 0"):
        run.trainer.train()


@pytest.mark.parametrize("run", ["adam", "natgrad"], indirect=True)
def test_a_singular_kernel_matrix_is_met_with_jitter_and_said(run: Run) -> None:
    """Equal inducing points, and a jitter that float64 cannot see beside a variance of five."""
    run.rewind()
    trainer = run.trainer
    trainer.model.Z.assign(np.tile(trainer.model.Z.numpy()[:1], (8, 1)))
    trainer.model.jitter.assign(1e-17)
    trainer.schedule.end.assign(3)
    trainer.train()
    raised = [text for text in trainer.progress.listeners[0].messages if "jitter raised to" in text]
    assert raised
    assert "nearly singular at step 0" in raised[0]
    assert 1e-17 < float(trainer.model.jitter) <= LARGEST_JITTER
    assert trainer.step == 3
    assert np.isfinite(trainer.elbo())


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_what_a_prediction_needs_of_jitter_does_not_change_the_training(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.rewind()
    trainer, usual = run.trainer, float(run.trainer.model.jitter)
    predict = trainer.predictor._block

    def troubled(X: tf.Tensor) -> tf.Tensor:
        return predict(X) if float(trainer.model.jitter) > 5 * usual else predict(X) * np.nan

    monkeypatch.setattr(trainer.predictor, "_block", troubled)
    trainer.train()
    assert float(trainer.model.jitter) == usual
    for ours, theirs in zip(run.state(), run.result, strict=True):
        assert_array_equal(ours, theirs)
    assert any("predicted with jitter" in text for text in trainer.history.incidents)


@pytest.mark.parametrize("run", ["adam", "natgrad"], indirect=True)
def test_a_kernel_matrix_beyond_help_ends_in_a_sentence(run: Run) -> None:
    run.rewind()
    run.trainer.model.Z.assign(np.tile(run.trainer.model.Z.numpy()[:1], (8, 1)))
    run.trainer.model.kernel.lengthscales.assign(1e-200)  # distances whose squares are no numbers
    with pytest.raises(GpcnoiseError, match=r"cannot be factorised at step 0 even with jitter 0\.01; try fewer"):
        run.trainer.train()


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_a_checkpoint_is_written_as_time_goes_by(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.rewind()
    monkeypatch.setattr(run.trainer.config.runtime, "checkpoint_seconds", 1e-9)
    run.trainer.progress.checkpoint.unlink(missing_ok=True)
    run.trainer.train()
    assert run.trainer.progress.checkpoint.exists()
    run.assert_ended_as_before()


@pytest.mark.parametrize("run", ["adam"], indirect=True)
def test_a_damaged_checkpoint_stops_a_resume_in_a_sentence(run: Run) -> None:
    run.trainer.progress.checkpoint.write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(GpcnoiseError, match=r"the checkpoint .*checkpoint\.npz is damaged"):
        run.trainer.resume()
