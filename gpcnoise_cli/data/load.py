"""`load_split`: from a name, a protocol and a split number to arrays. The one door of this floor."""

from __future__ import annotations

import numpy as np

from gpcnoise_cli.data.generators import GENERATORS, generate
from gpcnoise_cli.data.registry import SOURCES, DatasetSpec, get_spec
from gpcnoise_cli.data.split import Split, Table, check_request, make_split
from gpcnoise_cli.data.table import read_own_file
from gpcnoise_cli.errors import GpcnoiseError, UsageError, unknown_choice


def load_split(
    name: str,
    *,
    protocol: str = "clean",
    split: int = 0,
    source: str = "auto",
    path: str | None = None,
    target: str | None = None,
    test_fraction: float = 0.1,
) -> Split:
    """Load split number `split` of the set `name`, scaled and shuffled by `protocol`.

    `source` forces where a set is read from; `auto` takes the archive's file and, for the four synthetic sets,
    generates rows where it is absent. `path` and `target` belong to the set `file`, one's own table.
    """
    spec = get_spec(name)
    check_request(protocol, split, test_fraction)
    if source not in SOURCES:
        raise unknown_choice("source", source, SOURCES)
    if spec.kind != "file" and (path is not None or target is not None):
        raise UsageError(f"a file and a target column belong to dataset 'file', not to {name!r}.")
    table = _read(spec, protocol, source, path, target)
    result = make_split(name, table, protocol=protocol, split=split, test_fraction=test_fraction)
    if spec.kind == "file":
        _check_classes_in_training(result)
    return result


def _read(spec: DatasetSpec, protocol: str, source: str, path: str | None, target: str | None) -> Table:
    if spec.kind == "file":
        if path is None or target is None:
            raise UsageError(
                "dataset 'file' needs a file and the name of its target column (--data FILE --target COL)."
            )
        return read_own_file(path, target)
    if spec.name in GENERATORS:
        return generate(spec.name, row_number=protocol == "paper" and spec.d_paper is not None)
    raise GpcnoiseError(f"reading {spec.name!r} is not there yet.")


def _check_classes_in_training(result: Split) -> None:
    absent = np.setdiff1d(np.arange(result.num_classes), result.y_train)
    if len(absent):
        raise GpcnoiseError(
            f"split {result.split} has no training row of class {result.class_names[absent[0]]!r}; "
            "take another split number, a smaller test fraction, or add rows."
        )
