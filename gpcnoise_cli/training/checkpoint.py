"""A checkpoint: every variable of a run and the history so far, in one file that is replaced as a whole."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_atomically

HISTORY = "history"


def save_checkpoint(path: Path, variables: Sequence[tf.Variable], history: Mapping[str, Any]) -> None:
    """Write values in the order of `variables`, unconstrained and in full precision, so that a resume is exact."""
    arrays = {f"v{i:03d}": variable.numpy() for i, variable in enumerate(variables)}
    arrays[HISTORY] = np.frombuffer(json.dumps(history).encode(), dtype=np.uint8)
    write_atomically(path, lambda stream: np.savez(stream, **arrays))


def load_checkpoint(path: Path, variables: Sequence[tf.Variable]) -> dict[str, Any]:
    """Restore `variables` and return the history."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            values = [arrays[f"v{i:03d}"] for i in range(len(variables))]
            history = json.loads(arrays[HISTORY].tobytes())
    except FileNotFoundError as error:
        raise GpcnoiseError(f"there is no checkpoint at {path}; start the run anew.") from error
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise GpcnoiseError(f"the checkpoint {path} is damaged ({error}); start the run anew.") from error
    for variable, value in zip(variables, values, strict=True):
        if tuple(variable.shape) != value.shape:
            raise GpcnoiseError(f"the checkpoint {path} belongs to another configuration; start the run anew.")
        variable.assign(value)
    return dict(history)
