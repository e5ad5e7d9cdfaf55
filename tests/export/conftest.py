"""A run folder to export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpcnoise_cli.config.compose import compose, to_yaml
from gpcnoise_cli.data.split import Split


@pytest.fixture(scope="module")
def run(split: Callable[..., Split], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of three classes with one latent function each, at its start but for q(u)."""
    from gpcnoise_cli.methods.svgp import SVGPClassifier
    from gpcnoise_cli.methods.trained_model import TrainedModel
    from gpcnoise_cli.models.build import build_model

    folder = tmp_path_factory.mktemp("run")
    config, data = compose(["likelihood=softmax", "inducing=6", "likelihood.prediction_draws=64"]), split(3)
    model = build_model(config, data.X_train, 3)
    model.q_mu.assign(np.random.default_rng(0).normal(size=model.q_mu.shape))
    (folder / "config.yaml").write_text(to_yaml(config))
    TrainedModel.of(config, SVGPClassifier(config, lambda: model), data).save(folder)
    return folder
