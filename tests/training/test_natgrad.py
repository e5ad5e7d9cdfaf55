"""Natural-gradient steps: GPflow's where those are safe, bent where they are not, and right where they end."""

from __future__ import annotations

from collections.abc import Callable

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import OptimizerConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.models.build import build_model, precision_context
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training.batches import Minibatch
from gpcnoise_cli.training.loop import TrainingLoop
from gpcnoise_cli.training.natgrad import STEPS_TO_RECOVER, NaturalOptimizer
from gpcnoise_cli.training.optimizers import AdamOptimizer
from gpcnoise_cli.training.schedule import Schedule

WARM_UP = OptimizerConfig.warm_up

# Far beyond the ramp: the step has its full size here.
LATE = tf.constant(10**6, tf.int64)

Data = tuple[np.ndarray, np.ndarray]


def model_for(data: Split, likelihood: str, *overrides: str, precision: str = "float64") -> FusedSVGP:
    options = [
        f"likelihood={likelihood}",
        f"runtime.precision={precision}",
        "inducing=8",
        "kernel.shared=true",
        *overrides,
    ]
    return build_model(compose(options), data.X_train, data.num_classes)


def natural(model: FusedSVGP, step_size: float, learning_rate: float = 0.0) -> NaturalOptimizer:
    """Steps of q(u) of one size; by default nothing else moves."""
    options = OptimizerConfig("natgrad", learning_rate=learning_rate, natural_step=step_size, natural_ramp=1)
    return NaturalOptimizer(model, options, Schedule(10**9, options))


def loop_over(optimizer: NaturalOptimizer | AdamOptimizer, data: Split, batch_size: int = 10**6) -> TrainingLoop:
    return TrainingLoop(optimizer, data.X_train, data.y_train, batch_size=batch_size, seed=0)


def rows_of(data: Split) -> Data:
    return data.X_train, data.y_train[:, None]


def slopes_of_q(model: FusedSVGP, rows: Data) -> list[np.ndarray]:
    with tf.GradientTape() as tape:
        elbo = model.elbo(rows)
    variables = [model.q_mu.unconstrained_variable, model.q_sqrt.unconstrained_variable]
    return [slope.numpy() for slope in tape.gradient(elbo, variables)]


@pytest.mark.parametrize(("bound", "step_size"), [("gumbel", 1.0), ("tilted", 0.3)])
def test_a_step_is_that_of_gpflow_where_the_bound_is_concave(
    split: Callable[..., Split], bound: str, step_size: float
) -> None:
    data = split(3)
    rows = rows_of(data)
    model = model_for(data, "softmax", f"likelihood.bound={bound}")
    model.jitter.assign(0.0)  # GPflow's is absolute, ours relative
    rng = np.random.default_rng(0)
    model.q_mu.assign(rng.normal(size=(8, 3)))
    model.q_sqrt.assign(np.tril(0.2 * rng.normal(size=(3, 8, 8)), -1) + 0.7 * np.eye(8))
    stock = gpflow.models.SVGP(
        model.kernel,
        model.likelihood,
        model.Z.numpy(),
        num_latent_gps=3,
        q_mu=model.q_mu.numpy(),
        q_sqrt=model.q_sqrt.numpy(),
        whiten=True,
        num_data=data.n_train,
    )
    with gpflow.config.as_context(gpflow.config.Config(jitter=0.0)):
        before = float(stock.training_loss(rows))
        gpflow.optimizers.NaturalGradient(gamma=step_size).minimize(
            stock.training_loss_closure(rows, compile=False), [(stock.q_mu, stock.q_sqrt)]
        )
        optimizer = natural(model, step_size)
        loss = optimizer.step(Minibatch(*(tf.constant(array) for array in rows), None), LATE)
        optimizer.settle()
        assert_allclose(loss, before, rtol=1e-10)
        assert_allclose(model.q_mu, stock.q_mu, rtol=1e-8, atol=1e-9)
        assert_allclose(model.q_sqrt, stock.q_sqrt, rtol=1e-8, atol=1e-9)
        assert_allclose(model.elbo(rows), stock.elbo(rows), rtol=1e-10)


