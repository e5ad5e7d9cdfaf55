"""Adam against Keras's, whose rule it is, and against the formulas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.training import adam as adam_module
from gpcnoise_cli.training.adam import BETA_1, BETA_2, EPSILON, Adam

SHAPES = [(), (3,), (2, 3, 3)]


def starts(dtype: type) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [np.asarray(rng.normal(size=shape), dtype) for shape in SHAPES]


def gradients(dtype: type, steps: int = 30) -> Iterator[tuple[int, float, list[np.ndarray]]]:
    """Steps with rates that float32 holds exactly (Keras keeps its rate there) and gradients of any size."""
    rng = np.random.default_rng(1)
    for step in range(steps):
        size = 10.0 ** rng.uniform(-6, 6)
        yield step, 2.0 ** -(6 + step % 3), [np.asarray(size * rng.normal(size=shape), dtype) for shape in SHAPES]


def ours(dtype: type, beta_2: float = BETA_2) -> list[tf.Variable]:
    variables = [tf.Variable(start) for start in starts(dtype)]
    adam = Adam(variables, beta_2)
    for step, rate, slopes in gradients(dtype):
        adam.apply([tf.constant(g) for g in slopes], tf.constant(step, tf.int64), tf.constant(rate, tf.float64))
    return variables


@pytest.mark.parametrize(
    "reference", [tf_keras.optimizers.Adam, tf_keras.optimizers.legacy.Adam], ids=["new", "legacy"]
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-6)], ids=["float64", "float32"])
@pytest.mark.parametrize("beta_2", [BETA_2, 0.95])
def test_it_makes_the_steps_of_keras(
    reference: type, dtype: type, tolerance: float, beta_2: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Keras rounds its β to float32 whatever the variables are: compare at values that are exact there.
    beta_1, beta_2 = float(np.float32(BETA_1)), float(np.float32(beta_2))
    monkeypatch.setattr(adam_module, "BETA_1", beta_1)
    keras = reference(0.0, beta_1=beta_1, beta_2=beta_2)
    theirs = [tf.Variable(start) for start in starts(dtype)]
    for _, rate, slopes in gradients(dtype):
        keras.learning_rate = rate
        keras.apply_gradients(zip([tf.constant(g) for g in slopes], theirs, strict=True))
    for variable, expected, start in zip(ours(dtype, beta_2), theirs, starts(dtype), strict=True):
        assert_allclose(variable, expected, rtol=tolerance, atol=tolerance)
        assert np.all(np.abs(variable - start) > 1e-3)


def test_it_is_kingma_and_bas_rule_in_full_precision() -> None:
    values, first, second = starts(np.float64), [0.0] * 3, [0.0] * 3
    for step, rate, slopes in gradients(np.float64):
        scale = rate * np.sqrt(1 - BETA_2 ** (step + 1)) / (1 - BETA_1 ** (step + 1))
        for i, slope in enumerate(slopes):
            first[i] = BETA_1 * first[i] + (1 - BETA_1) * slope
            second[i] = BETA_2 * second[i] + (1 - BETA_2) * slope**2
            values[i] = values[i] - scale * first[i] / (np.sqrt(second[i]) + EPSILON)
    for variable, expected in zip(ours(np.float64), values, strict=True):
        assert_allclose(variable, expected, rtol=1e-12, atol=1e-12)


def test_a_variable_without_gradient_stays() -> None:
    still, moving = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
    adam = Adam([still, moving])
    adam.apply([None, tf.ones(2)], tf.constant(0, tf.int64), tf.constant(0.1))
    assert_array_equal(still, [1.0, 2.0])
    assert_allclose(moving, [0.9, 1.9], rtol=1e-6)


def test_its_memory_is_two_slots_a_variable() -> None:
    adam = Adam([tf.Variable(tf.zeros([2, 2], tf.float64)), tf.Variable(0.0)])
    assert [(v.dtype, tuple(v.shape)) for v in adam.variables] == [(tf.float64, (2, 2)), (tf.float32, ())] * 2
    assert not any(v.trainable for v in adam.variables)
