"""A row of weight two is two rows: in every step, start, stop and assessment of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.methods.svgp import METHOD
from gpcnoise_cli.models.build import build_model
from gpcnoise_cli.models.inducing import start_inducing_points
from gpcnoise_cli.models.kernels import start_lengthscale
from gpcnoise_cli.training.assessment import Assessor
from gpcnoise_cli.training.batches import Minibatch
from gpcnoise_cli.training.optimizers import build_optimizer
from gpcnoise_cli.training.progress import Progress
from gpcnoise_cli.training.schedule import Schedule

Splits = Callable[..., Split]
ROWS = 24
KINDS = {
    "softmax": (3, "likelihood=softmax", "optimizer=natgrad"),
    "probit, δ at its optimum": (3, "likelihood=probit", "optimizer=natgrad", "delta=optimal"),
    "step, Adam, free δ": (2, "likelihood=step", "optimizer=adam", "delta=free", "preset=paper"),
    "logit, predictive, free δ": (*(2, "likelihood=logit", "optimizer=natgrad", "delta=free", "objective=predictive"),),
    "dirichlet": (3, "likelihood=dirichlet", "optimizer=natgrad"),
}
# Adam divides a gradient by its own size, so that the rounding of one that is nothing would grow to a step.
NO_ADAM = "optimizer.learning_rate=1e-9"


def weighted_and_repeated(data: Split) -> tuple[Split, Split]:
    """The same rows, some of which count twice or three times: by weights, and by standing there so often."""
    X, y = data.X_train[:ROWS], data.y_train[:ROWS]
    times = np.tile([1, 2, 1, 3], ROWS // 4)
    one = replace(data, X_train=X, y_train=y, weights=times.astype(np.float64), rows=None)
    return one, replace(one, X_train=X.repeat(times, axis=0), y_train=y.repeat(times), weights=None)


@pytest.mark.parametrize("kind", ["softmax", pytest.param("probit, δ at its optimum", marks=pytest.mark.slow)])
def test_a_run_with_weights_is_the_run_with_repeated_rows(split: Splits, kind: str) -> None:
    classes, *overrides = KINDS[kind]
    config = compose(
        [*overrides, NO_ADAM, f"inducing={ROWS}", "batch_size=99", "iterations=8", "runtime.precision=float64"]
    )
    found = []
    for data in weighted_and_repeated(split(classes)):
        classifier = METHOD.start(config, data).run(Progress())
        facts = classifier.facts()
        found.append((classifier.predict(data.X_test), facts["objective_value"], facts["delta"] or 0.0))
    for ours, theirs in zip(*found, strict=True):
        assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_with_weights_is_the_step_with_repeated_rows(split: Splits, kind: str) -> None:
    """q(u), δ and the loss after a step, and the gradients that Adam was handed for all the rest."""
    classes, *overrides = KINDS[kind]
    config = compose([*overrides, NO_ADAM, "inducing=8", "optimizer.warm_up=0", "runtime.precision=float64"])
    found = []
    weighted, repeated = weighted_and_repeated(split(classes))
    start = build_model(config, weighted.X_train, classes).Z.numpy()
    for data in (weighted, repeated):
        model = build_model(config, data.X_train, classes, weights=data.weights)
        model.Z.assign(start)  # k-means draws its first centres by lot
        model.q_mu.assign(np.random.default_rng(0).normal(size=model.q_mu.shape))
        model.likelihood.prepare(np.bincount(data.y_train, data.weights, minlength=classes))
        optimizer = build_optimizer(model, config.optimizer, Schedule(10, config.optimizer))
        weights = None if data.weights is None else tf.constant(data.weights)
        batch = Minibatch(
            tf.constant(data.X_train), tf.constant(data.y_train[:, None]), tf.range(data.n_train), weights=weights
        )
        loss = optimizer.step(batch, tf.constant(5, tf.int64))
        optimizer.settle()
        found.append([loss.numpy(), *(variable.numpy() for variable in (*model.variables, *optimizer.variables))])
    for ours, theirs in zip(*found, strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


def test_an_assessment_counts_weights_as_rows(split: Splits) -> None:
    weighted, repeated = weighted_and_repeated(split(3))
    config = compose(["likelihood=softmax", "inducing=8", "kernel.lengthscale=1.0", "runtime.precision=mixed"])
    model = build_model(config, weighted.X_train, 3)
    found = []
    for data in (weighted, repeated):
        model.num_data = data.n_train
        optimizer = build_optimizer(model, config.optimizer, Schedule(10, config.optimizer))
        found.append(Assessor(model, data.X_train, data.y_train, 0, data.weights)(optimizer))
    assert_allclose(found[0].bound, found[1].bound, rtol=1e-10)
    assert_allclose(found[0].allowed, found[1].allowed, rtol=1e-10)
    assert_allclose(found[0].rounding, found[1].rounding, rtol=1e-6)


def test_minibatches_add_up_to_the_weighted_bound(split: Splits) -> None:
    data, _ = weighted_and_repeated(split(3))
    config = compose(["likelihood=softmax", "inducing=8", "kernel.lengthscale=1.0", "runtime.precision=float64"])
    model = build_model(config, data.X_train, 3)
    Y = data.y_train[:, None]

    def bound(rows: slice) -> float:
        mu, nu = model.marginals(tf.constant(data.X_train[rows]))
        return float(model.elbo_given(mu, nu, Y[rows], data.weights[rows]))

    parts = [bound(slice(start, start + 6)) for start in range(0, ROWS, 6)]
    assert_allclose(np.mean(parts), bound(slice(None)), rtol=1e-12)


def test_the_start_lengthscale_is_that_of_repeated_rows(split: Splits) -> None:
    weighted, repeated = weighted_and_repeated(split(3))
    found = start_lengthscale("data", weighted.X_train, 0, weighted.weights)
    assert found == pytest.approx(start_lengthscale("data", repeated.X_train, 0), rel=1e-12)
    ones = start_lengthscale("data", weighted.X_train, 0, np.ones(ROWS))
    assert ones == pytest.approx(start_lengthscale("data", weighted.X_train, 0), rel=1e-12)


def test_inducing_points_start_where_the_weight_is() -> None:
    X = np.concatenate([np.random.default_rng(0).normal(size=(50, 2)), 100 + np.zeros((1, 2))])
    weights = np.append(np.ones(50), 1e-12)
    assert start_inducing_points(X, 5, 0).max() > 50
    assert start_inducing_points(X, 5, 0, weights=weights).max() < 50


def test_a_minibatch_without_weights_is_left_alone() -> None:
    batch, values = Minibatch(tf.zeros([2, 1]), tf.zeros([2, 1]), tf.range(2)), tf.constant([1.0, 2.0])
    assert batch.weigh(values) is values
    weighed = batch._replace(weights=tf.constant([1.0, 3.0], tf.float64))
    assert_allclose(weighed.weigh(values), [1.0, 6.0])
    assert_allclose(weighed.weigh(tf.ones([2, 2])), [[1.0, 1.0], [3.0, 3.0]])
