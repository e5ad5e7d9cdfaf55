"""A checkpoint: every variable of a run and the history so far, in one file that is replaced as a whole."""

from __future__ import annotations

import json
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
    """Restore `variables`, all or none of them, and return the history."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            stored = {name: arrays[name] for name in arrays.files}
        history = dict(json.loads(stored.pop(HISTORY).tobytes()))
    except FileNotFoundError as error:
        raise GpcnoiseError(f"there is no checkpoint at {path}; start the run anew.") from error
    except Exception as error:  # zipfile and NumPy answer damage with a dozen kinds of error
        raise GpcnoiseError(f"the checkpoint {path} is damaged ({error or error!r}); start the run anew.") from error
    values = [stored.get(f"v{i:03d}") for i in range(len(stored))]
    if [(tuple(v.shape), v.dtype.as_numpy_dtype) for v in variables] != [_kind(value) for value in values]:
        raise GpcnoiseError(f"the checkpoint {path} belongs to another configuration; start the run anew.")
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
    return history


def _kind(value: np.ndarray | None) -> tuple[tuple[int, ...], type] | None:
    return None if value is None else (value.shape, value.dtype.type)
