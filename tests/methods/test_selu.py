"""Selu: the network normalises itself, learns, resumes bit-identical, and comes back from its arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tf_keras as keras
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.generators import sample_ringnorm
from gpcnoise_cli.data.split import Split, Table, make_split
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.methods import selu
from gpcnoise_cli.methods.selu import LOWEST, METHOD, Network, Settings, alpha_dropout
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents
from gpcnoise_cli.training.progress import Interrupted, Progress


def config(*overrides: str) -> TrainConfig:
    small = ("layers=2", "units=16", "batch_size=32", "epochs=6", "patience=3")
    return compose(["method=selu", *(f"method.settings.{one}" for one in (*small, *overrides))])


@pytest.fixture(scope="module")
def rings() -> Split:
    X, y = sample_ringnorm(400, d=4)
    table = Table(X, y, (0, 1), tuple("abcd"), "generated")
    return make_split("rings", table, protocol="clean", split=0)


def test_selu_keeps_mean_and_variance_of_a_normal() -> None:
    def moment(power: int) -> float:
        def density(z: float) -> float:
            return float(keras.activations.selu(np.float64(z)).numpy()) ** power * stats.norm.pdf(z)

        return integrate.quad(density, -9, 0)[0] + integrate.quad(density, 0, 9)[0]

    assert moment(1) == pytest.approx(0.0, abs=1e-6)
    assert moment(2) == pytest.approx(1.0, abs=1e-6)


def test_many_layers_keep_their_activations_normal() -> None:
    settings = Settings(32, 256, False, 0.0, 1e-3, 32, 1, 0.15, 1)
    network = Network(64, 2, settings)
    x = tf.random.stateless_normal([2000, 64], [1, 2])
    for layer in network.layers[:-1]:
        x = layer(x)
    assert abs(float(tf.reduce_mean(x))) < 0.1
    assert 0.8 < float(tf.math.reduce_variance(x)) < 1.2


def test_alpha_dropout_keeps_the_moments_and_does_what_keras_does() -> None:
    x = tf.random.stateless_normal([400_000], [3, 4])
    dropped = alpha_dropout(x, 0.1, tf.constant([5, 6], tf.int64))
    assert abs(float(tf.reduce_mean(dropped))) < 0.01
    assert float(tf.math.reduce_variance(dropped)) == pytest.approx(1.0, abs=0.01)
    # Of zeros there are two values left, one for the kept and one for the dropped: the same two as Keras has.
    zeros = tf.zeros([10_000])
    ours = np.unique(alpha_dropout(zeros, 0.1, tf.constant([5, 6], tf.int64)))
    theirs = np.unique(keras.layers.AlphaDropout(0.1, seed=1)(zeros, training=True))
    assert len(ours) == 2
    assert_allclose(ours, theirs, rtol=1e-6)
    assert pytest.approx(float(keras.activations.selu(tf.constant(-50.0, tf.float64)))) == LOWEST


def test_weights_start_with_variance_one_over_fan_in() -> None:
    first = Network(400, 3, Settings(1, 500, False, 0.0, 1e-3, 32, 1, 0.15, 1)).variables[0].numpy()
    assert first.var() == pytest.approx(1 / 400, rel=0.02)


def test_a_conic_network_narrows_towards_the_classes() -> None:
    widths = Settings(4, 256, True, 0.0, 1e-3, 32, 1, 0.15, 1).widths(4)
    assert widths[0] == 256
    assert sorted(widths, reverse=True) == widths
    assert 4 < widths[-1] < 64


def test_it_learns_and_comes_back_from_its_files(rings: Split, tmp_path: Path) -> None:
    classifier = METHOD.start(config("epochs=40", "patience=10"), rings).run(Progress())
    found = classifier.predict(rings.X_test)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)
    assert np.mean(found.argmax(axis=1) == rings.y_test) > 0.75
    facts = classifier.facts()
    assert facts["best_epoch"] <= facts["epochs"] <= 40
    TrainedModel.of(config("epochs=40", "patience=10"), classifier, rings).save(tmp_path)
    loaded = TrainedModel.load(tmp_path)
    assert_array_equal(loaded.classifier.predict(rings.X_test), found)
    assert_allclose(loaded.predict_scaled(rings.X_test), found, rtol=0, atol=1e-6)  # float64, not float32


def test_the_result_is_the_best_epoch_on_rows_of_its_own(rings: Split) -> None:
    class Heard(TrainingEvents):
        def __init__(self) -> None:
            self.points: list[CurvePoint] = []
            self.said: list[str] = []

        def measured(self, point: CurvePoint) -> None:
            self.points.append(point)

        def message(self, text: str) -> None:
            self.said.append(text)

    fit = METHOD.start(config("epochs=60", "learning_rate=0.02"), rings)
    classifier = fit.run(Progress([heard := Heard()]))
    facts = classifier.facts()
    assert facts["epochs"] == len(heard.points) == facts["best_epoch"] + 3 < 60
    assert heard.said == [f"the held-out loss no longer falls: ending after epoch {facts['epochs']}."]
    assert len(fit.held_out) == int(0.15 * rings.n_train)
    assert not set(fit.held_out) & set(fit.rows)
    probabilities = classifier.predict(rings.X_train[fit.held_out])
    nll = -np.mean(np.log(probabilities[np.arange(len(fit.held_out)), rings.y_train[fit.held_out]]))
    assert facts["validation_nll"] == pytest.approx(nll, rel=1e-5)


def test_an_interrupted_fit_ends_bit_identical(rings: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selu, "STEPS_AT_ONCE", 4)  # 10 steps an epoch: the interruption falls inside one
    whole = METHOD.start(config(), rings).run(Progress())
    checkpoint = tmp_path / "checkpoint.npz"
    first = METHOD.start(config(), rings)
    with pytest.raises(Interrupted):
        first.run(Progress(stop_requested=lambda: int(first.step) >= 14, checkpoint=checkpoint))
    assert int(first.step) % 10 != 0
    second = METHOD.start(config(), rings).run(Progress(checkpoint=checkpoint, resume=True))
    for ours, theirs in zip(second.arrays().values(), whole.arrays().values(), strict=True):
        assert_array_equal(ours, theirs)
    assert second.facts()["steps"] == whole.facts()["steps"]


def test_it_may_start_from_an_earlier_fit(rings: Split) -> None:
    earlier = METHOD.start(config(), rings).run(Progress()).arrays()
    again = METHOD.start(config(), rings, earlier)
    for variable, value in zip(again.network.variables, earlier.values(), strict=True):
        assert_array_equal(variable, value)


def test_without_held_out_rows_the_training_loss_decides(rings: Split) -> None:
    facts = METHOD.start(config("validation=0.0"), rings).run(Progress()).facts()
    assert facts["validation_nll"] is None


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("layers=0", "method.settings.layers must be at least 1, not 0"),
        ("dropout=1.0", "method.settings.dropout must be at least 0 and less than 1, not 1.0"),
        ("learning_rate=-1.0", "method.settings.learning_rate must be greater than 0, not -1.0"),
        ("validation=2.0", "method.settings.validation must be at least 0 and less than 1, not 2.0"),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(rings: Split, setting: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        METHOD.start(config(setting), rings)


def test_a_loss_that_is_no_number_ends_in_a_sentence(rings: Split) -> None:
    with pytest.raises(GpcnoiseError, match="the loss is not a finite number in epoch 1; method"):
        METHOD.start(config("learning_rate=1e30", "layers=8"), rings).run(Progress())


def test_arrays_of_another_network_are_refused(split: Callable[..., Split], rings: Split) -> None:
    arrays = METHOD.start(config(), rings).run(Progress()).arrays()
    with pytest.raises(ValueError, match="not those of the configuration"):
        METHOD.restore(config("units=8"), arrays, 4, 2, 10)
