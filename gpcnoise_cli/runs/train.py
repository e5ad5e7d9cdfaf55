"""One training run: data in, model trained and scored, everything filed in its run folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from gpcnoise_cli.config.schema import IN_MEMORY, TrainConfig
from gpcnoise_cli.data import Split, load_split
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.tracking import check_tracking
from gpcnoise_cli.runs.tracking.tracker import Place, tracked
from gpcnoise_cli.likelihoods.registry import likelihood_spec
from gpcnoise_cli.runtime import prepare, versions
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents


class FiledEvents(TrainingEvents):
    """Writes the log and the curve into the run folder, and passes everything on to the listener that shows it."""

    def __init__(self, folder: RunFolder, shown: TrainingEvents, objective: str) -> None:
        self.folder, self.shown, self.objective = folder, shown, objective
        self.curve: list[CurvePoint] = []

    def started(self, step: int, iterations: int) -> None:
        self._log(f"training from step {step} to {iterations}")
        self.shown.started(step, iterations)

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        self.shown.progressed(step, iterations, loss)

    def measured(self, point: CurvePoint) -> None:
        self.curve.append(point)
        self.folder.write_curve(self.curve)
        name = "elbo" if self.objective == "elbo" else f"{self.objective} objective"
        self._log(f"step {point.step}: {name} {point.elbo:.6g}, acc {point.acc:.2f}, nll {point.nll:.4f}")
        self.shown.measured(point)

    def message(self, text: str) -> None:
        self._log(text)
        self.shown.message(text)

    def _log(self, text: str) -> None:
        with self.folder.log.open("a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}\n")


def load_data(config: TrainConfig) -> Split:
    """The arrays that a configuration asks for."""
    source = config.dataset
    if source.path == IN_MEMORY:
        raise GpcnoiseError(
            "the model was fitted from arrays in memory, so it has no data file and no test rows of its own; "
            "give labelled rows by `gpcnoise evaluate RUN_DIR --data FILE`."
        )
    return load_split(
        source.name,
        protocol=config.protocol,
        split=config.split,
        source=source.source,
        path=source.path,
        target=source.target,
        test_fraction=source.test_fraction,
        holdout=source.holdout,
    )


def run_training(
    config: TrainConfig,
    *,
    data: Split | None = None,
    folder: RunFolder | None = None,
    resume: bool = False,
    events: TrainingEvents | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
    keep_probabilities: bool = False,
    limit_inducing: bool = False,
    tracked_at: Place | None = None,
) -> dict[str, Any]:
    """Train, score, save; returns the result, which `train --json` prints. Raises `Interrupted` when asked to stop.

    Data, model and optimizer come before the folder, so a request that cannot work leaves nothing behind. With
    `limit_inducing` a number of inducing points that nobody asked for is brought down to the number of training rows.
    """
    check_tracking(config.tracking)
    device = prepare(config.runtime)
    from gpcnoise_cli.models.build import build_model, precision_context
    from gpcnoise_cli.models.store import save_model
    from gpcnoise_cli.training.trainer import Trainer

    split = data or load_data(config)
    if limit_inducing:
        config = replace(config, inducing=min(config.inducing, split.n_train))
    with precision_context(config.runtime.precision):
        model = build_model(config, split.X_train, split.num_classes)
        trainer = Trainer(config, model, split, stop_requested=stop_requested)
        folder = folder or RunFolder.create(config)
        filed = FiledEvents(folder, events or TrainingEvents(), config.objective)
        trainer.checkpoint = folder.checkpoint
        if resume and folder.checkpoint.exists():
            trainer.resume()
            filed.curve = list(trainer.history.curve)
        with tracked(config, folder, model, filed, tracked_at) as tracker:
            trainer.events = tracker or filed
            trainer.train()
            probabilities = trainer.probabilities(split.X_test)
            # A run that had to go on in float64 is to be used in float64.
            trained = replace(config, runtime=replace(config.runtime, precision=trainer.history.precision))
            save_model(folder.path, trained, model, split, versions())
            if keep_probabilities:
                folder.write_probabilities(probabilities, split.y_test)
            metrics = evaluate(probabilities, split.y_test)
            result = {
                **describe(config, split),
                "device": device,
                "delta": model.delta_value(),
                "jitter": float(model.jitter),
                "precision_used": trainer.history.precision,
                "incidents": trainer.history.incidents,
                "steps": trainer.step,
                **asdict(metrics),
                # The value of another objective is no bound on the evidence, and must not be taken for one.
                "elbo": trainer.elbo() if config.objective == "elbo" else None,
                "objective_value": trainer.elbo(),
                "train_seconds": trainer.history.seconds,
                "seconds_per_step": trainer.seconds_per_step,
                "run_dir": str(folder.path),
                "versions": versions(),
            }
            if tracker is not None and tracker.trouble:
                result["tracking_failed"] = tracker.trouble
            folder.write_metrics(result)
            if tracker is not None:
                tracker.finished(result, folder)
    folder.checkpoint.unlink(missing_ok=True)
    return result


def describe(config: TrainConfig, split: Split) -> dict[str, Any]:
    """What was asked for and on what data: the part of a result that is known before training."""
    from gpcnoise_cli.models.build import shares_kernel

    return {
        "preset": config.preset,
        "dataset": config.dataset.name,
        "source": split.source,
        "protocol": config.protocol,
        "scored_on": "held-out training rows" if config.dataset.holdout else "test rows",
        "likelihood": config.likelihood.name,
        "method": likelihood_spec(config.likelihood.name).label,
        "noise_variance": config.likelihood.noise_variance,
        "objective": config.objective,
        "bound": config.likelihood.bound if config.objective == "elbo" else None,
        "kernel": config.kernel.name,
        "ard": config.kernel.ard,
        "shared_kernel": shares_kernel(config, split.num_classes),
        "inducing": config.inducing,
        "batch_size": config.batch_size,
        "delta_mode": config.delta.mode if likelihood_spec(config.likelihood.name).has_delta else None,
        "iterations": config.iterations,
        "learning_rate": config.optimizer.learning_rate,
        "optimizer": config.optimizer.name,
        "precision": config.runtime.precision,
        "split": config.split,
        "seed": config.seed,
        "n_train": split.n_train,
        "n_test": split.n_test,
        "d": split.d,
        "classes": split.num_classes,
        "class_names": list(split.class_names),
        "majority_acc": 100.0 * float(np.mean(split.y_test == np.bincount(split.y_train).argmax())),
    }
