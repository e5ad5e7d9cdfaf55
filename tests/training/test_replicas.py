"""One model on two devices: the same bound, gradients and training as on one. The devices are halves of a processor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.devices import scope
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.methods.svgp import METHOD
from gpcnoise_cli.scale.forecast import Job, Machine, forecast
from gpcnoise_cli.scale.step_cost import StepCost
from gpcnoise_cli.training.batches import Minibatch
from gpcnoise_cli.training.progress import Interrupted, Progress
from gpcnoise_cli.training.replicas import part_of, sum_of_parts
from gpcnoise_cli.training.trainer import Trainer

# 17 rows are no even number of them: the replicas have 8 and 9.
COMMON = ("batch_size=17", "iterations=12", "runtime.eval_every=12", "optimizer.early_stop=false")
KINDS = {
    "adam, shared": ("optimizer=adam", "likelihood=probit", "delta=optimal", "kernel.shared=true"),
    "adam, per class": ("optimizer=adam", "likelihood=softmax", "kernel.shared=false", "kernel.ard=true"),
    "natgrad, shared": ("optimizer=natgrad", "likelihood=probit", "delta=free", "kernel.shared=true"),
    "natgrad, per class": ("optimizer=natgrad", "likelihood=softmax", "kernel.shared=false", "kernel.ard=true"),
    "natgrad, predictive": ("optimizer=natgrad", "likelihood=logit", "delta=optimal", "objective=predictive"),
}
QUICK = ("natgrad, per class",)


@pytest.fixture(autouse=True)
def _two_devices() -> None:
    if len(tf.config.list_logical_devices("CPU")) < 2:
        pytest.skip("TensorFlow had started before the processor could be divided")


@given(size=st.integers(1, 60), replicas=st.integers(1, 8))
def test_every_row_of_a_minibatch_falls_to_one_replica(size: int, replicas: int) -> None:
    if size >= replicas:
        parts = [part_of(tf.range(size), replica, replicas) for replica in range(replicas)]
        assert_array_equal(np.concatenate([rows.numpy() for rows, _ in parts]), np.arange(size))
        assert_allclose([part for _, part in parts], [len(rows) / size for rows, _ in parts])
        assert max(len(rows) for rows, _ in parts) - min(len(rows) for rows, _ in parts) <= 1


def test_what_travels_as_a_half_arrives_whole() -> None:
    random = np.random.default_rng(0)
    M = random.normal(size=(2, 5, 5))
    symmetric, triangular, plain = M + M.transpose(0, 2, 1), np.tril(M), random.normal(size=3)
    values = [tf.constant(value) for value in (symmetric, triangular, plain)]
    found = sum_of_parts(0.5, [*values, None], symmetric=[0], triangular=[1])
    assert found.pop() is None
    for value, sent in zip(found, (symmetric, triangular, plain), strict=True):
        assert_allclose(value.numpy(), sent / 2, rtol=1e-15)


def test_one_device_adds_nothing_to_a_step() -> None:
    value = tf.constant(1.0)
    assert sum_of_parts(1.0, [value, None])[0] is value


@pytest.mark.parametrize("kind", [pytest.param(k, marks=() if k in QUICK else pytest.mark.slow) for k in KINDS])
def test_two_devices_train_as_one(
    kind: str, split: Callable[..., Split], config: Callable[..., TrainConfig], trainer: Callable[..., Trainer]
) -> None:
    one, two = (
        trainer(config(*COMMON, *KINDS[kind], f"runtime.devices={devices}"), split(3)) for devices in ("1", "2")
    )
    loss = one.loop.run_until(1)
    with scope(two.config.runtime):
        assert_allclose(two.loop.run_until(1), loss, rtol=1e-12)
        # After one step from zero, Adam's first moments are a tenth of the gradients, and Λ has moved by A diag(g) Aᵀ.
        for mine, theirs in zip(two.optimizer.variables, one.optimizer.variables, strict=True):
            assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-8, atol=1e-10)
        two.train()
    one.train()
    assert one.step == two.step == 12
    for mine, theirs in zip(two.variables, one.variables, strict=True):
        assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-8, atol=1e-8)
        copies = [copy.numpy() for copy in mine.values]
        assert_array_equal(copies[0], copies[1])
    assert_allclose(two.history.curve[-1].nll, one.history.curve[-1].nll, rtol=1e-8)


@pytest.mark.slow
def test_two_devices_train_as_one_with_weights(
    split: Callable[..., Split], config: Callable[..., TrainConfig], trainer: Callable[..., Trainer]
) -> None:
    data, settings = split(3), (*COMMON, *KINDS["natgrad, per class"])
    data = replace(data, weights=np.linspace(0.5, 2.0, data.n_train))
    one, two = (trainer(config(*settings, f"runtime.devices={devices}"), data) for devices in ("1", "2"))
    one.train()
    with scope(two.config.runtime):
        two.train()
    for mine, theirs in zip(two.variables, one.variables, strict=True):
        assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["adam, shared", "natgrad, per class", "natgrad, predictive"])
def test_a_step_sends_as_many_numbers_as_are_planned(
    kind: str,
    split: Callable[..., Split],
    config: Callable[..., TrainConfig],
    trainer: Callable[..., Trainer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, data, sent = config(*COMMON, *KINDS[kind]), split(3), []

    def counted(_: tf.distribute.ReplicaContext, __: object, values: list[tf.Tensor]) -> list[tf.Tensor]:
        sent.append(sum(int(tf.size(value)) for value in values))
        return values

    monkeypatch.setattr(tf.distribute.ReplicaContext, "all_reduce", counted)
    rows = tf.range(8, dtype=tf.int64)
    batch = Minibatch(tf.gather(data.X_train, rows), tf.gather(data.y_train[:, None], rows), rows, part=0.5)
    trainer(settings, data).optimizer.step(batch, tf.constant(0, tf.int64))
    planned = forecast(Job(settings, 100, data.d, 3, devices=2), Machine(None, 0.5, 16, 16, 10, 1), StepCost.read())
    # A kernel may have one lengthscale or d, and δ may be learned, followed or absent: a handful of numbers.
    assert sent[0] == pytest.approx(planned.numbers_per_step, abs=3 * (data.d + 2))


@pytest.mark.slow
def test_a_run_goes_on_with_fewer_devices(
    tmp_path: Path, split: Callable[..., Split], config: Callable[..., TrainConfig]
) -> None:
    data, settings = split(3), (*COMMON, *KINDS["natgrad, per class"])
    whole = METHOD.start(config(*settings), data).run(Progress())
    place = tmp_path / "checkpoint.npz"
    with pytest.raises(Interrupted):
        METHOD.start(config(*settings, "runtime.devices=2"), data).run(Progress([], lambda: True, place))
    resumed = METHOD.start(config(*settings), data).run(Progress([], checkpoint=place, resume=True))
    assert_allclose(resumed.predict(data.X_test), whole.predict(data.X_test), rtol=1e-8)
    assert resumed.facts()["steps"] == whole.facts()["steps"] == 12


@pytest.mark.slow
def test_trouble_is_met_on_two_devices_as_on_one(
    split: Callable[..., Split], config: Callable[..., TrainConfig]
) -> None:
    hopeless = ("optimizer=adam", "kernel.lengthscale=6", "runtime.jitter=1e-18", "inducing=60", "iterations=3")
    one, two = (
        METHOD.start(config(*hopeless, f"runtime.devices={devices}"), split(3)).run(Progress()).facts()["incidents"]
        for devices in ("1", "all")
    )
    assert one == two
    assert any("nearly singular" in incident for incident in two)


def test_more_devices_than_there_are_is_refused(
    split: Callable[..., Split], config: Callable[..., TrainConfig]
) -> None:
    with pytest.raises(UsageError, match=r"runtime.devices=3, but TensorFlow sees 2 CPUs here.*use runtime.devices=2"):
        METHOD.start(config("runtime.devices=3"), split(3))


def test_a_minibatch_with_fewer_rows_than_devices_is_refused(
    split: Callable[..., Split], config: Callable[..., TrainConfig]
) -> None:
    with pytest.raises(UsageError, match="a minibatch of 1 row cannot be shared by 2 devices; take a larger"):
        METHOD.start(config("runtime.devices=all", "batch_size=1"), split(3))
