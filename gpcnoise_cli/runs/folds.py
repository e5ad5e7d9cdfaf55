"""Cross-validation as one run: a model for each part of the rows, scored on that part, then one on all rows.

Every row is predicted once by a model that has not seen it. The scores are the mean over the folds, with the standard
error of that mean; the folds share most of their rows, so it is a little too small. The probabilities of all rows are
kept as a table, and beside the model for what is learned from held-out rows. The model that stays in the run folder is
the one of all rows: no score is its own, and those of the folds are a cautious guess, as they saw fewer rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data import Split
from gpcnoise_cli.data.parts import folds_of
from gpcnoise_cli.evaluation.metrics import Metrics, evaluate
from gpcnoise_cli.files import write_text
from gpcnoise_cli.methods.registry import method_of
from gpcnoise_cli.runs.held_out import OUT_OF_FOLD, HeldOut
from gpcnoise_cli.runs.prediction_file import prediction_table
from gpcnoise_cli.runs.run_folder import RunFolder

TABLE = "out-of-fold.csv"
SCORES = tuple(field.name for field in fields(Metrics) if field.name != "per_class")

Train = Callable[..., dict[str, Any]]


def run_folds(
    config: TrainConfig,
    split: Split,
    folder: RunFolder | None,
    train: Train,
    *,
    limit_inducing: bool,
    keep_probabilities: bool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """`train(config, split, folder)` fits and files one model. Folds that are finished are not computed again."""
    from gpcnoise_cli.training.progress import Interrupted

    def settings_for(part: Split) -> TrainConfig:
        m = min(config.inducing, part.n_train) if limit_inducing else config.inducing
        return replace(config, folds=0, tracking="none", inducing=m)

    folds, count = list(folds_of(split, config.folds)), config.folds
    if folder is None:
        method_of(config).start(settings_for(folds[0][1]), folds[0][1])  # what cannot work leaves no folder behind
        folder = RunFolder.create(config)
    results, parts = [], []
    for number, (_, part) in enumerate(folds, start=1):
        own = RunFolder(folder.path / f"fold-{number}")
        own.path.mkdir(exist_ok=True)
        result, kept = own.read_metrics(), HeldOut.load(own.path)
        if result is None or kept is None:
            say(f"fold {number} of {count}: {part.n_train} rows to train on, {part.n_test} to score.")
            try:
                result = train(settings_for(part), part, own, keep_model=False, resume=own.checkpoint.exists())
            except Interrupted as stop:
                raise Interrupted(stop.step, folder.checkpoint) from stop
            kept = HeldOut.load(own.path)
        assert kept is not None
        results.append(result)
        parts.append(kept)
    order = np.concatenate([rows for rows, _ in folds])
    held_out = HeldOut.joined(parts, order)
    held_out.save(folder.path)
    fold = np.repeat(np.arange(1, count + 1), [len(rows) for rows, _ in folds])[np.argsort(order)]
    write_text(folder.path / TABLE, out_of_fold_table(split, held_out, fold))
    if keep_probabilities:
        folder.write_probabilities(held_out.probabilities, held_out.y)
    say(f"all {count} folds are scored; now a model of all {split.n_train} rows.")

    def amend(final: dict[str, Any]) -> dict[str, Any]:
        of_test = {"test": {key: final[key] for key in ("n_test", *SCORES)}} if split.n_test else {}
        return {**final, **cross_validated(results, held_out), **of_test, "out_of_fold": TABLE}

    return train(config, split, folder, amend=amend)


def cross_validated(results: Sequence[dict[str, Any]], held_out: HeldOut) -> dict[str, Any]:
    """The scores of a run with folds: the mean of each over the folds, and its standard error."""
    scores: dict[str, float | None] = {}
    errors: dict[str, float | None] = {}
    for key in SCORES:
        values = [result[key] for result in results]
        known = all(value is not None for value in values)
        scores[key] = float(np.mean(values)) if known else None
        errors[key] = float(np.std(values, ddof=1) / np.sqrt(len(values))) if known else None
    whole = evaluate(held_out.probabilities, held_out.y)
    shown = ("n_train", "n_test", *SCORES, "steps", "train_seconds", "incidents")
    return {
        **scores,
        "per_class": asdict(whole.per_class),
        "standard_errors": errors,
        "folds": [{key: result.get(key) for key in shown} for result in results],
        "scored_on": OUT_OF_FOLD,
        "n_test": len(held_out),
        "majority_acc": 100.0 * float(np.mean(held_out.y == np.bincount(held_out.y).argmax())),
    }


def out_of_fold_table(split: Split, held_out: HeldOut, fold: NDArray[np.int64]) -> str:
    """CSV, in the order of the data: the row's number, its fold, its class, the predicted class, its probabilities."""
    frame = prediction_table(held_out.probabilities, split.class_names)
    rows = np.arange(len(held_out)) if split.rows is None else split.rows
    observed = [split.class_names[label] for label in held_out.y]
    frame.insert(0, "row", rows + 1)
    frame.insert(1, "fold", fold)
    frame.insert(2, "observed", observed)
    return str(frame.iloc[np.argsort(rows)].to_csv(index=False, lineterminator="\n"))
