"""Other authors' likelihoods through the whole engine: tiny models learn."""

from __future__ import annotations

import numpy as np
import pytest

from gpcnoise_cli.estimator.classifier import GPCNoiseClassifier
from gpcnoise_cli.likelihoods import LIKELIHOODS

OTHERS = [
    pytest.param(name, classes, marks=() if (name, classes) == ("augmented", 3) else pytest.mark.slow)
    for name, spec in LIKELIHOODS.items()
    for classes in (2, 3)
    if spec.fits(classes) and not spec.of_paper
]


@pytest.mark.parametrize(("name", "classes"), OTHERS)
def test_a_tiny_model_learns_and_predicts_probabilities(name: str, classes: int) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % classes
    X = 3 * np.column_stack([np.cos(2 * y), np.sin(2 * y)]) + rng.normal(size=(90, 2))
    model = GPCNoiseClassifier(likelihood=name, inducing=10, iterations=30, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X)
    assert np.mean(model.predict(X) == y) > 0.9
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
