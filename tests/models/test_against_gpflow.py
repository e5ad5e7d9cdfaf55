"""The fused model equals stock GPflow: the bound and every gradient, for all likelihoods, kernels and class counts.

Tolerance: 1e-8 relative, entry by entry. A hyperparameter's gradient is a sum of terms of the size of |∂μ μ| and
|∂ν ν|, one for each row and class, which may cancel: under the step likelihood the kernel variance has no influence at
all, since only the sign (or the order) of the latent functions counts, and its gradient is rounding and jitter in both
models. So a difference below 1e-13 of the sum of these terms, about what float64 addition leaves, counts as none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from check_shapes import disable_check_shapes
from numpy.testing import assert_allclose

from gpcnoise_cli.likelihoods import LIKELIHOODS
from gpcnoise_cli.models.kernels import KERNELS
from gpcnoise_cli.models.svgp import FusedSVGP

BOUNDS = [(name, bound) for name, spec in LIKELIHOODS.items() for bound in spec.bounds]
CLASSES = (2, 3, 26)  # two classes: one latent function (softmax: two)
LABELS = [(name, bound, c) for name, bound in BOUNDS for c in CLASSES if LIKELIHOODS[name].fits(c)]
KERNEL_CHOICES = list(itertools.product(KERNELS, (False, True)))
EVERYTHING = [(*of_labels, *kernel) for of_labels in LABELS for kernel in KERNEL_CHOICES]
# Each likelihood with each number of classes, going round the kernels; then each kernel with each number of classes.
ROUND = [(*of_labels, *KERNEL_CHOICES[i % len(KERNEL_CHOICES)]) for i, of_labels in enumerate(LABELS)]
ROUND += [("softmax", "tilted", c, *kernel) for c in CLASSES for kernel in KERNEL_CHOICES]
QUICK = list(dict.fromkeys(ROUND))

Gradients = dict[str, np.ndarray]


def bound_and_gradients(model: gpflow.models.SVGP, data: tuple[np.ndarray, np.ndarray]) -> tuple[float, Gradients]:
    """The ELBO and its gradients by the unconstrained parameters, q_sqrt's as the full lower triangle."""
    parameters = {
        name: p.unconstrained_variable
        for name, p in gpflow.utilities.parameter_dict(model).items()
        if isinstance(p, gpflow.Parameter) and p.trainable
    }
    with disable_check_shapes(), tf.GradientTape() as tape:  # the shapes are right, and checking takes half the time
        elbo = model.elbo(data)
    gradients = {name: g.numpy() for name, g in tape.gradient(elbo, parameters).items()}
    if gradients[".q_sqrt"].ndim == 2:  # GPflow packs the triangles into vectors
        gradients[".q_sqrt"] = tfp.bijectors.FillTriangular().forward(gradients[".q_sqrt"]).numpy()
    return float(elbo), _stacked(gradients)


def _stacked(gradients: Gradients) -> Gradients:
    """Those of separate kernels under the names of a stack of them."""
    found: dict[str, list[np.ndarray]] = {}
    for name, gradient in gradients.items():
        found.setdefault(re.sub(r"kernel\.kernels\[\d+\]", "kernel.stack", name, count=1), []).append(gradient)
    return {name: each[0] if len(each) == 1 else np.stack(each) for name, each in found.items()}


def size_of_terms(model: gpflow.models.SVGP, data: tuple[np.ndarray, np.ndarray]) -> float:
    X, Y = data
    mu, nu = model.predict_f(X)
    _, by_mean, by_variance = model.likelihood.expectation_gradients(mu, nu, Y)
    return float(model.num_data / len(X) * tf.reduce_sum(tf.abs(by_mean * mu) + tf.abs(by_variance * nu)))


def assert_equal_models(fused: gpflow.models.SVGP, stock: gpflow.models.SVGP, data: tuple) -> None:
    ours, our_gradients = bound_and_gradients(fused, data)
    theirs, their_gradients = bound_and_gradients(stock, data)
    assert_allclose(ours, theirs, rtol=1e-8)
    assert our_gradients.keys() == their_gradients.keys()
    rounding = 1e-13 * size_of_terms(fused, data)
    for name, expected in their_gradients.items():
        assert_allclose(our_gradients[name], expected, rtol=1e-8, atol=rounding, err_msg=name)


@pytest.mark.parametrize(("likelihood", "bound", "classes", "kernel", "ard"), QUICK)
def test_bound_and_every_gradient(
    pair: Callable, likelihood: str, bound: str, classes: int, kernel: str, ard: bool
) -> None:
    assert_equal_models(*pair(likelihood, classes, kernel, bound=bound, ard=ard))


@pytest.mark.slow
@pytest.mark.parametrize(("likelihood", "bound", "classes", "kernel", "ard"), EVERYTHING)
def test_bound_and_every_gradient_in_every_combination(
    pair: Callable, likelihood: str, bound: str, classes: int, kernel: str, ard: bool
) -> None:
    assert_equal_models(*pair(likelihood, classes, kernel, bound=bound, ard=ard, seed=2))


