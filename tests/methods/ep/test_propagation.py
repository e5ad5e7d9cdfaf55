"""Expectation propagation: textbook EP at Z = X, gradients three ways, minibatches, symmetries, and what guards it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.stats import norm

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.methods.ep.factors import Factors, Sites, site_normaliser
from gpcnoise_cli.methods.ep.model import EPModel
from gpcnoise_cli.methods.ep.propagation import DONE, NO_CAVITY, Propagation
from gpcnoise_cli.training.schedule import Schedule

Array = NDArray[np.float64]


def data(n: int, classes: int, d: int = 2, seed: int = 0) -> tuple[Array, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = np.stack([np.sin(2 * X[:, 0] + c) + 0.3 * rng.normal(size=n) for c in range(classes)], axis=1)
    return X, np.asarray(scores.argmax(axis=1) if classes > 2 else scores[:, 0] > 0, np.int64)


def propagation(
    X: Array, y: NDArray[np.int64], Z: Array, classes: int, *, damping: float = 1.0, overrides: tuple[str, ...] = ()
) -> Propagation:
    config = compose(["preset=paper", "method=ep", "kernel.variance=2.0", *overrides])
    model = EPModel(config, Z, classes, lengthscale=0.8)
    return Propagation(model, X, y, config.optimizer, Schedule(100, config.optimizer), damping)


def converged(ep: Propagation, passes: int = 150) -> Propagation:
    ep.rebuild()
    ep.run([np.arange(ep.n)] * passes, learn=False)
    ep.rebuild()
    return ep


def textbook(K: Array, signs: Array, noise: Array, sweeps: int = 60) -> tuple[float, Array, Array]:
    """Rasmussen and Williams, algorithm 3.5, for Φ(y f/√noise): log Z, and the sites of all rows."""
    n = len(K)
    tau, nu = np.zeros(n), np.zeros(n)
    Sigma, mu = K.copy(), np.zeros(n)

    def cavity(i: int) -> tuple[float, float]:
        precision = 1 / Sigma[i, i] - tau[i]
        return (mu[i] / Sigma[i, i] - nu[i]) / precision, 1 / precision

    inverse = np.linalg.inv(K)
    for _ in range(sweeps):
        for i in range(n):
            mean, variance = cavity(i)
            z = signs[i] * mean / np.sqrt(noise[i] + variance)
            ratio = norm.pdf(z) / norm.cdf(z)
            new_mean = mean + signs[i] * variance * ratio / np.sqrt(noise[i] + variance)
            new_variance = variance - variance**2 * ratio / (noise[i] + variance) * (z + ratio)
            tau[i] = 1 / new_variance - 1 / variance
            nu[i] = new_mean / new_variance - mean / variance
            Sigma = np.linalg.inv(inverse + np.diag(tau))
            mu = Sigma @ nu
    log_evidence = -0.5 * np.linalg.slogdet(np.eye(n) + K * tau)[1] + 0.5 * nu @ Sigma @ nu
    for i in range(n):
        mean, variance = cavity(i)
        log_evidence += norm.logcdf(signs[i] * mean / np.sqrt(noise[i] + variance))
        with_site = 0.5 * (nu[i] ** 2 * variance + 2 * mean * nu[i] - tau[i] * mean**2) / (1 + tau[i] * variance)
        log_evidence -= with_site - 0.5 * np.log1p(tau[i] * variance)
    return float(log_evidence), tau, nu


def test_with_the_rows_as_inducing_points_it_is_textbook_ep() -> None:
    X, y = data(14, 2)
    ep = propagation(X, y, X, 2, overrides=("runtime.jitter=1e-12",))
    ep.model.noise.unconstrained_variable.assign([-40.0])
    converged(ep)
    K = ep.model.inducing_covariance()[0].numpy()
    s = ep.model.features(tf.constant(X))[1].numpy()[:, 0]
    assert np.all(s < 2e-6)
    evidence, tau, kappa = textbook(K, 2.0 * y - 1, 1 + s)
    assert_allclose(ep.evidence(), evidence, atol=1e-8)
    assert_allclose(ep.sites.numpy()[:, 0, 0, 0], tau, atol=1e-7)
    assert_allclose(ep.sites.numpy()[:, 1, 0, 0], kappa, atol=1e-7)
    assert_allclose(evidence, textbook(K, 2.0 * y - 1, np.ones(14))[0], atol=1e-4)  # the usual probit


@pytest.mark.parametrize("classes", [2, 3])
def test_a_single_row_or_two_classes_of_it_say_nothing(classes: int) -> None:
    """log ½ for a factor, at the first row, from the prior."""
    X = np.zeros((1, 2))
    ep = converged(propagation(X, np.array([1]), X, classes), passes=30)
    if classes == 2:
        assert_allclose(ep.evidence(), np.log(0.5), atol=1e-12)
    # Two rivals are two factors, which are not independent: somewhat more than a quarter.
    else:
        assert np.log(0.25) < ep.evidence() < np.log(0.5)


def test_flipping_all_labels_flips_the_posterior_mean() -> None:
    X, y = data(40, 2)
    one, other = (converged(propagation(X, labels, X[:7], 2)) for labels in (y, 1 - y))
    assert_allclose(one.model.shift, -other.model.shift.numpy(), atol=1e-10)
    assert_allclose(one.evidence(), other.evidence(), rtol=1e-12)


@pytest.mark.slow
def test_renaming_the_classes_renames_the_probabilities() -> None:
    X, y = data(60, 3)
    order = np.array([2, 0, 1])
    one, other = (converged(propagation(X, labels, X[:7], 3, damping=0.5), 40) for labels in (y, order[y]))
    assert_allclose(one.evidence(), other.evidence(), rtol=1e-9)
    first, second = (ep.model.probabilities(tf.constant(X), *ep.model.posterior()).numpy() for ep in (one, other))
    assert_allclose(first, second[:, order], atol=1e-9)
    assert_allclose(first.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_minibatches_come_to_what_all_rows_at_once_come_to(classes: int) -> None:
    X, y = data(60, classes)
    whole = converged(propagation(X, y, X[:6], classes, damping=0.5), passes=400)
    parts = propagation(X, y, X[:6], classes, damping=0.5)
    parts.run(np.array_split(np.random.default_rng(1).permutation(60), 5) * 200, learn=False)
    assert_allclose(parts.evidence(), whole.evidence(), rtol=1e-6)
    first, second = (ep.model.probabilities(tf.constant(X), *ep.model.posterior()) for ep in (whole, parts))
    assert_allclose(first, second, atol=1e-4)  # the mode that all classes share converges slowly


def test_sites_come_closer_with_every_pass() -> None:
    X, y = data(60, 3)
    ep, moved = propagation(X, y, X[:6], 3, damping=0.5), []
    for _ in range(12):
        before = ep.sites.numpy()
        ep.run([np.arange(60)], learn=False)
        moved.append(np.abs(ep.sites.numpy() - before).max())
    assert all(later < earlier for earlier, later in pairwise(moved[2:]))


def test_half_the_damping_goes_half_the_way() -> None:
    X, y = data(30, 2)
    whole, half = (propagation(X, y, X[:5], 2, damping=each) for each in (1.0, 0.5))
    for ep in (whole, half):
        ep.run([np.arange(30)], learn=False)
    assert_allclose(half.sites, whole.sites.numpy() / 2, rtol=1e-12)
    assert int(whole.step) == int(half.step) == 1


def test_differences_add_up_to_the_rebuilt_posterior() -> None:
    X, y = data(50, 3)
    ep = propagation(X, y, X[:6], 3, damping=0.5)
    ep.run(np.array_split(np.arange(50), 4) * 3, learn=False)
    precision, shift = ep.model.precision.numpy(), ep.model.shift.numpy()
    ep.rebuild()
    assert_allclose(ep.model.precision, precision, atol=1e-10)
    assert_allclose(ep.model.shift, shift, atol=1e-10)


def evidence_with_sites_held(ep: Propagation) -> tf.Tensor:
    """log Z as a plain function of features and sites, for a tape to differentiate."""
    model = ep.model
    A, s = model.features(ep.X)
    factors = Factors(tf.one_hot(ep.y, model.num_classes, dtype=tf.float64))
    sites = Sites(*tf.unstack(tf.convert_to_tensor(ep.sites), axis=1))
    A = tf.broadcast_to(A, [model.num_latent, *A.shape[1:]])
    tau, kappa = (tf.transpose(factors.by_latent(each)) for each in sites)
    precision = tf.eye(A.shape[2], dtype=tf.float64) + tf.einsum("cb,cbi,cbj->cij", tau, A, A)
    shift = tf.einsum("cb,cbi->ci", kappa, A)
    S = tf.linalg.inv(precision)
    mean = tf.linalg.matvec(S, shift)
    cavity = factors.cavity(
        tf.transpose(tf.linalg.matvec(A, mean)), tf.transpose(tf.einsum("cbi,cij,cbj->cb", A, S, A)), sites
    )
    V = tf.reduce_sum(factors.at_sides(s) + cavity.variance, axis=1, keepdims=True) + float(model.num_classes == 2)
    beta = tf.reduce_sum(factors.signs * cavity.mean, axis=1, keepdims=True) / tf.sqrt(V)
    log_mass = tf.math.log(0.5 * tf.math.erfc(-beta / np.sqrt(2.0)))
    terms = log_mass - tf.reduce_sum(site_normaliser(cavity, sites), axis=1, keepdims=True)
    total = tf.reduce_sum(factors.present * terms)
    return total - 0.5 * tf.reduce_sum(tf.linalg.logdet(precision)) + 0.5 * tf.reduce_sum(mean * shift)


@pytest.mark.parametrize(
    ("classes", "shared"), [(2, "true"), *(pytest.param(3, one, marks=pytest.mark.slow) for one in ("true", "false"))]
)
def test_the_gradient_of_the_evidence_three_ways(classes: int, shared: str) -> None:
    X, y = data(30, classes)
    overrides = (f"kernel.shared={shared}",)
    ep = converged(propagation(X, y, X[:5] + 0.1, classes, damping=0.5, overrides=overrides), passes=600)
    parameters = [variable for adam in ep.adams for variable in adam.parameters]
    with tf.GradientTape() as tape:
        evidence = evidence_with_sites_held(ep)
    assert_allclose(evidence, ep.evidence(), rtol=1e-10)
    by_tape = [gradient.numpy() for gradient in tape.gradient(evidence, parameters)]

    started = [variable.numpy() for variable in parameters]
    numerical = []
    for variable, start in zip(parameters, started, strict=True):  # the first entry of each parameter
        values = []
        for difference in (1e-4, -1e-4):
            changed = np.array(start)
            changed.flat[0] += difference
            variable.assign(changed)
            values.append(converged(ep, passes=400).evidence())
        numerical.append((values[0] - values[1]) / 2e-4)
        variable.assign(start)
    converged(ep, passes=400)

    assert ep.run([np.arange(30)], learn=True)[0] == DONE
    moments = [moment.numpy() for adam in ep.adams for moment in adam.first]
    for moment, taped, difference in zip(moments, by_tape, numerical, strict=True):
        analytic = -moment / 0.1  # the first step of Adam keeps a tenth of the loss's gradient
        assert_allclose(analytic, taped, atol=1e-6)
        assert_allclose(analytic.flat[0], difference, atol=1e-5)


def test_a_lost_cavity_moves_nothing_unless_it_may_be_skipped() -> None:
    X, y = data(40, 2)
    ep = converged(propagation(X, y, X[:6], 2), passes=20)
    sites = ep.sites.numpy()
    sites[3, 0] = 1e9  # a site that is not in the posterior
    ep.sites.assign(sites)
    before = [variable.numpy() for variable in ep.variables]
    status, skipped, _ = ep.run([np.arange(40)], learn=True)
    assert (status, skipped) == (NO_CAVITY, 0)
    for variable, value in zip(ep.variables, before, strict=True):
        assert_array_equal(variable, value)
    status, skipped, loss = ep.run([np.arange(40)], learn=True, skip=True)
    assert (status, skipped) == (DONE, 1)
    assert np.isfinite(loss)
    assert ep.sites.numpy()[3, 0] == 1e9


def test_without_data_only_the_label_noise_decides() -> None:
    config = compose(["method=ep", "inducing=1", "kernel.variance=1e-9"])
    model, noise = EPModel(config, np.zeros((1, 1)), 3), [0.4, 0.9, 1.5]
    model.noise.assign(noise)
    found = model.probabilities(tf.zeros([1, 1], tf.float64), *model.posterior())
    draws = np.random.default_rng(0).normal(0, np.sqrt(noise), (400_000, 3)).argmax(axis=1)
    assert_allclose(found[0], np.bincount(draws) / 400_000, atol=3e-3)
