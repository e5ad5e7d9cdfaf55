"""Binary EP with the rows as inducing points against the EP of GPy, another author's implementation.

`gpy.json` was made in an environment of its own with GPy 1.13.2 and NumPy 1.26.4: 20 rows of two normal features,
rounded to three digits, labels by the sign of a noisy sin(2x₁) + x₂; `GPy.core.GP` with an RBF kernel of the variance
and lengthscale in the file, `Bernoulli(gp_link=Probit())` and `EP(epsilon=1e-12, max_iters=1000)`; its log likelihood
with the gradients by both kernel parameters, and mean, variance and probability of class 1 at five further rows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.methods.ep.model import EPModel
from gpcnoise_cli.methods.ep.propagation import Propagation
from gpcnoise_cli.models.conditional import marginals
from gpcnoise_cli.models.kernels import covariances, prior_variances
from gpcnoise_cli.training.schedule import Schedule


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("gpy.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ep(theirs: dict[str, Any]) -> Propagation:
    """Converged, with next to no jitter and label noise besides the probit's own."""
    X, kernel = np.array(theirs["X"]), theirs["kernel"]
    same = (f"kernel.variance={kernel['variance']}", "kernel.ard=false", "runtime.jitter=1e-10")
    config = compose(["preset=paper", "method=ep", *same])
    model = EPModel(config, X, 2, lengthscale=kernel["lengthscale"])
    model.noise.unconstrained_variable.assign([-40.0])
    ep = Propagation(model, X, np.array(theirs["y"]), config.optimizer, Schedule(100, config.optimizer), 1.0)
    ep.run([np.arange(20)] * 150, learn=False)
    ep.rebuild()
    return ep


def test_the_evidence_is_the_same(ep: Propagation, theirs: dict[str, Any]) -> None:
    assert_allclose(ep.evidence(), theirs["log_evidence"], atol=2e-5)


def test_the_posterior_is_the_same_at_other_rows(ep: Propagation, theirs: dict[str, Any]) -> None:
    model, new = ep.model, tf.constant(theirs["new"], tf.float64)
    mean, S = model.posterior()
    found = marginals(
        model.inducing_covariance(),
        covariances(model.kernel, new, model.Z, tf.float64),
        prior_variances(model.kernel, new, tf.float64),
        tf.transpose(mean),
        S - tf.eye(20, dtype=tf.float64),
    )
    assert_allclose(found.mu[:, 0], theirs["mean"], atol=2e-5)
    assert_allclose(found.nu[:, 0], theirs["variance"], atol=2e-5)
    assert_allclose(model.probabilities(new, mean, S)[:, 1], theirs["probability"], atol=1e-5)


def test_the_evidence_has_the_same_slopes_by_the_kernel(ep: Propagation, theirs: dict[str, Any]) -> None:
    """Ours by differences of the evidence, converged anew at each."""
    for name in ("variance", "lengthscale"):
        parameter = getattr(ep.model.kernel, "lengthscales" if name == "lengthscale" else name)
        value, ends = parameter.numpy(), []
        for step in (1e-3, -1e-3):
            parameter.assign(value + step)
            ep.rebuild()
            ep.run([np.arange(20)] * 60, learn=False)
            ep.rebuild()
            ends.append(ep.evidence())
        parameter.assign(value)
        # With Z = X left where it is, the features are those of the rows at any kernel.
        assert_allclose((ends[0] - ends[1]) / 2e-3, theirs[f"by_{name}"], atol=2e-3)