@pytest.mark.parametrize(("likelihood", "classes"), [("step", 2), ("probit", 3)])
def test_no_batch_can_break_a_step_of_the_gaussian_family(
    split: Callable[..., Split], likelihood: str, classes: int
) -> None:
    """Labels by lot, a start that is sure and wrong, δ tiny, batches of 8 for 900 rows, and the largest step of all."""
    data = split(classes, 1000)
    rng = np.random.default_rng(0)
    model = model_for(data, likelihood, "delta=fixed", "delta.value=1e-6")
    model.q_mu.assign(3 * rng.normal(size=model.q_mu.shape))
    optimizer = natural(model, 1.0)
    loop = TrainingLoop(optimizer, data.X_train, rng.integers(classes, size=data.n_train), batch_size=8, seed=0)
    for step in range(5, 61, 5):
        assert np.isfinite(loop.run_until(step))
        assert int(loop.step) == step
        assert np.linalg.eigvalsh(optimizer.precision).min() > 0.0
        assert np.all(np.isfinite(model.q_mu))
    optimizer.settle()
    assert np.isfinite(model.elbo(rows_of(data)))


@pytest.mark.parametrize(
    ("likelihood", "classes", "objective", "reached"),
    [
        ("softmax", 3, "elbo", 1e-3),
        ("probit", 3, "elbo", 1e-2),
        ("logit", 2, "elbo", 1e-8),
        ("softmax", 3, "predictive", 1e-3),
        pytest.param("probit", 3, "predictive", 1e-2, marks=pytest.mark.slow),
        ("logit", 2, "predictive", 1e-8),
    ],
)
def test_it_ends_where_the_objective_has_no_slope(
    split: Callable[..., Split], likelihood: str, classes: int, objective: str, reached: float
) -> None:
    """All rows in each step and everything but q(u) fixed; `reached` is relative to the slopes at the start."""
    data = split(classes, 60)
    rows = rows_of(data)
    model = model_for(data, likelihood, "delta=fixed", "delta.value=0.05", f"objective={objective}")
    start = [np.abs(slope).max() for slope in slopes_of_q(model, rows)]
    optimizer = natural(model, 0.5)
    loop = loop_over(optimizer, data)
    loop.run_until(150)
    optimizer.settle()
    for slope, at_start in zip(slopes_of_q(model, rows), start, strict=True):
        assert np.abs(slope).max() < reached * max(at_start, 1.0)
    # What the optimizer takes for the bound is the bound of the model.
    bound = float(model.elbo(rows))
    assert_allclose(loop.run_until(151), -bound, rtol=1e-10)


@pytest.mark.parametrize(("likelihood", "classes"), [("step", 2)])
def test_adam_does_not_get_further_in_as_many_steps(split: Callable[..., Split], likelihood: str, classes: int) -> None:
    """From the same start and with the same kernel, for q(u) alone, at ten times the paper's rate."""
    data, bounds = split(classes, 60), []
    for kind in (NaturalOptimizer, AdamOptimizer):
        model = model_for(data, likelihood, "delta=fixed", "delta.value=0.05")
        gpflow.set_trainable(model.kernel, False)
        gpflow.set_trainable(model.inducing_variable, False)
        options = OptimizerConfig("either", learning_rate=0.1, natural_step=0.5, natural_ramp=1)
        optimizer = kind(model, options, Schedule(10**9, options))
        loop_over(optimizer, data).run_until(WARM_UP + 100)
        optimizer.settle()
        bounds.append(float(model.elbo(rows_of(data))))
    assert bounds[0] > bounds[1] - 1e-6 * abs(bounds[1])


