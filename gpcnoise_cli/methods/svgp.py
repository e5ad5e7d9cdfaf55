"""The paper's method: a sparse variational GP with one of its likelihoods."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf
from gpflow.utilities import parameter_dict
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.devices import scope
from gpcnoise_cli.methods.base import Arrays, Fit
from gpcnoise_cli.methods.described import describe
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.models.build import Layout, assemble, build_model, precision_context
from gpcnoise_cli.models.predict import Predictor
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training.hosts import check_shares
from gpcnoise_cli.training.progress import Progress
from gpcnoise_cli.training.reuse import give_back, is_reusable, take_trainer
from gpcnoise_cli.training.trainer import Trainer


class SVGPClassifier:
    """A trained model, made when it is first needed; `facts` are those of its training, `said` hears of trouble."""

    def __init__(
        self,
        config: TrainConfig,
        make: Callable[[], FusedSVGP],
        facts: Mapping[str, Any] | None = None,
        said: Callable[[str], None] = warnings.warn,
    ) -> None:
        self.config, self._make, self._facts, self._said = config, make, dict(facts or {}), said

    @cached_property
    def model(self) -> FusedSVGP:
        return self._make()

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self.model, self.config.runtime.chunk_rows)

    def predict(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        with precision_context(self.config.runtime.precision):
            return self._predictor.steadily(X, self._said)

    def latent(self, X: NDArray[np.floating]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Means and variances of the latent functions, block by block."""
        rows = self.config.runtime.chunk_rows
        with precision_context(self.config.runtime.precision):
            for start in range(0, len(X), rows):
                mu, nu = self.model.marginals(tf.constant(X[start : start + rows], self.model.work))
                yield mu.numpy(), nu.numpy()

    def tensor_probabilities(self, X: tf.Tensor) -> tf.Tensor:
        return self.model.likelihood.predict_probabilities(*self.model.marginals(X))

    def tensor_variables(self) -> Sequence[tf.Variable]:
        """All that `tensor_probabilities` reads."""
        return self.model.variables

    def arrays(self) -> Arrays:
        return {name: variable.numpy() for name, variable in _variables(self.model).items()}

    def facts(self) -> dict[str, Any]:
        return {**self._facts, **self.model.state()}

    def hyperparameters(self) -> dict[str, Any]:
        kernel = {f"kernel{name}": p.numpy().tolist() for name, p in parameter_dict(self.model.kernel).items()}
        return {**kernel, **self.model.state()}


class SVGPFit:
    """A model on its training rows, before its first step."""

    def __init__(self, config: TrainConfig, model: FusedSVGP, split: Split) -> None:
        self.config, self.model, self.split = config, model, split

    def run(self, progress: Progress) -> SVGPClassifier:
        with precision_context(self.config.runtime.precision), scope(self.config.runtime):
            trainer = take_trainer(self.config, self.model, self.split, progress)
            trainer.train()
            trainer.loop.close()
            reusable = is_reusable(self.split)
        # A run that had to go on in float64 is to be used in float64.
        runtime = replace(self.config.runtime, precision=trainer.history.precision)
        config, facts = replace(self.config, runtime=runtime), _facts(trainer, self.config)
        classifier = SVGPClassifier(config, lambda: trainer.model, facts, trainer.incident)
        if not reusable:
            return classifier
        arrays, split = classifier.arrays(), self.split
        give_back(trainer)
        return SVGPClassifier(config, lambda: _filled(config, arrays, split.d, split.num_classes, split.n_train), facts)


class SVGP:
    """`Method`, see there."""

    def describe(self, config: TrainConfig, num_classes: int) -> dict[str, Any]:
        return describe(config, num_classes)

    def start(self, config: TrainConfig, split: Split, earlier: Mapping[str, NDArray[Any]] | None = None) -> Fit:
        with precision_context(config.runtime.precision), scope(config.runtime):
            check_shares(config, split)
            if earlier is None:
                model = self.build(config, split)
                model.likelihood.prepare(split.class_totals())
            else:
                model = _filled(config, earlier, split.d, split.num_classes, split.n_train, Layout.of(split))
        return SVGPFit(config, model, split)

    def build(self, config: TrainConfig, split: Split) -> FusedSVGP:
        X, _ = split.first_rows()
        layout = Layout.of(split)
        return build_model(config, X, split.num_classes, weights=split.weights, layout=layout, num_data=split.n_train)

    def restore(self, config: TrainConfig, arrays: Arrays, d: int, num_classes: int, num_data: int) -> SVGPClassifier:
        model = _filled(config, arrays, d, num_classes, num_data)
        return SVGPClassifier(config, lambda: model)


METHOD = SVGP()


def model_of(trained: TrainedModel) -> FusedSVGP:
    """The GPflow model of a trained SVGP."""
    classifier = trained.classifier
    assert isinstance(classifier, SVGPClassifier)
    return classifier.model


def _facts(trainer: Trainer, config: TrainConfig) -> dict[str, Any]:
    history = trainer.history
    return {
        "precision_used": history.precision,
        "incidents": history.incidents,
        "steps": trainer.step,
        # The value of another objective is no bound on the evidence, and must not be taken for one.
        "elbo": trainer.elbo() if config.objective == "elbo" else None,
        "objective_value": trainer.elbo(),
        "train_seconds": history.seconds,
        "seconds_per_step": trainer.seconds_per_step,
    }


def _filled(
    config: TrainConfig,
    arrays: Mapping[str, NDArray[Any]],
    d: int,
    num_classes: int,
    num_data: int,
    layout: Layout | None = None,
) -> FusedSVGP:
    """The model of a configuration with the parameters of an earlier one."""
    with precision_context(config.runtime.precision):
        Z, gamma = np.zeros((config.inducing, d)), arrays.get("gamma")
        model = assemble(config, Z, num_classes, num_data=num_data, gamma=gamma, layout=layout)
        variables = _variables(model)
        if variables.keys() != arrays.keys():
            raise ValueError("the parameters are not those of the configuration")
        for name, variable in variables.items():
            variable.assign(np.asarray(arrays[name], variable.dtype.as_numpy_dtype))
    return model


def _variables(model: FusedSVGP) -> dict[str, Any]:
    return {
        name.lstrip("."): getattr(parameter, "unconstrained_variable", parameter)
        for name, parameter in parameter_dict(model).items()
    }
