"""A trained model on disk: `model.npz` (parameters) and `model.json` (everything else), no pickle.

The parameters are stored unconstrained and in full precision, so a loaded model predicts what the saved one did, to the
last bit. `model.json` names the sha256 of `model.npz`; a file that was cut short or changed is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gpflow.utilities import parameter_dict

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.encoder import Column, TableEncoder
from gpcnoise_cli.data.split import ClassName, Scaler
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_atomically, write_text
from gpcnoise_cli.models.build import assemble, precision_context
from gpcnoise_cli.models.predict import Predictor
from gpcnoise_cli.models.svgp import FusedSVGP

if TYPE_CHECKING:
    from gpcnoise_cli.data.split import Split

FORMAT = 1
PARAMETERS, DESCRIPTION = "model.npz", "model.json"


@dataclass(frozen=True)
class TrainedModel:
    """A model together with what turns a table into its inputs and its outputs into class names."""

    config: TrainConfig
    model: FusedSVGP
    scaler: Scaler
    encoder: TableEncoder
    class_names: tuple[ClassName, ...]

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self.model, self.config.runtime.chunk_rows)

    def predict_probabilities(self, X: np.ndarray) -> np.ndarray:
        """[n, C] for raw (unscaled) inputs."""
        return self.predict_scaled(self.scaler.transform(X))

    def predict_scaled(self, X: np.ndarray) -> np.ndarray:
        """[n, C] for inputs that are scaled already, as those of a split are."""
        with precision_context(self.config.runtime.precision):
            return self._predictor(X)


def encoder_for(split: Split) -> TableEncoder:
    """The split's own encoder, or for a registered set one that expects its features as numeric columns."""
    columns = tuple(Column(name, "numeric") for name in split.feature_names)
    return split.encoder or TableEncoder(columns, "class", split.class_names)


def save_model(folder: Path, config: TrainConfig, model: FusedSVGP, split: Split, versions: dict[str, str]) -> None:
    """Write both files; the description goes last, so a folder that has it is complete."""
    buffer = io.BytesIO()
    np.savez(buffer, **_arrays(model))
    content = buffer.getvalue()
    write_atomically(folder / PARAMETERS, lambda stream: stream.write(content))
    description = {
        "format": FORMAT,
        "sha256": hashlib.sha256(content).hexdigest(),
        "config": asdict(config),
        "d": split.d,
        "n_train": split.n_train,
        "num_classes": split.num_classes,
        "class_names": list(split.class_names),
        "scaler": split.scaler.to_dict(),
        "encoder": encoder_for(split).to_dict(),
        "parameters": _readable(model),
        "versions": versions,
    }
    write_text(folder / DESCRIPTION, json.dumps(description, indent=1) + "\n")


def load_model(folder: Path) -> TrainedModel:
    """The model that `save_model` wrote to `folder`."""
    description, content = _read(folder)
    try:
        return _rebuild(description, content, folder)
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise _damaged(folder, f"{DESCRIPTION} and {PARAMETERS} do not fit together ({error!r})") from error


def _rebuild(description: dict[str, Any], content: bytes, folder: Path) -> TrainedModel:
    config = _config(description["config"], folder)
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    # Its arrays are replaced below; only the shapes count.
    Z = np.zeros((config.inducing, description["d"]))
    with precision_context(config.runtime.precision):
        model = assemble(config, Z, description["num_classes"], num_data=description["n_train"])
    variables = _variables(model)
    if variables.keys() != arrays.keys():
        raise _damaged(folder, "its parameters are not those of its configuration")
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return TrainedModel(
        config,
        model,
        Scaler.from_dict(description["scaler"]),
        TableEncoder.from_dict(description["encoder"]),
        tuple(description["class_names"]),
    )


def _variables(model: FusedSVGP) -> dict[str, Any]:
    return {
        name.lstrip("."): getattr(parameter, "unconstrained_variable", parameter)
        for name, parameter in parameter_dict(model).items()
    }


def _arrays(model: FusedSVGP) -> dict[str, np.ndarray]:
    return {name: variable.numpy() for name, variable in _variables(model).items()}


def _readable(model: FusedSVGP) -> dict[str, Any]:
    """Hyperparameters as people read them; q(u) and Z are in the npz."""
    kernel = {f"kernel{name}": p.numpy().tolist() for name, p in parameter_dict(model.kernel).items()}
    return {**kernel, "delta": model.delta_value(), "jitter": float(model.jitter)}


def _config(stored: dict[str, Any], folder: Path) -> TrainConfig:
    from gpcnoise_cli.config.compose import from_dict

    return from_dict(stored, origin=f"the configuration in {folder / DESCRIPTION}")


def _read(folder: Path) -> tuple[dict[str, Any], bytes]:
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        content = (folder / PARAMETERS).read_bytes()
    except FileNotFoundError as error:
        raise GpcnoiseError(
            f"{folder} holds no finished model ({Path(error.filename).name} is missing); "
            "give the folder that `gpcnoise train` printed."
        ) from error
    except (OSError, ValueError) as error:
        raise _damaged(folder, str(error)) from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise _damaged(folder, f"{DESCRIPTION} is not of format {FORMAT}")
    if hashlib.sha256(content).hexdigest() != description.get("sha256"):
        raise _damaged(folder, f"{PARAMETERS} does not have the recorded sha256")
    return description, content


def _damaged(folder: Path, reason: str) -> GpcnoiseError:
    return GpcnoiseError(f"the model in {folder} is damaged: {reason}; train it again or restore it from a copy.")
