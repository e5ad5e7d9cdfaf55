"""A compiled loop that is used again belongs to the new fit altogether."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.models.build import build_model
from gpcnoise_cli.training.progress import Progress
from gpcnoise_cli.training.reuse import give_back, take_trainer
from gpcnoise_cli.training.trainer import Trainer


def test_a_trainer_that_is_used_again_has_the_start_and_the_weights_of_its_new_fit(
    split: Callable[..., Split], config: Callable[..., TrainConfig]
) -> None:
    settings = config("optimizer=natgrad", "likelihood=softmax", "kernel.lengthscale_start=data", "optimizer.cycle=20")
    whole = split(3, rows=300)
    weights = np.linspace(0.5, 2.0, whole.n_train)
    data = replace(whole, X_test=whole.X_test[:0], y_test=whole.y_test[:0], weights=weights)
    other = replace(data, X_train=2 * data.X_train, weights=weights[::-1].copy())
    first = take_trainer(settings, build_model(settings, data.X_train, 3), data, Progress())
    give_back(first)
    again = take_trainer(settings, build_model(settings, other.X_train, 3), other, Progress())
    assert again is first
    fresh = Trainer(settings, build_model(settings, other.X_train, 3), other)
    assert fresh.start
    for ours, theirs in zip(again.start, fresh.start, strict=True):
        assert_array_equal(ours, theirs)
    assert_array_equal(again.loop.weights.numpy(), other.weights)
    assert_array_equal(again.assessor.weights, fresh.assessor.weights)
