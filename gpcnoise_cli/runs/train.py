"""One training run: load data, fit, score, save; everything is filed in its run folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from gpcnoise_cli.config.schema import IN_MEMORY, SVGP, DatasetConfig, TrainConfig
from gpcnoise_cli.config.validate import needing_memory
from gpcnoise_cli.data import Split, load_split
from gpcnoise_cli.data.description import described
from gpcnoise_cli.data.parts import keep_back
from gpcnoise_cli.data.storage import storage_of
from gpcnoise_cli.data.treatment import Treatment
from gpcnoise_cli.data.weights import read_class_weights, weighted
from gpcnoise_cli.devices import ENVIRONMENT, Cluster, devices_used, hosts_kept, join, leave
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.evaluation.metrics import Metrics, evaluate
from gpcnoise_cli.likelihoods.registry import check_fits
from gpcnoise_cli.methods.described import describe as method_settings
from gpcnoise_cli.methods.registry import check_method, method_of
from gpcnoise_cli.models.inducing import check_number
from gpcnoise_cli.runs.held_out import HeldOut
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.tracking import check_tracking
from gpcnoise_cli.runs.tracking.tracker import Place, tracked
from gpcnoise_cli.runtime import prepare, versions
from gpcnoise_cli.training.events import CurvePoint, TrainingEvents

# What every result names; None where its method has no such thing.
SETTINGS = (
    *("label", "likelihood", "noise_variance", "objective", "bound", "kernel", "ard", "shared_kernel", "inducing"),
    *("batch_size", "delta_mode", "iterations", "learning_rate", "optimizer", "precision"),
)
FACTS = ("delta", "elbo", "objective_value", "steps", "train_seconds", "seconds_per_step", "incidents")
SCORES = tuple(field.name for field in fields(Metrics))


class Filed(TrainingEvents):
    """Writes the log and the curve into the run folder."""

    def __init__(self, folder: RunFolder, objective: str) -> None:
        self.folder = folder
        self.value_name = "elbo" if objective == "elbo" else f"{objective} objective"
        self.curve: list[CurvePoint] = []

    def started(self, step: int, iterations: int) -> None:
        # What was measured after the checkpoint is measured again.
        self.curve = [point for point in self.folder.read_curve() if point.step <= step] if step else []
        self.message(f"training from step {step} to {iterations}")

    def measured(self, point: CurvePoint) -> None:
        self.curve.append(point)
        self.folder.write_curve(self.curve)
        value = "" if point.elbo is None else f"{self.value_name} {point.elbo:.6g}, "
        self.message(f"step {point.step}: {value}acc {point.acc:.2f}, nll {point.nll:.4f}")

    def message(self, text: str) -> None:
        with self.folder.log.open("a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}\n")


def treatment_of(dataset: DatasetConfig) -> Treatment:
    """What the configuration says about a table of one's own."""
    return Treatment(**{one.name: getattr(dataset, one.name) for one in fields(Treatment)})


def load_data(config: TrainConfig) -> Split:
    """The arrays that a configuration asks for."""
    source = config.dataset
    if source.path == IN_MEMORY:
        raise GpcnoiseError(
            "the model was fitted from arrays in memory, so it has no data file and no test rows of its own; "
            "give labelled rows by `gpcnoise evaluate RUN_DIR --data FILE`."
        )
    split = load_split(
        source.name,
        protocol=config.protocol,
        split=config.split,
        source=source.source,
        path=source.path,
        target=source.target,
        treatment=treatment_of(source),
        test_fraction=source.test_fraction,
        test_rows=source.test_rows,
        holdout=source.holdout,
        categories=source.categories,
        storage="disk" if source.storage == "disk" else "memory",
    )
    return parts_of(config, split)


def parts_of(config: TrainConfig, split: Split) -> Split:
    """The split with the weights that the configuration asks for, and without the rows that it keeps from training."""
    weights, of_classes = split.weights, None
    if config.class_weight is not None:
        of_classes = read_class_weights(config.class_weight, split.class_names, split.y_train, weights)
    return keep_back(weighted(replace(split, weights=None), weights, of_classes), config.dataset.calibration)


def with_storage(config: TrainConfig) -> TrainConfig:
    """The same, with `dataset.storage=auto` replaced by disk where a table is too large for this machine's memory.

    It is settled once, before a run begins, and kept with it: a long table has other test rows on disk than in memory.
    """
    dataset = config.dataset
    if dataset.storage != "auto" or dataset.name != "file":
        return config
    large = storage_of(str(dataset.path), needing_memory=needing_memory(config)) == "disk"
    return replace(config, dataset=replace(dataset, storage="disk")) if large else config