def test_after_settling_the_models_own_bound_is_the_optimizers(split: Callable[..., Split]) -> None:
    """In mixed precision and with everything moving; the optimizer's loss is taken before its step."""
    data = split(3)
    model = model_for(data, "softmax", precision="mixed")
    optimizer = natural(model, 0.3, learning_rate=0.02)
    loop = loop_over(optimizer, data)
    loop.run_until(30)
    optimizer.settle()
    assert np.all(np.triu(model.q_sqrt.numpy(), 1) == 0.0)
    covariance = tf.matmul(model.q_sqrt, model.q_sqrt, transpose_b=True)
    # The two triangles of the float32 precision differ by rounding.
    assert_allclose(
        covariance @ optimizer.precision.numpy().astype(np.float64), np.tile(np.eye(8), (3, 1, 1)), atol=1e-5
    )
    bound = float(model.elbo(rows_of(data)))
    assert_allclose(loop.run_until(31), -bound, rtol=1e-5)


@pytest.mark.parametrize("shared", ["true", "false"])
def test_hyperparameters_get_the_gradients_of_the_bound(split: Callable[..., Split], shared: str) -> None:
    """Adam's first step goes against the sign of the gradient: kernel, inducing points and a free δ all move so."""
    data = split(3)
    rows = rows_of(data)
    model = model_for(data, "probit", "delta=free", "delta.value=0.05", f"kernel.shared={shared}")
    model.q_mu.assign(np.random.default_rng(0).normal(size=(8, 3)))
    optimizer = natural(model, 0.1, learning_rate=1e-3)
    moving = [*optimizer.of_kernel, *optimizer.of_likelihood, *optimizer.of_points]
    with tf.GradientTape() as tape:
        loss = model.training_loss(rows)
    expected = tape.gradient(loss, moving)
    before = [variable.numpy() for variable in moving]
    optimizer.step(Minibatch(*(tf.constant(array) for array in rows), None), tf.constant(WARM_UP, tf.int64))
    for slot, slope in zip([*optimizer.slow.first, *optimizer.points.first], expected, strict=True):
        assert_allclose(slot, 0.1 * slope, rtol=1e-7, atol=1e-9)
    for variable, start, slope in zip(moving, before, expected, strict=True):
        assert_array_equal(np.sign(start - variable), np.sign(slope))
    assert len(optimizer.of_likelihood) == 1


def test_a_step_that_fails_moves_nothing_and_is_not_counted(split: Callable[..., Split]) -> None:
    """A step size of 30 makes the precision indefinite: the loop must come back at once, until the size is halved."""
    data = split(3)
    model = model_for(data, "softmax")
    optimizer = natural(model, 30.0)
    loop = loop_over(optimizer, data, batch_size=16)
    assert np.isfinite(loop.run_until(1))  # from a precision of one any step works
    variables = [*model.variables, *optimizer.variables, *loop.variables]
    before = [variable.numpy() for variable in variables]
    for _ in range(3):
        assert np.isnan(loop.run_until(3))
        for variable, start in zip(variables, before, strict=True):
            assert_array_equal(variable, start)
    for _ in range(5):
        assert optimizer.soften()
    assert np.isfinite(loop.run_until(3))
    assert int(loop.step) == 3
    assert np.linalg.eigvalsh(optimizer.precision).min() > 0.0


def test_a_badly_conditioned_q_settles_in_float32_too(split: Callable[..., Split]) -> None:
    data = split(3)
    with precision_context("float32"):
        model = model_for(data, "softmax", "runtime.jitter=1e-3", precision="float32")
        optimizer = natural(model, 0.1)
        rng = np.random.default_rng(0)
        orthogonal = np.linalg.qr(rng.normal(size=(3, 8, 8)))[0]
        precision = orthogonal @ (np.logspace(0, 4, 8)[:, None] * np.swapaxes(orthogonal, 1, 2))
        optimizer.precision.assign(precision.astype(np.float32))
        optimizer.settle()
        assert np.all(np.isfinite(model.q_sqrt))
        covariance = model.q_sqrt.numpy() @ np.swapaxes(model.q_sqrt.numpy(), 1, 2)
    assert_allclose(covariance, np.linalg.inv(precision), atol=5e-3)


