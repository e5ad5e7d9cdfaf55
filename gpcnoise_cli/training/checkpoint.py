"""A checkpoint: every variable of a run and the history so far, in one file that is replaced as a whole."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_arrays

HISTORY = "history"


def save_checkpoint(
    path: Path, variables: Sequence[tf.Variable], history: Mapping[str, Any], best: Sequence[np.ndarray] = ()
) -> None:
    """Write values in the order of `variables`, unconstrained and in full precision, so that a resume is exact.

    `best` is the best state so far, to which a run may have to return.
    """
    arrays = {f"v{i:03d}": variable.numpy() for i, variable in enumerate(variables)}
    arrays |= {f"b{i:03d}": value for i, value in enumerate(best)}
    arrays[HISTORY] = np.frombuffer(json.dumps(history).encode(), dtype=np.uint8)
    write_arrays(path, arrays)


@dataclass(frozen=True)
class Checkpoint:
    """What `save_checkpoint` wrote."""

    path: Path
    values: list[np.ndarray]
    history: dict[str, Any]
    best: list[np.ndarray]

    def restore(self, variables: Sequence[tf.Variable]) -> None:
        """Give `variables` their values, all or none of them."""
        kinds = [(value.shape, value.dtype.type) for value in self.values]
        if [(tuple(v.shape), v.dtype.as_numpy_dtype) for v in variables] != kinds:
            raise GpcnoiseError(f"the checkpoint {self.path} belongs to another configuration; start the run again.")
        for variable, value in zip(variables, self.values, strict=True):
            variable.assign(value)


def load_checkpoint(path: Path, content: bytes | None = None) -> Checkpoint:
    """All of it, or an error that says what is wrong; `content` is that of a file on another host."""
    try:
        with (
            path.open("rb") if content is None else io.BytesIO(content) as stream,
            np.load(stream, allow_pickle=False) as arrays,
        ):
            stored = {name: arrays[name] for name in sorted(arrays.files)}
        history = dict(json.loads(stored.pop(HISTORY).tobytes()))
    except FileNotFoundError as error:
        raise GpcnoiseError(f"there is no checkpoint at {path}; start the run again.") from error
    except Exception as error:  # zipfile and NumPy answer damage with a dozen kinds of error
        raise GpcnoiseError(f"the checkpoint {path} is damaged ({error or error!r}); start the run again.") from error
    values, best = ([value for name, value in stored.items() if name.startswith(kind)] for kind in "vb")
    return Checkpoint(path, values, history, best)