def test_the_quick_round_leaves_nothing_out() -> None:
    """Every likelihood meets every number of classes, and every kernel does, with and without ARD."""
    assert {case[:3] for case in QUICK} == set(LABELS)
    assert {case[2:] for case in QUICK} == {(c, *kernel) for c in CLASSES for kernel in KERNEL_CHOICES}


@pytest.mark.parametrize(("likelihood", "classes"), [("probit", 3), ("softmax", 26)])
def test_a_batch_that_is_long_beside_the_inducing_points(pair: Callable, likelihood: str, classes: int) -> None:
    assert_equal_models(*pair(likelihood, classes, rows=150, m=5))


PER_CLASS = [
    (likelihood, classes, *kernel)
    for (likelihood, classes), kernel in zip(
        itertools.cycle([("softmax", 3), ("probit", 3), ("softmax", 2), ("step", 4)]), KERNEL_CHOICES, strict=False
    )
]


@pytest.mark.parametrize(("likelihood", "classes", "kernel", "ard"), PER_CLASS)
def test_one_kernel_per_class(pair: Callable, likelihood: str, classes: int, kernel: str, ard: bool) -> None:
    assert_equal_models(*pair(likelihood, classes, kernel, ard=ard, shared=False))


@pytest.mark.slow  # GPflow's own part takes its time
@pytest.mark.parametrize(("likelihood", "bound", "classes"), [case for case in LABELS if case[2] > 2])
@pytest.mark.parametrize(("kernel", "ard"), KERNEL_CHOICES)
def test_one_kernel_per_class_in_every_combination(
    pair: Callable, likelihood: str, bound: str, classes: int, kernel: str, ard: bool
) -> None:
    assert_equal_models(*pair(likelihood, classes, kernel, bound=bound, ard=ard, shared=False, seed=2))


@pytest.mark.slow
def test_separate_kernels_of_gpflow_itself_are_taken_too(pair: Callable) -> None:
    """Not a stack of ours: the matrices are computed one by one."""
    _, stock, data = pair("softmax", 3, shared=False)
    fused = FusedSVGP(stock.kernel, stock.likelihood, stock.inducing_variable.inducing_variable.Z.numpy(), num_data=100)
    fused.jitter.assign(0.0)
    fused.q_mu.assign(stock.q_mu)
    fused.q_sqrt.assign(stock.q_sqrt)
    assert_allclose(fused.elbo(data), stock.elbo(data), rtol=1e-10)


def test_under_the_step_likelihood_the_variance_has_no_gradient(pair: Callable) -> None:
    """The case for which the tolerance has its second part: 1e-6 of its terms is what the jitter leaves."""
    fused, stock, data = pair("step", 26, "rbf")
    _, gradients = bound_and_gradients(stock, data)
    assert abs(gradients[".kernel.variance"]) < 1e-5 * size_of_terms(fused, data)


@pytest.mark.parametrize(
    ("likelihood", "classes", "kernel"), [("logit", 2, "matern32"), ("softmax", 3, "matern52+rbf")]
)
def test_gradients_equal_finite_differences(pair: Callable, likelihood: str, classes: int, kernel: str) -> None:
    """Along a random direction of each parameter; a central difference at 1e-5 is good to about 1e-9."""
    fused, _, data = pair(likelihood, classes, kernel, ard=True)
    _, gradients = bound_and_gradients(fused, data)
    rng = np.random.default_rng(0)
    for name, parameter in gpflow.utilities.parameter_dict(fused).items():
        if name not in gradients:
            continue
        variable = parameter.unconstrained_variable
        start, direction = variable.numpy(), rng.normal(size=variable.shape)
        direction = np.tril(direction) if name == ".q_sqrt" else direction
        values = []
        for step in (1e-5, -1e-5):
            variable.assign(start + step * direction)
            values.append(float(fused.elbo(data)))
        variable.assign(start)
        expected = np.sum(gradients[name] * direction)
        assert_allclose((values[0] - values[1]) / 2e-5, expected, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("likelihood", "classes"), [("step", 2), ("probit", 3), ("softmax", 3), ("softmax", 26)])
def test_mixed_precision_finds_the_bound_of_float64(pair: Callable, likelihood: str, classes: int) -> None:
    exact, _, data = pair(likelihood, classes, rows=40, m=20)
    mixed, _, _ = pair(likelihood, classes, rows=40, m=20, precision="mixed")
    assert mixed.elbo(data).dtype == tf.float64
    assert_allclose(mixed.elbo(data), exact.elbo(data), rtol=1e-4)


def test_float32_throughout_is_close_as_well(pair: Callable) -> None:
    exact, _, data = pair("softmax", 3)
    with gpflow.config.as_context(gpflow.config.Config(float=np.float32, jitter=1e-6)):
        single, _, _ = pair("softmax", 3, precision="float32")
        assert {v.dtype for v in single.trainable_variables} == {tf.float32}
        value = single.elbo(data)
    assert value.dtype == tf.float32
    assert_allclose(value, exact.elbo(data), rtol=1e-3)
