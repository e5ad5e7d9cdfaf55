"""Fits without test rows, as those from arrays are, come in series: the compiled loop of the last one is used again.

Compiling the loop takes about a second, longer than training on a small set. In a cross-validation or a grid search the
next fit often has the same settings and as many rows: then the trainer of the last one is taken, with all its variables
and its data replaced. A trainer is taken out while it is in use, so that threads do not share one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict
from typing import Any

import tensorflow as tf

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.models.kernels import kernel_state
from gpcnoise_cli.models.svgp import FusedSVGP
from gpcnoise_cli.training.assessment import Assessor
from gpcnoise_cli.training.loop import TrainingLoop
from gpcnoise_cli.training.progress import Progress
from gpcnoise_cli.training.trainer import Trainer

MOST_KEPT = 3
LARGEST_KEPT = 1_000_000  # numbers in X; keeping larger ones would cost more memory than compiling costs time

_kept: OrderedDict[str, Trainer] = OrderedDict()


def is_reusable(split: Split) -> bool:
    alone = tf.distribute.get_strategy().num_replicas_in_sync == 1
    return alone and split.store is None and split.n_test == 0 and split.X_train.size <= LARGEST_KEPT


def take_trainer(config: TrainConfig, model: FusedSVGP, split: Split, progress: Progress) -> Trainer:
    """A trainer at the start of training `model`; its model may be another object with the same values."""
    fresh = Trainer(config, model, split, progress)
    if not is_reusable(split):
        return fresh
    kept = _kept.pop(_shape(config, split), None)
    if kept is not None:
        _start_like(kept, fresh)
        return kept
    # A compiled loop reads a variable anew each time; a constant would stay what it was.
    loop = _in_memory(fresh)
    loop.X, loop.Y = tf.Variable(loop.X, trainable=False), tf.Variable(loop.Y, trainable=False)
    if loop.weights is not None:
        loop.weights = tf.Variable(loop.weights, trainable=False)
    return fresh


def give_back(trainer: Trainer) -> None:
    """Keep the compiled loop for a fit of the same shape; its model is not to be used any more."""
    if trainer.history.precision == trainer.config.runtime.precision:
        _kept[_shape(trainer.config, trainer.split)] = trainer
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)


def _start_like(kept: Trainer, fresh: Trainer) -> None:
    """Everything that changes during a run as it is in `fresh`, and its data."""
    for ours, theirs in zip(kept.variables, fresh.variables, strict=True):
        ours.assign(theirs)
    ours, theirs = _in_memory(kept), _in_memory(fresh)
    ours.X.assign(theirs.X)
    ours.Y.assign(theirs.Y)
    if ours.weights is not None:
        ours.weights.assign(theirs.weights)
    kept.config, kept.split, kept.progress = fresh.config, fresh.split, fresh.progress
    kept.progress.state = lambda: kernel_state(kept.model.kernel)
    kept.history, kept.best, kept.start = fresh.history, [], fresh.start
    kept.assessor = Assessor(kept.model, kept.split.X_train, kept.split.y_train, kept.config.seed, kept.split.weights)
    kept.timed_steps, kept.timed_seconds, kept.steps_per_call = 0, 0.0, 1


def _in_memory(trainer: Trainer) -> TrainingLoop:
    assert isinstance(trainer.loop, TrainingLoop)
    return trainer.loop


def _shape(config: TrainConfig, split: Split) -> str:
    """All that is written into a compiled loop as a constant."""
    settings: dict[str, Any] = asdict(config)
    if config.batch_size >= split.n_train:
        settings.pop("seed")  # it decides the minibatches only
    return repr((settings, split.X_train.shape, split.X_train.dtype.str, split.num_classes, split.weights is None))
