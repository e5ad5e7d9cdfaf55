"""The formulas of one factor: fixtures, moments by quadrature and sampling, and nothing that overflows."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from scipy.stats import norm

from gpcnoise_cli.methods.ep.factors import Cavity, Factors, Sites, Tilted, site_normaliser


def labels(*classes: int, of: int) -> Factors:
    return Factors(tf.one_hot(list(classes), of, dtype=tf.float64))


def binary(mean: float, variance: float, residual: float, y: int) -> Tilted:
    one = np.ones((1, 1, 1))
    cavity = Cavity(tf.constant(mean * one), tf.constant(variance * one), tf.constant(one))
    return labels(y, of=2).tilted(cavity, tf.constant([[residual]], tf.float64))


def pairwise(means: list[float], variances: list[float], residuals: list[float]) -> Tilted:
    """Three classes, the first is right; the sides of its rival c are (mean of the first, mean of c)."""
    factors = labels(0, of=3)
    at = [factors.at_sides(tf.constant([each], tf.float64)) for each in (means, variances)]
    return factors.tilted(Cavity(*at, tf.ones_like(at[0])), tf.constant([residuals], tf.float64))


def test_a_binary_site_is_that_of_the_fixture() -> None:
    found = binary(0.3, 0.8, 0.1, y=0)
    assert_allclose(found.sites.tau.numpy().item(), 0.50287746, atol=1e-8)
    assert_allclose(found.sites.kappa.numpy().item(), -0.80686448, atol=1e-8)
    assert_allclose(found.log_mass.numpy().item(), -0.88224278, atol=1e-8)
    assert_allclose(found.by_mean.numpy().item(), -0.68296825, atol=1e-8)


def test_a_pairwise_site_is_that_of_the_fixture() -> None:
    found = pairwise([0.4, -0.1, 0.0], [0.6, 0.9, 1.0], [0.2, 0.3, 0.0])
    assert_allclose(found.sites.tau[0, :, 1], [0.33114390, 0.36766934], atol=1e-8)
    assert_allclose(found.sites.kappa[0, :, 1], [0.63022383, -0.58943722], atol=1e-8)


@pytest.mark.parametrize(("mean", "variance", "y"), [(0.3, 0.8, 0), (-2.0, 3.0, 1), (1.0, 0.05, 1)])
def test_the_new_marginal_has_the_moments_of_cavity_times_factor(mean: float, variance: float, y: int) -> None:
    found, residual, sign = binary(mean, variance, 0.1, y), 0.1, 2 * y - 1
    f = np.linspace(mean - 12 * variance**0.5, mean + 12 * variance**0.5, 20001)
    density = norm.pdf(f, mean, variance**0.5) * norm.cdf(sign * f / np.sqrt(1 + residual))
    mass = trapezoid(density, f)
    first = trapezoid(f * density, f) / mass
    second = trapezoid((f - first) ** 2 * density, f) / mass
    tau, kappa = found.sites.tau.numpy().item(), found.sites.kappa.numpy().item()
    precision = 1 / variance + tau
    assert_allclose(found.log_mass.numpy().item(), np.log(mass), atol=1e-9)
    assert_allclose([(mean / variance + kappa) / precision, 1 / precision], [first, second], atol=1e-9)


def test_pairwise_moments_are_those_of_samples() -> None:
    means, variances, residuals = [0.4, -0.1, 0.0], [0.6, 0.9, 1.0], [0.2, 0.3, 0.1]
    found = pairwise(means, variances, residuals)
    rng = np.random.default_rng(0)
    f = rng.normal(means, np.sqrt(variances), (1_000_000, 3))
    weight = norm.cdf((f[:, 0] - f[:, 2]) / np.sqrt(residuals[0] + residuals[2]))
    for side, c in ((0, 0), (1, 2)):
        tau, kappa = found.sites.tau[0, side, 2].numpy(), found.sites.kappa[0, side, 2].numpy()
        precision = 1 / variances[c] + tau
        first = np.average(f[:, c], weights=weight)
        second = np.average((f[:, c] - first) ** 2, weights=weight)
        assert_allclose((means[c] / variances[c] + kappa) / precision, first, atol=4e-3)
        assert_allclose(1 / precision, second, atol=4e-3)


def test_taking_a_site_out_and_putting_it_in_again_changes_nothing() -> None:
    factors = labels(1, of=2)
    sites = Sites(tf.constant([[[0.7]]], tf.float64), tf.constant([[[-0.3]]], tf.float64))
    cavity = factors.cavity(tf.constant([[0.5]], tf.float64), tf.constant([[0.9]], tf.float64), sites)
    precision = 1 / cavity.variance + sites.tau
    assert_allclose(1 / precision, [[[0.9]]], rtol=1e-14)
    assert_allclose((cavity.mean / cavity.variance + sites.kappa) / precision, [[[0.5]]], rtol=1e-14)


def test_the_normaliser_of_a_site_is_its_expectation() -> None:
    one = np.ones((1, 1, 1))
    cavity = Cavity(*(tf.constant(value * one) for value in (0.4, 0.7, 1.0)))
    sites = Sites(tf.constant(0.9 * one), tf.constant(-0.5 * one))
    f = np.linspace(-12, 12, 40001)
    expected = np.log(trapezoid(norm.pdf(f, 0.4, 0.7**0.5) * np.exp(-0.45 * f**2 - 0.5 * f), f))
    assert_allclose(site_normaliser(cavity, sites).numpy().item(), expected, atol=1e-9)


def test_sides_and_latent_functions_are_each_others_adjoints() -> None:
    factors, rng = labels(2, 0, 1, of=3), np.random.default_rng(1)
    latent, sides = rng.normal(size=(3, 3)), rng.normal(size=(3, 2, 3))
    spread = factors.at_sides(tf.constant(latent)) * factors.present
    assert_allclose(
        tf.reduce_sum(spread * sides), tf.reduce_sum(latent * factors.by_latent(tf.constant(sides))), rtol=1e-12
    )


@pytest.mark.parametrize("mean", [-1e8, -50.0, 50.0, 1e8])
@pytest.mark.parametrize("variance", [1e-10, 1.0, 1e6])
def test_nothing_overflows(mean: float, variance: float) -> None:
    one = binary(mean, variance, 0.0, y=1)
    several = pairwise([mean, 0.0, -mean], [variance, 1e-10, 1.0], [0.0, 0.0, 0.0])
    for found in (one, several):
        for value in tf.nest.flatten(found):
            assert np.all(np.isfinite(value))
        assert np.all(found.sites.tau >= 0)
