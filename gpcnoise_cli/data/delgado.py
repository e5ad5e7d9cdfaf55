"""The reader of the Fernández-Delgado archive's `*_R.dat` files, of one part or of two.

Tab-separated, a header line, the row number first and the class last. Under protocol `paper` the row number stays a
feature, because `bayesian_benchmarks` dropped only the last column; in a set of two parts it restarts with the second.
Under `clean` it goes. Values are parsed and laid out in memory by pandas exactly as that package did it: the sums
behind the mean depend on the memory order, so bit-identical arrays need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.checksums import matches
from gpcnoise_cli.data.folder import absent, data_dir, is_present
from gpcnoise_cli.data.registry import DatasetSpec
from gpcnoise_cli.data.split import Table
from gpcnoise_cli.errors import GpcnoiseError


def read_archive_set(spec: DatasetSpec, *, row_number: bool) -> Table:
    """The archive's set `spec` from the data folder, its files checked against their known hashes."""
    if not is_present(spec):
        raise absent(spec)
    paths = [data_dir() / file for file in spec.files]
    for path, name in zip(paths, spec.files, strict=True):
        if matches(path, name) is False:
            raise GpcnoiseError(
                f"{path.name} is not the archive's file: its sha256 differs, so it is cut off or changed; "
                f"fetch it again by: gpcnoise data fetch {spec.name} --force."
            )
    parts = read_parts(paths)
    matrix = np.concatenate(parts, 0) if len(parts) > 1 else parts[0]
    expected = None if spec.d is None else spec.d + 2
    if matrix.shape[1] != expected:
        raise GpcnoiseError(f"{paths[0].name} has {matrix.shape[1]} columns where {expected} are expected.")
    table = archive_table(matrix[:, :-1], matrix[:, -1], spec, row_number=row_number, source="archive")
    return replace(table, first_test_row=len(parts[0])) if spec.has_test_file else table


def archive_table(
    X: NDArray[np.float64], labels: NDArray[np.float64], spec: DatasetSpec, *, row_number: bool, source: str
) -> Table:
    """The set as a table; X comes with the row number in its first column and leaves with or without it."""
    y = labels.astype(np.int64)
    num_classes = spec.num_classes or 0
    if not ((y == labels) & (y >= 0) & (y < num_classes)).all():
        raise GpcnoiseError(f"{spec.name}: the last column must hold the classes 0 to {num_classes - 1}.")
    features = tuple(f"f{j}" for j in range(1, X.shape[1]))
    if row_number:
        return Table(X, y, tuple(range(num_classes)), ("row", *features), source)
    return Table(X[:, 1:], y, tuple(range(num_classes)), features, source)


def read_parts(paths: Sequence[Path]) -> list[NDArray[np.float64]]:
    """Each part as it is, all columns as float64."""
    parts = [_read_part(path) for path in paths]
    if len({part.shape[1] for part in parts}) > 1:
        raise GpcnoiseError(f"{' and '.join(path.name for path in paths)} differ in their number of columns.")
    return parts


def _read_part(path: Path) -> NDArray[np.float64]:
    import pandas as pd

    try:
        matrix = pd.read_csv(path, sep="\t").to_numpy().astype(np.float64)
    except (ValueError, UnicodeDecodeError) as error:  # pandas' parser errors are ValueErrors
        raise GpcnoiseError(f"{path.name} is not a table of numbers ({str(error).splitlines()[0]}).") from error
    except OSError as error:
        raise GpcnoiseError(f"{path.name} cannot be read ({error.strerror or error}).") from error
    if matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[1] < 3:
        raise GpcnoiseError(f"{path.name} holds no rows of a row number, features and a class.")
    holes = ~np.isfinite(matrix)
    if holes.any():
        row = int(np.argwhere(holes)[0][0])
        raise GpcnoiseError(
            f"{path.name} is cut short or has a gap in row {row + 1} (line {row + 2}); get the file again."
        )
    return matrix
