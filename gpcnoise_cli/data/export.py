"""`data export`: a split as an npz file, for use in other libraries."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpcnoise_cli.data.folder import write_problem
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.files import write_arrays


def check_target(out: Path, *, force: bool) -> None:
    """Refuse a file that exists or is no .npz, before any data are loaded."""
    if out.suffix != ".npz":
        raise UsageError(f"the exported file must end in .npz, not {out.name!r}.")
    if out.is_dir() or (out.exists() and not force):
        raise UsageError(f"{str(out)!r} exists already; choose another name or replace it with --force.")


def export_split(split: Split, out: Path, *, force: bool = False) -> None:
    """Write X_train, y_train, X_test, y_test (and names and scaling); nothing in the file needs pickle."""
    check_target(out, force=force)
    arrays = {
        "X_train": split.X_train,
        "y_train": split.y_train,
        "X_test": split.X_test,
        "y_test": split.y_test,
        "class_names": np.array([str(name) for name in split.class_names]),
        "feature_names": np.array(split.feature_names),
        "mean": split.scaler.mean,
        "scale": split.scaler.scale,
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_problem(out, error) from error
    write_arrays(out, arrays)
