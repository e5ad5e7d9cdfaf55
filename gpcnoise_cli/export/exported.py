"""`export_run`: a finished run in one of the formats, put in place only if it predicts what the training model does."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.errors import GpcnoiseError, UsageError, unknown_choice
from gpcnoise_cli.export.saved_model import tensor_probabilities
from gpcnoise_cli.files import write_atomically
from gpcnoise_cli.methods.described import describe
from gpcnoise_cli.methods.trained_model import TrainedModel
from gpcnoise_cli.predictor import file
from gpcnoise_cli.predictor.file import Served
from gpcnoise_cli.predictor.predictors import GaussianProcess, Predictor
from gpcnoise_cli.runs.trained import load_trained
from gpcnoise_cli.runtime import versions

FORMATS = {"numpy": ".npz", "onnx": ".onnx", "savedmodel": ""}
"""With the suffix of the file; a SavedModel is a folder."""
SAVED_MODEL = "saved_model.pb"
TOLERANCE = 1e-6
"""Of a probability, against the training model in float64."""
ROWS = 256


def check_target(out: Path, kind: str, *, force: bool) -> None:
    """Refuse what cannot be written or must not be replaced, before any work is done."""
    if kind not in FORMATS:
        raise unknown_choice("format", kind, FORMATS)
    suffix = FORMATS[kind]
    if suffix and out.suffix.lower() != suffix:
        raise UsageError(f"--format {kind} writes a file that ends in {suffix}, not {out.name!r}.")
    if not out.parent.is_dir():
        raise UsageError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}; make it first.")
    if not (out.exists() or out.is_symlink()):
        return
    if not force:
        raise UsageError(f"{str(out)!r} exists already; choose another name or replace it with --force.")
    if suffix and out.is_dir():
        raise UsageError(f"{str(out)!r} is a folder; --format {kind} writes a file: choose another name.")
    if not suffix and not (out / SAVED_MODEL).is_file():
        raise UsageError(f"{str(out)!r} is no SavedModel, so --force does not replace it; choose another name.")


def export_run(run_dir: Path, kind: str, out: Path, *, force: bool = False) -> dict[str, Any]:
    """Write `out`, and say how far it is from the training model."""
    check_target(out, kind, force=force)
    if kind == "onnx":
        from gpcnoise_cli.export.onnx_file import check_installed

        check_installed()
    trained = load_trained(run_dir).in_precision("float64")
    return {"run_dir": run_dir, "format": kind, "out": out, **_WRITERS[kind](trained, out)}


def _write_numpy(trained: TrainedModel, out: Path) -> dict[str, Any]:
    buffer = io.BytesIO()
    file.write(buffer, _served(trained), _about(trained))
    content = buffer.getvalue()
    scaled, raw = sample_rows(trained)
    said = _compared(trained, scaled, file.read(content).predict_proba(raw), "numpy")
    write_atomically(out, lambda stream: stream.write(content))
    return {**said, "bytes": len(content)}


def _write_onnx(trained: TrainedModel, out: Path) -> dict[str, Any]:
    from gpcnoise_cli.export.onnx_file import onnx_bytes, run_onnx

    content = onnx_bytes(_served(trained), _description(trained))
    scaled, raw = sample_rows(trained)
    said = _compared(trained, scaled, *run_onnx(content, raw))
    write_atomically(out, lambda stream: stream.write(content))
    return {**said, "bytes": len(content)}


def _write_saved_model(trained: TrainedModel, out: Path) -> dict[str, Any]:
    from gpcnoise_cli.export.saved_model import run_saved_model, write_saved_model

    with _folder_beside(out) as folder:
        write_saved_model(trained, folder, _description(trained))
        scaled, raw = sample_rows(trained)
        said = _compared(trained, scaled, run_saved_model(folder, raw), "tensorflow")
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        _put_in_place(folder, out)
    return {**said, "bytes": size}


_WRITERS = {"numpy": _write_numpy, "onnx": _write_onnx, "savedmodel": _write_saved_model}


def sample_rows(trained: TrainedModel) -> tuple[np.ndarray, np.ndarray]:
    """Rows to compare on, scaled and as they come: about the inducing points, and further out than data are."""
    rng = np.random.default_rng(0)
    scaled = rng.normal(size=(ROWS, trained.d)) * np.geomspace(0.3, 10.0, ROWS)[:, None]
    predictor = trained.predictor
    if isinstance(predictor, GaussianProcess):
        Z = predictor.posterior.Z[:ROWS]
        scaled = np.concatenate([scaled, Z, Z + 0.1 * rng.normal(size=Z.shape)])
    raw = scaled * trained.scaler.scale + trained.scaler.mean
    return trained.scaler.transform(raw), raw  # what a user of the export has: scaled once more, with its rounding


def _compared(trained: TrainedModel, scaled: np.ndarray, found: np.ndarray, by: str) -> dict[str, Any]:
    expected = tensor_probabilities(trained, scaled)
    difference = float(np.max(np.abs(found - expected))) if np.shape(found) == expected.shape else np.inf
    if not difference <= TOLERANCE:
        raise GpcnoiseError(
            f"the exported model predicts differently from the training model, by up to {difference:.1e} where "
            f"{TOLERANCE:g} is allowed, so nothing was written; please report this."
        )
    return {"rows_compared": len(scaled), "largest_difference": difference, "computed_by": by}


def _served(trained: TrainedModel) -> Served:
    predictor = trained.predictor
    if not isinstance(predictor, Predictor):
        raise UsageError(
            f"method {trained.config.method.name!r} predicts by TensorFlow only; export it with --format savedmodel."
        )
    names, encoder = trained.encoder.feature_names, trained.encoder.to_dict()
    return Served(predictor, trained.scaler.mean, trained.scaler.scale, trained.class_names, names, encoder)


def _about(trained: TrainedModel) -> dict[str, Any]:
    return {
        "method": trained.config.method.name,
        **describe(trained.config, len(trained.class_names)),
        "n_train": trained.num_data,
        "versions": versions(),
    }


def _description(trained: TrainedModel) -> dict[str, Any]:
    return {
        "class_names": list(trained.class_names),
        "feature_names": list(trained.encoder.feature_names),
        "encoder": trained.encoder.to_dict(),
        "about": _about(trained),
    }


@contextlib.contextmanager
def _folder_beside(out: Path) -> Iterator[Path]:
    """A temporary folder on the same disk; what is left of it at the end is removed."""
    folder = _hidden(out)
    try:
        folder.mkdir()
        yield folder
    except OSError as error:
        raise GpcnoiseError(f"cannot write {out}: {error.strerror or error}; nothing was changed there.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(folder: Path, out: Path) -> None:
    """A folder cannot replace another in one step: the earlier one steps aside and goes once the new one stands."""
    if not out.exists():
        folder.rename(out)
        return
    earlier = _hidden(out)
    out.rename(earlier)
    try:
        folder.rename(out)
    except OSError:
        earlier.rename(out)
        raise
    shutil.rmtree(earlier, ignore_errors=True)


def _hidden(out: Path) -> Path:
    return out.with_name(f".{out.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
