"""A finished run put to use: its model loaded on this machine, asked about new rows or scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.table import read_feature_blocks, read_labelled
from gpcnoise_cli.errors import GpcnoiseError, quoted
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.train import load_data
from gpcnoise_cli.methods.registry import method_of
from gpcnoise_cli.runtime import prepare

if TYPE_CHECKING:
    from gpcnoise_cli.data import Split
    from gpcnoise_cli.methods.trained_model import TrainedModel

# Rows that are read, predicted and written at a time: enough to keep the compiled predictor busy, little to hold.
BLOCK_ROWS = 16_384


def load_trained(run_dir: Path) -> TrainedModel:
    """The model of a finished run; TensorFlow is only started once there is one."""
    folder = RunFolder.existing(run_dir)
    if not (folder.path / "model.json").is_file():  # the last file of a model to be written
        raise GpcnoiseError(
            f"the run in {run_dir} is not finished, so it has no model; continue it with: "
            f"gpcnoise train --resume {quoted(run_dir)}"
        )
    runtime = folder.read_config().runtime
    # A model that was trained on a GPU is of use without one.
    prepare(replace(runtime, device="cpu" if runtime.device == "cpu" else "auto"))
    from gpcnoise_cli.methods.trained_model import TrainedModel

    return TrainedModel.load(run_dir)


def predict_file(trained: TrainedModel, data: Path) -> Iterator[NDArray[np.float64]]:
    """Class probabilities [n, C] of the rows of a file, block by block, in the file's order."""
    for X in read_feature_blocks(data, trained.encoder, BLOCK_ROWS):
        yield trained.predict_probabilities(X)


def evaluate_trained(trained: TrainedModel, data: Path | None = None) -> dict[str, Any]:
    """The metrics on a labelled file, or on the test rows of the run's own split."""
    config = trained.config
    if data is None:
        split = own_split(trained)
        probabilities, y = trained.predict_scaled(split.X_test), split.y_test
    else:
        X, y = read_labelled(data, trained.encoder)
        probabilities = trained.predict_probabilities(X)
    return {
        "data": config.dataset.path if data is None else str(data),
        "rows": "test split" if data is None else "all",
        "dataset": config.dataset.name,
        "protocol": config.protocol,
        "split": config.split,
        "method": config.method.name,
        **method_of(config).describe(config, len(trained.class_names)),
        "n": len(y),
        "classes": len(trained.class_names),
        "class_names": list(trained.class_names),
        **asdict(evaluate(probabilities, y)),
    }


def own_split(trained: TrainedModel) -> Split:
    """The data of the run's own split; refused where they are not those it was trained on.

    The recorded scaling is a fingerprint of the training rows: without it test rows may be ones trained on.
    """
    split = load_data(trained.config)
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
