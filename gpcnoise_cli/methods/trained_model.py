"""A trained model with all that is needed to use it, in memory and on disk.

On disk it is `model.npz` (the arrays of its method in full precision, no pickle) and `model.json` (everything else), so
a loaded model is the saved one to the last bit. It predicts in float64 without TensorFlow where its method has such a
predictor; the training model agrees up to the rounding of its own precision. `model.json` names the sha256 of
`model.npz`; a file that was cut short or changed is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.compose import from_dict
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.encoder import Column, TableEncoder
from gpcnoise_cli.data.scaling import Scaler
from gpcnoise_cli.data.split import ClassName, Split
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_atomically, write_text
from gpcnoise_cli.methods.base import Arrays, Classifier
from gpcnoise_cli.methods.registry import method_of
from gpcnoise_cli.predictor.predictors import Predictor
from gpcnoise_cli.predictor.restored import restore
from gpcnoise_cli.runtime import prepare, versions

FORMAT = 1
PARAMETERS, DESCRIPTION = "model.npz", "model.json"


@dataclass(frozen=True)
class TrainedModel:
    """The arrays of a classifier, with what turns a table into its inputs and its outputs into class names.

    Predictor and classifier are made of the arrays when first asked; a pickled model is its arrays.
    """

    config: TrainConfig
    arrays: Arrays
    scaler: Scaler
    encoder: TableEncoder
    num_data: int
    hyperparameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, config: TrainConfig, classifier: Classifier, split: Split) -> TrainedModel:
        return cls(
            config,
            classifier.arrays(),
            split.scaler,
            split.encoder or _plain_encoder(split),
            split.n_train,
            classifier.hyperparameters(),
        )

    @property
    def class_names(self) -> tuple[ClassName, ...]:
        return self.encoder.class_names

    @property
    def d(self) -> int:
        return len(self.scaler.mean)

    @cached_property
    def predictor(self) -> Predictor | Classifier:
        """What predicts: NumPy alone in float64, or the classifier where a method has nothing of the kind."""
        light = restore(asdict(self.config), self.arrays, self.d, len(self.class_names))
        return light or self.classifier

    @cached_property
    def classifier(self) -> Classifier:
        """The training model; it starts TensorFlow."""
        runtime = self.config.runtime
        # A model that was trained on a GPU is of use without one.
        prepare(replace(runtime, device="cpu" if runtime.device == "cpu" else "auto"))
        return method_of(self.config).restore(self.config, self.arrays, self.d, len(self.class_names), self.num_data)

    def in_precision(self, precision: str) -> TrainedModel:
        """The same model, for computing in another precision."""
        return replace(self, config=replace(self.config, runtime=replace(self.config.runtime, precision=precision)))

    def predict_probabilities(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """[n, C] for raw (unscaled) inputs."""
        return self.predict_scaled(self.scaler.transform(X))

    def predict_scaled(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """[n, C] for inputs that are scaled already, as those of a split are."""
        return self.predictor.predict(X)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("classifier", "predictor")}

    def save(self, folder: Path) -> None:
        """Write both files; the description goes last, so a folder that has it is complete."""
        buffer = io.BytesIO()
        np.savez(buffer, **self.arrays)
        content = buffer.getvalue()
        write_atomically(folder / PARAMETERS, lambda stream: stream.write(content))
        description = {
            "format": FORMAT,
            "sha256": hashlib.sha256(content).hexdigest(),
            "config": asdict(self.config),
            "d": self.d,
            "n_train": self.num_data,
            "num_classes": len(self.class_names),
            "class_names": list(self.class_names),
            "scaler": self.scaler.to_dict(),
            "encoder": self.encoder.to_dict(),
            "parameters": self.hyperparameters,
            "versions": versions(),
        }
        write_text(folder / DESCRIPTION, json.dumps(description, indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> TrainedModel:
        """The model that `save` wrote to `folder`, ready for use."""
        description, content = _read(folder)
        try:
            config = from_dict(description["config"], origin=f"the configuration in {folder / DESCRIPTION}")
            with np.load(io.BytesIO(content), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            scaler = Scaler.from_dict(description["scaler"])
            encoder = TableEncoder.from_dict(description["encoder"])
            loaded = cls(config, arrays, scaler, encoder, int(description["n_train"]), description["parameters"])
            stated = (description["d"], description["num_classes"], tuple(description["class_names"]))
            if (loaded.d, len(loaded.class_names), loaded.class_names) != stated:
                raise ValueError("its columns or classes are not those of its encoder")
            _check_finite(arrays)
            loaded.predictor  # noqa: B018 (arrays that do not fit the configuration are found now)
            return loaded
        except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise _damaged(folder, f"{DESCRIPTION} and {PARAMETERS} do not fit together ({error!r})") from error


def _check_finite(arrays: Arrays) -> None:
    """A model with a NaN in it would name the first class for every row, and say nothing."""
    for name, values in arrays.items():
        count = int(np.sum(~np.isfinite(values)))
        if count:
            raise ValueError(f"{name} holds {count} values that are not finite numbers")


def _plain_encoder(split: Split) -> TableEncoder:
    """For a registered set: its features as numeric columns."""
    columns = tuple(Column(name, "numeric") for name in split.feature_names)
    return TableEncoder(columns, "class", split.class_names)


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