def check_request(config: TrainConfig, split: Split, *, limit_inducing: bool) -> None:
    """Refuse at once what would be refused after the slow imports."""
    RunFolder.check(config)
    if config.method.name == SVGP:
        check_fits(config.likelihood.name, split.num_classes)
        if not limit_inducing:
            check_number(config.inducing, split.n_train)


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
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Train, score, save; returns the result, which is the JSON of `train`. Raises `Interrupted` when asked to stop.

    Data and model come before the folder, so a request that cannot work leaves nothing behind. With `limit_inducing` a
    number of inducing points that nobody asked for is brought down to the number of training rows. Of several hosts in
    a `cluster`, the chief does all of it, and the others help to train and return what they were.
    """
    check_tracking(config.tracking)
    device = prepare(config.runtime)
    if cluster is not None:
        if config.method.name != SVGP:
            raise UsageError(f"method={config.method.name} trains on one host; unset {ENVIRONMENT}.")
        if config.folds:
            raise UsageError(f"folds are trained on one host; unset {ENVIRONMENT}, or omit --folds.")
        join(cluster, config.runtime)
    split = data or load_data(config)
    if limit_inducing:
        config = replace(config, inducing=min(config.inducing, split.n_train))

    def train(
        config: TrainConfig, split: Split, folder: RunFolder | None, *, resume: bool = resume, **how: Any
    ) -> dict[str, Any]:
        return _train_one(config, split, folder, device, resume, events, stop_requested, cluster, **how)

    if config.folds:
        from gpcnoise_cli.runs.folds import run_folds

        return run_folds(
            config,
            split,
            folder,
            train,
            limit_inducing=limit_inducing,
            keep_probabilities=keep_probabilities,
            say=events.message if events else lambda text: None,
        )
    return train(config, split, folder, keep_probabilities=keep_probabilities, tracked_at=tracked_at)


def _train_one(
    config: TrainConfig,
    split: Split,
    folder: RunFolder | None,
    device: str,
    resume: bool,
    events: TrainingEvents | None,
    stop_requested: Callable[[], bool],
    cluster: Cluster | None,
    *,
    keep_probabilities: bool = False,
    keep_model: bool = True,
    tracked_at: Place | None = None,
    amend: Callable[[dict[str, Any]], dict[str, Any]] = lambda result: result,
) -> dict[str, Any]:
    """One model on one split; `amend` has the last word on its result before that is filed."""
    from gpcnoise_cli.methods.trained_model import TrainedModel
    from gpcnoise_cli.training.progress import Progress

    check_method(config, split)
    with hosts_kept():
        fit = method_of(config).start(config, split)
    if cluster is not None and not cluster.is_chief:
        helped = fit.run(Progress([events] if events else [], stop_requested, resume=resume))
        leave(config.runtime)
        return {"host": cluster.place, "hosts": len(cluster.addresses), "steps": helped.facts()["steps"]}
    folder = folder or RunFolder.create(config)
    if split.findings:
        folder.write_columns(described(split))
    listeners = [Filed(folder, config.objective), *([events] if events else [])]
    progress = Progress(listeners, stop_requested, folder.checkpoint, resume)
    with folder.claim(), tracked(config, folder, progress, tracked_at) as tracker:
        classifier = fit.run(progress)
        probabilities = classifier.predict(split.X_test)
        trained = TrainedModel.of(config, classifier, split)
        if split.X_calibration is not None and split.y_calibration is not None:
            HeldOut.of(trained, split.X_calibration, split.y_calibration).save(folder.path)
        if keep_model:
            trained.save(folder.path)
        if keep_probabilities:
            folder.write_probabilities(probabilities, split.y_test)
        scores = asdict(evaluate(probabilities, split.y_test)) if split.n_test else dict.fromkeys(SCORES)
        result = {
            **describe(config, split),
            "device": device,
            **devices_used(config.runtime),
            **scores,
            **dict.fromkeys(FACTS),
            **classifier.facts(),
            "run_dir": str(folder.path),
            "versions": versions(),
        }
        if tracker is not None and tracker.trouble:
            result["tracking_failed"] = tracker.trouble
        result = amend(result)
        folder.write_metrics(result)
        if tracker is not None:
            tracker.finished(result, folder)
    folder.checkpoint.unlink(missing_ok=True)
    if cluster is not None:
        leave(config.runtime)
    return result


def describe(config: TrainConfig, split: Split) -> dict[str, Any]:
    """What was asked for and on what data: the part of a result that is known before training."""
    return {
        "preset": config.preset,
        "dataset": config.dataset.name,
        "source": split.source,
        "protocol": config.protocol,
        "scored_on": _scored_on(config, split),
        "method": config.method.name,
        **dict.fromkeys(SETTINGS),
        **method_settings(config, split.num_classes),
        "split": config.split,
        "seed": config.seed,
        "n_train": split.n_train,
        "n_test": split.n_test,
        **({"total_weight": split.total_weight} if split.weights is not None else {}),
        **({"n_calibration": len(split.y_calibration)} if split.y_calibration is not None else {}),
        "d": split.d,
        "classes": split.num_classes,
        "class_names": list(split.class_names),
        "majority_acc": 100.0 * float(np.mean(split.y_test == split.class_counts().argmax())) if split.n_test else None,
    }


def _scored_on(config: TrainConfig, split: Split) -> str | None:
    if not split.n_test:
        return None
    return "held-out training rows" if config.dataset.holdout else "test rows"
