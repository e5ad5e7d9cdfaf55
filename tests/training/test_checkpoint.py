"""A checkpoint gives back every variable to the last bit, or says in a sentence why it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.training.checkpoint import load_checkpoint, save_checkpoint

VALUES = [
    np.array([[0.1, np.nextafter(1.0, 2.0)], [1e-310, -0.0]]),
    np.array([np.pi, 3e-45], dtype=np.float32),
    np.array(2**62 + 1),
]
BEST = [np.array([1.5]), np.array([[2]], dtype=np.float32)]
HISTORY = {"seconds": 0.1, "curve": [{"step": 3, "delta": None}], "windows": [1e-17]}


def variables(scale: float = 1.0) -> list[tf.Variable]:
    return [tf.Variable(tf.zeros_like(value) * tf.cast(scale, value.dtype)) for value in VALUES]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, [tf.Variable(value) for value in VALUES], HISTORY, BEST)
    return path


def test_everything_comes_back_to_the_last_bit(path: Path) -> None:
    restored = variables()
    stored = load_checkpoint(path)
    stored.restore(restored)
    assert stored.history == HISTORY
    assert [value.tobytes() for value in stored.best] == [value.tobytes() for value in BEST]
    for variable, value in zip(restored, VALUES, strict=True):
        assert variable.numpy().tobytes() == value.tobytes()


def test_a_later_one_replaces_it_and_leaves_nothing_beside_it(path: Path) -> None:
    save_checkpoint(path, [tf.Variable(2.0)], {})
    restored = tf.Variable(0.0)
    load_checkpoint(path).restore([restored])
    assert restored.numpy() == 2.0
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(GpcnoiseError, match=r"there is no checkpoint at .*absent\.npz; start the run again"):
        load_checkpoint(tmp_path / "absent.npz")


def test_one_that_was_cut_short_is_refused(path: Path) -> None:
    content = path.read_bytes()
    for keep in (0, 1, 3, 4, 30, len(content) // 2, len(content) - 30, len(content) - 1):
        path.write_bytes(content[:keep])
        restored = variables()
        with pytest.raises(GpcnoiseError, match="is damaged"):
            load_checkpoint(path).restore(restored)
        assert all(np.all(variable.numpy() == 0) for variable in restored)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0.0, 1.0, exclude_max=True), bit=st.integers(0, 7))
def test_one_flipped_bit_is_noticed_or_without_effect(path: Path, where: float, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[int(where * len(content))] ^= 1 << bit
    damaged, restored = path.with_name("damaged.npz"), variables()
    damaged.write_bytes(content)
    try:
        stored = load_checkpoint(damaged)
        stored.restore(restored)
    except GpcnoiseError:
        return
    assert stored.history == HISTORY
    for variable, value in zip(restored, VALUES, strict=True):
        assert_array_equal(variable, value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    for content in (b"", b"not an archive", b"\x80\x04\x95", b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(GpcnoiseError, match="is damaged"):
            load_checkpoint(path).restore(variables())
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(GpcnoiseError, match="is damaged"):
        load_checkpoint(path).restore(variables())
    np.savez(path, v000=np.array([{"a": 1}], dtype=object))
    with pytest.raises(GpcnoiseError, match="is damaged"):
        load_checkpoint(path).restore(variables())


def test_that_of_another_run_is_refused_and_changes_nothing(path: Path) -> None:
    """Another number of inducing points (shapes) or another optimizer (more or fewer variables)."""
    same, other = tf.Variable(tf.zeros([2, 2], tf.float64)), tf.Variable(tf.zeros([3], tf.float32))
    for chosen in ([same, other, tf.Variable(0, dtype=tf.int64)], [*variables(), tf.Variable(0.0)], variables()[:2]):
        with pytest.raises(GpcnoiseError, match="belongs to another configuration"):
            load_checkpoint(path).restore(chosen)
        assert all(np.all(variable.numpy() == 0) for variable in chosen)