def test_good_steps_make_up_for_a_failed_one(split: Callable[..., Split]) -> None:
    data = split(3)
    optimizer = natural(model_for(data, "softmax"), 0.1)
    loop = loop_over(optimizer, data, batch_size=16)
    loop.run_until(20)
    full = float(optimizer._step_size(tf.constant(20, tf.int64)))
    optimizer.soften()
    assert float(optimizer._step_size(tf.constant(20, tf.int64))) == pytest.approx(full / 2)
    loop.run_until(20 + STEPS_TO_RECOVER // 2)
    assert full / 2 < float(optimizer._step_size(tf.constant(20, tf.int64))) < full
    loop.run_until(25 + STEPS_TO_RECOVER)
    assert float(optimizer._step_size(tf.constant(20, tf.int64))) == full


def test_softening_ends(split: Callable[..., Split]) -> None:
    optimizer = natural(model_for(split(2), "probit"), 0.1)
    answers = [optimizer.soften() for _ in range(50)]
    assert answers[0]
    assert not answers[-1]


@pytest.mark.parametrize("classes", [2, 3])
def test_the_first_steps_follow_the_softmax_bound(split: Callable[..., Split], classes: int) -> None:
    """Its gradients by the tape; with one latent function the other class stays at zero."""
    data = split(classes)
    model = model_for(data, "probit")
    optimizer = natural(model, 0.1)
    rng = np.random.default_rng(0)
    latent = model.likelihood.num_latent
    mu, nu = tf.constant(rng.normal(size=(9, latent))), tf.constant(rng.uniform(0.1, 2.0, size=(9, latent)))
    Y = tf.constant(rng.integers(0, classes, size=(9, 1)))
    with tf.GradientTape() as tape:
        tape.watch([mu, nu])
        rivals = mu + nu / 2 if classes > 2 else tf.concat([tf.zeros_like(mu), mu + nu / 2], axis=1)
        winner = mu - nu / 2 if classes > 2 else tf.concat([tf.zeros_like(mu), mu - nu / 2], axis=1)
        chosen = tf.one_hot(Y[:, 0], classes, dtype=mu.dtype)
        lead = tf.reduce_sum(chosen * winner, axis=1, keepdims=True)
        odds = tf.reduce_sum((1 - chosen) * tf.exp(rivals - lead), axis=1)
        bound = tf.reduce_sum(-tf.math.log1p(odds))
    early, late = (optimizer._expectation_gradients(mu, nu, Y, tf.constant(k, tf.int64)) for k in (0, WARM_UP))
    for ours, theirs in zip(early[1:], tape.gradient(bound, [mu, nu]), strict=True):
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    own = model.likelihood.expectation_gradients(mu, nu, Y)
    for found, expected in zip([early[0], *late], [own[0], *own], strict=True):
        assert_array_equal(found, expected)


def test_delta_is_slow_while_rows_are_fitted_and_quick_when_nothing_else_moves(split: Callable[..., Split]) -> None:
    model = model_for(split(3), "probit", "delta=optimal")
    options = OptimizerConfig("natgrad", cycle=1000, delta_rate=0.002, delta_settling=0.1)
    optimizer = NaturalOptimizer(model, options, Schedule(1000, options))
    rates = np.array([float(optimizer.delta_rate(tf.constant(step, tf.int64))) for step in range(1000)])
    assert_allclose(rates[:WARM_UP], 0.1)
    assert_allclose(rates[WARM_UP:600], 0.002)
    assert np.all(np.diff(rates[600:]) >= 0)
    # What is left of any distance to the optimum after the rates have fallen.
    assert np.prod(1 - rates[WARM_UP:600]) > 0.3
    assert np.prod(1 - rates[600:]) < 1e-3
