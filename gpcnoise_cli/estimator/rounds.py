"""The trainer of the command line for fits without a test split, compiled once for fits of the same shape.

Compiling the loop takes about a second, longer than training on a small set. In a cross-validation or a grid search the
next fit often has the same settings and as many rows: then the loop of the last one is used again, with all its
variables and its data replaced. A loop is taken out while it is in use, so that threads do not share one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict
from typing import Any

import tensorflow as tf

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training.assessment import Assessor
from gpcnoise_cli.training.events import TrainingEvents
from gpcnoise_cli.training.trainer import Trainer

MOST_KEPT = 3
LARGEST_KEPT = 1_000_000  # numbers in X; keeping larger ones would cost more memory than compiling costs time

_kept: OrderedDict[str, Rounds] = OrderedDict()


class Rounds(Trainer):
    """Without a test split there is nothing to measure on the way."""

    def _measure(self, step: int) -> None:
        return

    def start_like(self, fresh: Rounds) -> None:
        """Everything that changes during a run as it is in `fresh`, and its data."""
        for ours, theirs in zip(self.variables, fresh.variables, strict=True):
            ours.assign(theirs)
        self.loop.X.assign(fresh.loop.X)
        self.loop.Y.assign(fresh.loop.Y)
        self.config, self.split = fresh.config, fresh.split
        self.history, self.events, self.best = fresh.history, fresh.events, []
        self.assessor = Assessor(self.model, self.split.X_train, self.split.y_train, self.config.seed)
        self.timed_steps, self.timed_seconds, self._steps_per_call = 0, 0.0, 1


class Printed(TrainingEvents):
    """Lines on stdout, as scikit-learn's `verbose` does."""

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        print(f"[GPCNoiseClassifier] step {step} of at most {iterations}: loss {loss:.6g}")

    def message(self, text: str) -> None:
        print(f"[GPCNoiseClassifier] {text}")


def take_rounds(config: TrainConfig, model: FusedSVGP, split: Split, *, verbose: bool) -> Rounds:
    """A trainer at the start of training `model`; its model may be another object with the same values."""
    fresh = Rounds(config, model, split, events=Printed() if verbose else None)
    kept = _kept.pop(_shape(config, split), None)
    if kept is not None:
        kept.start_like(fresh)
        return kept
    if split.X_train.size <= LARGEST_KEPT:
        # A compiled loop reads a variable anew each time; a constant would stay what it was.
        fresh.loop.X = tf.Variable(fresh.loop.X, trainable=False)
        fresh.loop.Y = tf.Variable(fresh.loop.Y, trainable=False)
    return fresh


def give_back(rounds: Rounds) -> None:
    """Keep the compiled loop for a fit of the same shape."""
    as_asked = rounds.history.precision == rounds.config.runtime.precision
    if as_asked and rounds.split.X_train.size <= LARGEST_KEPT:
        _kept[_shape(rounds.config, rounds.split)] = rounds
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)


def _shape(config: TrainConfig, split: Split) -> str:
    """All that is written into a compiled loop as a constant."""
    settings: dict[str, Any] = asdict(config)
    if config.batch_size >= split.n_train:
        settings.pop("seed")  # it decides the minibatches only
    return repr((settings, split.X_train.shape, split.X_train.dtype.str, split.num_classes))
