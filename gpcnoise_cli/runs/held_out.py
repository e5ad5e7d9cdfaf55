"""What a model said of training rows that it was not trained on: what it takes to tell how far to trust it.

Prediction sets, calibration and the flag of far rows are all learned from these, and from no test row. They are the
calibration rows of a run (`dataset.calibration`), or the out-of-fold rows of a cross-validation, each of which was
predicted by the model that had not seen it. They are kept beside the model as plain numbers.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.evaluation.familiarity import openness
from gpcnoise_cli.evaluation.metrics import clip_probabilities
from gpcnoise_cli.files import write_atomically

if TYPE_CHECKING:
    from gpcnoise_cli.methods.trained_model import TrainedModel

FILE = "held_out.npz"
CALIBRATION, OUT_OF_FOLD = "calibration rows", "out-of-fold rows"


@dataclass(frozen=True)
class HeldOut:
    what: str  # which rows they are
    probabilities: NDArray[np.float64]
    y: NDArray[np.int64]
    openness: NDArray[np.float64] | None  # None where the method has no latent functions

    @classmethod
    def of(
        cls, trained: TrainedModel, X: NDArray[np.floating], y: NDArray[np.int64], what: str = CALIBRATION
    ) -> HeldOut:
        """Ask the model about scaled rows."""
        return cls(what, clip_probabilities(trained.predict_scaled(X)), y, openness_of(trained, X))

    @classmethod
    def joined(cls, parts: Sequence[HeldOut], order: NDArray[np.int64]) -> HeldOut:
        """The rows of all folds, put in order: row i of the parts, one after another, goes to order[i]."""
        back = np.argsort(order)
        known = [part.openness for part in parts if part.openness is not None]
        return cls(
            OUT_OF_FOLD,
            np.concatenate([part.probabilities for part in parts])[back],
            np.concatenate([part.y for part in parts])[back],
            np.concatenate(known)[back] if len(known) == len(parts) else None,
        )

    def __len__(self) -> int:
        return len(self.y)

    def save(self, folder: Path) -> None:
        arrays = {"probabilities": self.probabilities, "y": self.y, "what": np.array(self.what)}
        if self.openness is not None:
            arrays["openness"] = self.openness
        write_atomically(folder / FILE, lambda stream: np.savez_compressed(stream, **arrays))

    @classmethod
    def load(cls, folder: Path) -> HeldOut | None:
        """What `save` wrote; None where the run kept no rows."""
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                found = cls(str(stored["what"]), stored["probabilities"], stored["y"], stored.get("openness"))
            if found.probabilities.shape[:1] != found.y.shape or not np.isfinite(found.probabilities).all():
                raise ValueError("its arrays do not fit together")
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise GpcnoiseError(
                f"{path} is damaged ({error}); train the run again, or restore it from a copy."
            ) from error
        return found


def held_out_rows(run_dir: Path, wanted: str) -> HeldOut:
    """Those of a run; `wanted` says for what."""
    found = HeldOut.load(run_dir)
    if found is None:
        raise GpcnoiseError(
            f"{wanted} needs rows that the model was not trained on, and the run in {run_dir} kept none; train it with "
            "--calibration-rows 0.1, or with --folds 5."
        )
    return found


def openness_of(trained: TrainedModel, X: NDArray[np.floating]) -> NDArray[np.float64] | None:
    """How much the training rows have left open at scaled rows X (see `familiarity`); None without latent functions."""
    latent = getattr(trained.predictor, "latent", None)
    if latent is None:
        return None
    variances = [value for name, value in trained.hyperparameters.items() if name.endswith("variance")]
    prior = np.sum([np.asarray(value, dtype=np.float64) for value in variances], axis=0)  # of a sum of kernels
    return np.concatenate([openness(nu, prior) for _, nu in latent(X)]) if len(X) else np.empty(0)
