"""A finished run put to use: its model loaded on this machine, asked about new rows or scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import IN_MEMORY
from gpcnoise_cli.data.encoder import Tally
from gpcnoise_cli.data.split import Table, hold_out, make_split
from gpcnoise_cli.data.table import read_feature_blocks, read_labelled, read_labelled_blocks, read_weights
from gpcnoise_cli.data.treatment import Treatment
from gpcnoise_cli.errors import GpcnoiseError, UsageError, quoted
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.methods.described import describe
from gpcnoise_cli.runs.held_out import held_out_rows
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.train import load_data, parts_of, treatment_of
from gpcnoise_cli.runs.trust import Asked, Judge, Judged, scores_of
from gpcnoise_cli.runtime import limit_threads

if TYPE_CHECKING:
    import pandas as pd

    from gpcnoise_cli.data import Split
    from gpcnoise_cli.methods.trained_model import TrainedModel

# Rows that are read, predicted and written at a time: enough to keep the compiled predictor busy, little to hold.
BLOCK_ROWS = 16_384


def load_trained(run_dir: Path) -> TrainedModel:
    """The model of a finished run; TensorFlow is only started if its method cannot predict without."""
    folder = RunFolder.existing(run_dir)
    if not (folder.path / "model.json").is_file():  # the last file of a model to be written
        raise GpcnoiseError(
            f"the run in {run_dir} is not finished, so it has no model; continue it with: "
            f"gpcnoise train --resume {quoted(run_dir)}"
        )
    from gpcnoise_cli.methods.trained_model import TrainedModel

    trained = TrainedModel.load(run_dir)
    limit_threads(trained.config.runtime.threads)
    return trained


def predict_file(
    trained: TrainedModel,
    data: Path,
    judge: Judge,
    treatment: Treatment | None = None,
    tally: Tally | None = None,
) -> Iterator[tuple[Judged, pd.DataFrame]]:
    """Class probabilities [n, C] of the rows of a file and what else is asked for, with the columns to keep.

    It comes block by block, in the file's order. `treatment` says how the file is written; `tally` is told what was
    filled and pooled.
    """
    for X, kept in read_feature_blocks(data, trained.encoder, BLOCK_ROWS, treatment, tally):
        yield judge(trained.scaler.transform(X)), kept


def evaluate_trained(
    trained: TrainedModel,
    run_dir: Path,
    data: Path | None = None,
    asked: Asked | None = None,
    treatment: Treatment | None = None,
    tally: Tally | None = None,
) -> dict[str, Any]:
    """The metrics on a labelled file, or on the test rows of the run's own split, or on its held-out rows."""
    asked = asked or Asked()
    asked.check()
    config, rows = trained.config, "all"
    split = own_split(trained) if data is None else None
    if split is not None and not split.n_test:
        held_out = held_out_rows(run_dir, "evaluate without --data (there are no test rows: dataset.test_fraction=0)")
        if asked.needs_held_out:
            raise UsageError(
                f"{asked.needs_held_out} is learned from the {held_out.what} of this run, and it has no test rows to "
                "try it on; give labelled rows by --data FILE."
            )
        judge, rows, y = Judge(trained, run_dir, asked), held_out.what, held_out.y
        judged = judge.decided(held_out.probabilities)
    else:
        judge = Judge(trained, run_dir, asked)
        if split is not None:
            rows, y, judged = "test split", split.y_test, judge(split.X_test)
        else:
            assert data is not None
            judged, y = _judged_file(trained, judge, data, treatment, tally)
    return {
        "data": config.dataset.path if data is None else str(data),
        "rows": rows,
        "dataset": config.dataset.name,
        "protocol": config.protocol,
        "split": config.split,
        "method": config.method.name,
        **describe(config, len(trained.class_names)),
        "n": len(y),
        "classes": len(trained.class_names),
        "class_names": list(trained.class_names),
        **asdict(evaluate(judged.probabilities, y)),
        **scores_of(judge, judged, y),
        **({"notes": judge.notes} if judge.notes else {}),
    }


def _judged_file(
    trained: TrainedModel, judge: Judge, data: Path, treatment: Treatment | None, tally: Tally | None
) -> tuple[Judged, NDArray[np.int64]]:
    """The predictions for a labelled file and its classes; no more of it is held than these."""
    found = [
        (judge(trained.scaler.transform(X)), y)
        for X, y in read_labelled_blocks(data, trained.encoder, treatment, tally)
        if len(y)
    ]
    return Judged.joined([one for one, _ in found]), np.concatenate([y for _, y in found])


def own_split(trained: TrainedModel) -> Split:
    """The data of the run's own split; refused where they are not those it was trained on.

    The recorded scaling is a fingerprint of the training rows: without it test rows may be ones trained on.
    """
    dataset = trained.config.dataset
    of_file = dataset.name == "file" and dataset.path not in (None, IN_MEMORY) and dataset.storage != "disk"
    split = _own_file(trained) if of_file else load_data(trained.config)
    same = split.class_names == trained.class_names and all(
        ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        for ours, theirs in (
            (split.scaler.mean, trained.scaler.mean),
            (split.scaler.scale, trained.scaler.scale),
        )
    )
    if not same:
        where = trained.config.dataset.path or f"the set {split.dataset!r} (read from: {split.source})"
        raise GpcnoiseError(
            f"{where} has changed since the run was trained on it, so its test rows are not known any more; "
            "score it on a labelled file: gpcnoise evaluate RUN_DIR --data FILE."
        )
    return split


def _own_file(trained: TrainedModel) -> Split:
    """The split of the run's own table, read as the model reads every table: an earlier version may have fitted it."""
    config, encoder = trained.config, trained.encoder
    path, treatment = str(config.dataset.path), treatment_of(config.dataset)
    X, y = read_labelled(path, encoder, treatment)
    weights = read_weights(path, encoder, treatment)
    table = Table(X, y, encoder.class_names, encoder.feature_names, source="file", encoder=encoder, weights=weights)
    split = make_split(
        "file",
        table,
        protocol=config.protocol,
        split=config.split,
        test_fraction=config.dataset.test_fraction,
        categories=config.dataset.categories,
    )
    return parts_of(config, hold_out(split, config.dataset.holdout))
