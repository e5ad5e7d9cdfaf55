"""Your own data set: what each column is, which classes there are, and how later files are read the same way.

`read_own_file` reads a file for training; `read_features` (or `read_feature_blocks`, for files of any length) and
`read_labelled` read new files for predict and evaluate through the `TableEncoder` that was recorded then.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.encoder import Column, TableEncoder, check_complete, junk_error, parse_numbers, plain
from gpcnoise_cli.data.split import ClassName, Table
from gpcnoise_cli.data.table_file import naming, read_blocks, read_table
from gpcnoise_cli.errors import GpcnoiseError, UsageError, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "TableEncoder",
    "fit_encoder",
    "read_feature_blocks",
    "read_features",
    "read_labelled",
    "read_own_file",
    "read_table",
]


def fit_encoder(frame: pd.DataFrame, target: str) -> TableEncoder:
    """Decide what each column of `frame` is; `target` holds the classes, all other columns are features."""
    if target not in frame.columns:
        names = [str(name) for name in frame.columns]
        close = nearest(target, names)
        hint = f"did you mean {' or '.join(repr(name) for name in close)}? " if close else ""
        shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise UsageError(f"there is no target column {target!r}; {hint}the file has: {shown}.")
    check_complete(frame[[target]])
    class_names = _classes(frame[target])
    features = frame.drop(columns=target)
    if features.shape[1] == 0:
        raise GpcnoiseError(f"there is no column besides the target {target!r}; features are needed.")
    check_complete(features)
    return TableEncoder(tuple(_column(features[name]) for name in features.columns), target, class_names)


def _classes(labels: pd.Series[Any]) -> tuple[ClassName, ...]:
    """The distinct labels with their own type, sorted; each needs two rows, one to learn from and one to test."""
    counts = labels.value_counts()
    counted = {plain(name): int(count) for name, count in counts.items() if count > 0}
    if len(counted) < 2:
        raise GpcnoiseError(
            f"target column {labels.name!r} holds a single class, {next(iter(counted))!r}; two are needed."
        )
    single = [name for name, count in counted.items() if count == 1]
    if single:
        others = f" (and {len(single) - 1} more classes too)" if len(single) > 1 else ""
        numeric = labels.dtype.kind == "f" and len(single) > 1
        hint = (
            "is it a number to be predicted rather than a class?" if numeric else "add rows or merge it with another."
        )
        raise GpcnoiseError(f"class {single[0]!r} of target column {labels.name!r} has a single row{others}; {hint}")
    one_type = len({isinstance(name, str) for name in counted}) == 1
    return tuple(sorted(counted) if one_type else sorted(counted, key=str))


def _column(values: pd.Series[Any]) -> Column:
    """The kind of a feature column that has no missing value."""
    name, kind = str(values.name), values.dtype.kind
    if kind == "b":
        return Column(name, "boolean")
    if kind in "iuf":
        return Column(name, "numeric")
    if kind in "mMc":
        raise GpcnoiseError(f"column {name!r} holds {values.dtype} values; turn it into plain numbers first.")
    text = values.astype(str)
    if values.dtype.name != "category":
        if text.str.lower().isin(["true", "false"]).all():
            return Column(name, "boolean")
        bad = np.isnan(parse_numbers(text))
        if not bad.any():
            return Column(name, "numeric")
        # Mostly numbers with some text is a spoilt numeric column; so is half of them where hardly a value repeats.
        if bad.mean() < 0.1 or (bad.mean() <= 0.5 and text.nunique() > len(text) / 2):
            raise junk_error(values, bad)
    levels = sorted(text.unique())
    if len(levels) == len(text) or len(levels) > max(20, len(text) / 2):
        raise GpcnoiseError(
            f"column {name!r} has {len(levels)} different texts in {len(text)} rows, like an identifier; "
            "remove it from the file."
        )
    return Column(name, "categorical", tuple(levels))


def read_own_file(path: str | Path, target: str) -> Table:
    """A whole file for training."""
    path = Path(path)
    frame = read_table(path)
    with naming(path):
        encoder = fit_encoder(frame, target)
        X, y = encoder.encode(frame), encoder.encode_labels(frame[target])
    return Table(X, y, encoder.class_names, encoder.feature_names, source="file", encoder=encoder)


def read_features(path: str | Path, encoder: TableEncoder) -> NDArray[np.float64]:
    """The features of a new file, before scaling; columns may stand in any order."""
    path = Path(path)
    frame = _read_known(path, encoder)
    with naming(path):
        return encoder.encode(frame)


def read_feature_blocks(path: str | Path, encoder: TableEncoder, rows: int) -> Iterator[NDArray[np.float64]]:
    """The same features block by block, at most `rows` rows each, so that a file may be larger than memory."""
    for frame in read_blocks(path, _text_columns(encoder), rows):
        try:
            X = encoder.encode(frame)
        except GpcnoiseError:
            read_features(path, encoder)  # raises it for the whole file: row, line and count are then right
            raise
        yield X


def read_labelled(path: str | Path, encoder: TableEncoder) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features and class numbers of a new file that has the target column too."""
    path = Path(path)
    frame = _read_known(path, encoder)
    with naming(path):
        if encoder.target not in frame.columns:
            raise GpcnoiseError(f"missing target column {encoder.target!r}; it holds the true classes.")
        check_complete(frame[[encoder.target]])
        return encoder.encode(frame), encoder.encode_labels(frame[encoder.target])


def _read_known(path: Path, encoder: TableEncoder) -> pd.DataFrame:
    return read_table(path, text_columns=_text_columns(encoder))


def _text_columns(encoder: TableEncoder) -> list[str]:
    """Levels and text labels are kept as written: a file with only '01' in it must not come back as the number 1."""
    text = [column.name for column in encoder.columns if column.kind == "categorical"]
    if all(isinstance(name, str) for name in encoder.class_names):
        text.append(encoder.target)
    return text
