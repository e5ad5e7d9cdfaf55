"""ORTH through the seam: the SVGP without γ points, better with them, resumed bit-identical, refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import OptimizerConfig, TrainConfig
from gpcnoise_cli.data.generators import sample_ringnorm, sample_three_class
from gpcnoise_cli.data.split import Split, Table, make_split
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.repeat import train_command
from gpcnoise_cli.methods.orth import METHOD
from gpcnoise_cli.methods.orth_settings import num_gamma
from gpcnoise_cli.methods.svgp import METHOD as SVGP
from gpcnoise_cli.methods.svgp import SVGPClassifier, SVGPFit
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.models.orthogonal import OrthogonalSVGP
from gpcnoise_cli.training.batches import Minibatch
from gpcnoise_cli.training.natgrad import NaturalOptimizer
from gpcnoise_cli.training.progress import Interrupted, Progress
from gpcnoise_cli.training.schedule import Schedule

SMALL = ("inducing=6", "batch_size=40", "runtime.precision=float64", "runtime.eval_every=1000", "iterations=12")


def config(*overrides: str, gamma: int | str = 9) -> TrainConfig:
    return compose(["method=orth", *SMALL, f"method.settings.gamma={gamma}", *overrides])


def data_of(classes: int, rows: int = 120) -> Split:
    X, y = sample_three_class(rows) if classes == 3 else sample_ringnorm(rows, d=3)
    names = tuple(f"f{j}" for j in range(X.shape[1]))
    return make_split("small", Table(X, y, tuple(range(classes)), names, "generated"), protocol="clean", split=0)


def started(classes: int, *overrides: str) -> tuple[OrthogonalSVGP, Split]:
    """A model whose q(u) and weights have left zero."""
    data = data_of(classes)
    fit = METHOD.start(config(*overrides), data)
    assert isinstance(fit, SVGPFit)
    model, rng = fit.model, np.random.default_rng(0)
    assert isinstance(model, OrthogonalSVGP)
    for parameter in (model.q_mu, model.weights):
        parameter.assign(0.3 * rng.normal(size=parameter.shape))
    return model, data


def natural(model: OrthogonalSVGP, step: float, **options: Any) -> NaturalOptimizer:
    settings = OptimizerConfig("natgrad", natural_step=step, natural_ramp=0, warm_up=0, **options)
    return NaturalOptimizer(model, settings, Schedule(10**9, settings))


def all_rows(data: Split) -> Minibatch:
    return Minibatch(
        tf.constant(data.X_train), tf.constant(data.y_train[:, None].astype(np.int64)), tf.range(data.n_train)
    )


@pytest.mark.parametrize(
    ("classes", "likelihood"), [(2, "probit_quadrature"), pytest.param(3, "step", marks=pytest.mark.slow)]
)
def test_without_gamma_points_it_is_the_svgp(classes: int, likelihood: str) -> None:
    data = data_of(classes)
    same = ("optimizer.tolerance=0.0", "kernel.log_scale=false", "kernel.lengthscale=1.0", "kernel.shared=true")
    ours = METHOD.start(config(*same, gamma=0), data).run(Progress())
    theirs = SVGP.start(compose([*SMALL, f"likelihood={likelihood}", "delta=fixed", *same]), data).run(Progress())
    assert ours.facts()["elbo"] == pytest.approx(theirs.facts()["elbo"], rel=1e-10)
    assert_allclose(ours.predict(data.X_test), theirs.predict(data.X_test), atol=1e-10)
    for name, array in theirs.arrays().items():
        assert_allclose(ours.arrays()[name], array, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shared", ["true", "false"])
def test_natural_steps_follow_the_gradients_of_autodiff(classes: int, shared: str) -> None:
    model, data = started(classes, f"kernel.shared={shared}")
    optimizer = natural(model, 0.1, learning_rate=0.0)
    followed = [*optimizer.slow.parameters, *optimizer.points.parameters]
    assert len(followed) == len(model.trainable_variables) - 2  # all but q(u)
    with tf.GradientTape() as tape:
        loss = -model.elbo((data.X_train, data.y_train[:, None]))
    expected = tape.gradient(loss, followed)
    assert_allclose(optimizer.step(all_rows(data), tf.constant(0, tf.int64)), loss, rtol=1e-10)
    for moment, gradient in zip([*optimizer.slow.first, *optimizer.points.first], expected, strict=True):
        assert_allclose(moment / 0.1, gradient, rtol=1e-6, atol=1e-8)  # Adam's first memory is a tenth of it


def test_a_whole_natural_step_is_the_closed_form_with_the_mean_of_the_first_basis() -> None:
    """Λ = I + Σ w a aᵀ and Λ m = Σ (g + w aᵀm) a: the part of μ that γ brings belongs to g alone."""
    model, data = started(2)
    mu, nu = model.marginals(data.X_train)
    _, g, by_variance = model.likelihood.expectation_gradients(mu, nu, data.y_train[:, None])
    K = model.inducing_covariance().numpy()[0]
    A = np.linalg.solve(np.linalg.cholesky(K), model.kernel(model.Z, data.X_train))
    w, m = -2 * by_variance.numpy()[:, 0], model.q_mu.numpy()[:, 0]
    precision = np.eye(6) + (A * w) @ A.T
    expected = np.linalg.solve(precision, A @ (g.numpy()[:, 0] + w * (A.T @ m)))
    optimizer = natural(model, 1.0, learning_rate=0.0)
    optimizer.step(all_rows(data), tf.constant(10**6, tf.int64))  # beyond the ramp of the step size
    optimizer.settle()
    assert_allclose(model.q_mu[:, 0], expected, atol=1e-9)
    root = model.q_sqrt.numpy()[0]
    assert_allclose(root @ root.T, np.linalg.inv(precision), atol=1e-9)


@pytest.mark.slow
def test_gamma_points_added_to_a_trained_svgp_can_only_raise_its_bound() -> None:
    data, steps = data_of(2), ("batch_size=1000", "preset=paper")
    rows = data.X_train, data.y_train[:, None]
    before = METHOD.start(config(*steps, gamma=0), data).run(Progress())
    fresh = METHOD.start(config(), data)
    assert isinstance(before, SVGPClassifier)
    assert isinstance(fresh, SVGPFit)
    of_gamma = {name: getattr(fresh.model, name).numpy() for name in ("gamma", "weights")}
    wide = METHOD.start(config(*steps, "iterations=60"), data, {**before.arrays(), **of_gamma})
    assert isinstance(wide, SVGPFit)
    start = float(wide.model.elbo(rows))
    assert start == pytest.approx(float(before.model.elbo(rows)), rel=1e-12)
    after = wide.run(Progress())
    assert isinstance(after, SVGPClassifier)
    assert float(after.model.elbo(rows)) > start
    assert np.any(after.arrays()["weights"])


@pytest.mark.slow  # the trainer's own tests resume too; this one has γ besides
@pytest.mark.parametrize(("preset", "classes"), [("fast", 3), ("paper", 2)])
def test_an_interrupted_fit_ends_bit_identical(preset: str, classes: int, tmp_path: Path) -> None:
    data, options = data_of(classes), config(f"preset={preset}", "runtime.precision=mixed")
    whole = METHOD.start(options, data).run(Progress())
    checkpoint, calls = tmp_path / "checkpoint.npz", iter(range(100))
    with pytest.raises(Interrupted) as stopped:
        METHOD.start(options, data).run(Progress(stop_requested=lambda: next(calls) >= 1, checkpoint=checkpoint))
    assert 0 < stopped.value.step < 12
    again = METHOD.start(options, data).run(Progress(checkpoint=checkpoint, resume=True))
    assert np.any(whole.arrays()["weights"])
    for name, array in whole.arrays().items():
        assert_array_equal(again.arrays()[name], array)


def test_it_learns_and_comes_back_from_its_files(tmp_path: Path) -> None:
    data, options = data_of(2, 400), config("iterations=150", "inducing=15", gamma=20)
    classifier = METHOD.start(options, data).run(Progress())
    found = classifier.predict(data.X_test)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(found.argmax(axis=1) == data.y_test) > 0.8
    assert classifier.facts()["gamma"] == 20
    TrainedModel.of(options, classifier, data).save(tmp_path)
    assert_allclose(TrainedModel.load(tmp_path).predict_scaled(data.X_test), found, rtol=0, atol=1e-9)
    earlier = METHOD.start(options, data, classifier.arrays())
    assert isinstance(earlier, SVGPFit)
    assert_array_equal(earlier.model.gamma, classifier.arrays()["gamma"])


@pytest.mark.parametrize(("classes", "likelihood", "mode"), [(2, "probit_quadrature", None), (3, "step", "fixed")])
def test_a_result_names_its_label_and_likelihood(classes: int, likelihood: str, mode: str | None) -> None:
    described = METHOD.describe(config(), classes)
    assert (described["label"], described["likelihood"], described["delta_mode"]) == ("ORTH", likelihood, mode)


def test_the_number_of_gamma_points_is_500_or_what_the_rows_allow() -> None:
    assert num_gamma(config(gamma="null"), 10_000) == 500
    assert num_gamma(config(gamma="null"), 100) == 94
    assert num_gamma(config(gamma="null"), 6) == num_gamma(config(gamma="null"), 3) == 0


@pytest.mark.parametrize(
    ("gamma", "sentence"),
    [
        ("-1", "method.settings.gamma must be a whole number of at least 0, or null, not -1."),
        ("2.5", "method.settings.gamma must be a whole number of at least 0, or null, not 2.5."),
        ("many", "method.settings.gamma must be a whole number of at least 0, or null, not 'many'."),
        ("103", "method.settings.gamma=103 is more than the 102 training rows that 6 inducing points leave of 108; "),
    ],
)
def test_a_wrong_number_of_gamma_points_is_refused_in_a_sentence(gamma: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        METHOD.start(config(gamma=gamma), data_of(2))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (("--likelihood", "softmax"), "method=orth has a likelihood of its own (the probit for two classes, the step"),
        (("--delta", "free"), "method orth keeps delta fixed, so delta=free has no effect; omit it."),
        (("method.settings.gama=3",), "did you mean method.settings.gamma?"),
        (("--method", "svgp", "method.settings.gamma=3"), "method.settings.gamma belongs to method=orth"),
    ],
)
def test_settings_that_it_does_not_have_are_refused(cli: Callable[..., Any], option: Any, sentence: str) -> None:
    outcome = cli("train", *(() if "--method" in option else ("--method", "orth")), *option)
    assert outcome.code == 2
    assert sentence in outcome.stderr


def test_the_command_that_repeats_it_gives_the_same_configuration() -> None:
    command = train_command(config())
    assert "likelihood" not in command
    assert "delta" not in command
    assert "method.settings.gamma=9" in command
