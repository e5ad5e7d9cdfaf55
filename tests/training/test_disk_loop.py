"""Training from disk: as in memory where one block holds all rows; resumed as uninterrupted whatever the blocks are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data import store as store_module
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.data.storage import stored_split
from gpcnoise_cli.devices import scope
from gpcnoise_cli.methods.svgp import METHOD
from gpcnoise_cli.training import trainer as trainer_module
from gpcnoise_cli.training.disk_loop import DiskLoop
from gpcnoise_cli.training.progress import Interrupted, Progress
from gpcnoise_cli.training.reuse import is_reusable
from gpcnoise_cli.training.trainer import Trainer

KINDS = {
    "adam": ("optimizer=adam", "likelihood=probit", "delta=optimal", "runtime.precision=mixed"),
    "natgrad": ("optimizer=natgrad", "likelihood=softmax", "optimizer.early_stop=false", "runtime.precision=mixed"),
}
Make = Callable[..., Trainer]
State = Callable[[Trainer], list[np.ndarray]]


def in_float32(split: Split) -> Split:
    return replace(split, X_train=split.X_train.astype(np.float32))


@pytest.mark.parametrize(
    ("kind", "batch_size"),
    [("natgrad", 16), *(pytest.param("adam", size, marks=pytest.mark.slow) for size in (1000, 16))],
)
def test_one_block_trains_as_memory_does_to_the_last_bit(
    kind: str,
    batch_size: int,
    config: Callable[..., TrainConfig],
    split: Callable[..., Split],
    trainer: Make,
    state_of: State,
) -> None:
    settings = config(*KINDS[kind], f"batch_size={batch_size}", "iterations=30")
    memory = in_float32(split(3))
    disk = stored_split(memory)
    ends = []
    for data in (memory, disk):
        one = trainer(settings, data)
        one.train()
        ends.append(([*state_of(one), *one.best], one.elbo(), [point.nll for point in one.history.curve]))
    for ours, expected in zip(ends[1][0], ends[0][0], strict=True):
        assert_array_equal(ours, expected)
    assert ends[1][1:] == ends[0][1:]


@pytest.mark.slow
def test_small_blocks_resumed_end_bit_identical(
    config: Callable[..., TrainConfig],
    split: Callable[..., Split],
    trainer: Make,
    state_of: State,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Interrupted within a window, at its end, and within a block."""
    monkeypatch.setattr(store_module, "BLOCK_BYTES", 4 * 2 * 40)  # 2 features, 90 rows: three blocks
    monkeypatch.setattr(trainer_module, "SECONDS_PER_CALL", 1e-9)
    settings = config(*KINDS["natgrad"], "iterations=24")
    data = stored_split(split(3))
    assert data.store is not None
    assert data.store.block_rows < data.n_train
    whole = trainer(settings, data)
    whole.train()
    expected = state_of(whole)
    again = trainer(settings, data, tmp_path / "checkpoint.npz")
    start = state_of(again)
    for step in (1, 2, 9, 23):
        for variable, value in zip(again.variables, start, strict=True):
            variable.assign(value)
        again.history, again.best = type(again.history)(precision="mixed"), []
        again.progress.resume, again.steps_per_call = False, 1
        again.progress.stop_requested = lambda step=step: again.step >= step
        with pytest.raises(Interrupted):
            again.train()
        again.progress.stop_requested, again.progress.resume = lambda: False, True
        for variable in again.variables:
            variable.assign(tf.cast(tf.fill(variable.shape, 7), variable.dtype))
        again.train()
        for ours, theirs in zip(state_of(again), expected, strict=True):
            assert_array_equal(ours, theirs)


def test_a_fit_from_disk_learns_and_starts_from_its_first_block(
    config: Callable[..., TrainConfig], split: Callable[..., Split], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "BLOCK_BYTES", 4 * 3 * 100)
    memory = split(2, rows=400)
    disk = stored_split(memory)
    assert len(disk.first_rows()[0]) == 100
    assert not is_reusable(replace(disk, X_test=disk.X_test[:0]))
    scores = []
    for data in (memory, disk):
        settings = config("likelihood=probit", "optimizer=natgrad", "iterations=60")
        classifier = METHOD.start(settings, data).run(Progress())
        assert classifier.model.num_data == data.n_train
        scores.append(np.mean(classifier.predict(data.X_test).argmax(axis=1) == data.y_test))
    assert scores[1] > max(0.8, scores[0] - 0.1)


def test_a_run_that_goes_on_in_float64_reads_on_where_it_was(
    config: Callable[..., TrainConfig], split: Callable[..., Split], trainer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "BLOCK_BYTES", 4 * 2 * 40)
    one = trainer(config(*KINDS["adam"], "batch_size=16"), stored_split(split(3)))
    one.loop.run_until(3)
    before = one.loop
    one.use_float64()
    assert np.isfinite(one.loop.run_until(6))
    assert one.step == 6
    assert isinstance(before, DiskLoop)
    with pytest.raises(RuntimeError, match="shutdown"):
        before.windows.at(0)


@pytest.mark.slow
def test_two_devices_train_from_disk_as_one(
    config: Callable[..., TrainConfig], split: Callable[..., Split], trainer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(tf.config.list_logical_devices("CPU")) < 2:
        pytest.skip("TensorFlow had started before the processor could be divided")
    monkeypatch.setattr(store_module, "BLOCK_BYTES", 4 * 2 * 40)
    data = stored_split(split(3))
    one, two = (
        trainer(config(*KINDS["natgrad"], "batch_size=17", "runtime.precision=float64", f"runtime.devices={n}"), data)
        for n in ("1", "2")
    )
    loss = one.loop.run_until(5)
    with scope(two.config.runtime):
        assert_allclose(two.loop.run_until(5), loss, rtol=1e-9)
