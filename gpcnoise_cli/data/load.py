"""`load_split`: from a name, a protocol and a split number to arrays. The one door of this floor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpcnoise_cli.data.airline import load_airline
from gpcnoise_cli.data.benchmarks import read_benchmark_set
from gpcnoise_cli.data.delgado import read_archive_set
from gpcnoise_cli.data.folder import absent, data_dir, is_present
from gpcnoise_cli.data.generators import generate
from gpcnoise_cli.data.nycflights import load_nycflights
from gpcnoise_cli.data.registry import SOURCES, STORAGES, DatasetSpec, get_spec
from gpcnoise_cli.data.split import Split, Table, check_request, hold_out, make_split
from gpcnoise_cli.data.storage import storage_of, stored_split, stored_table
from gpcnoise_cli.data.table import read_own_file
from gpcnoise_cli.data.treatment import Treatment
from gpcnoise_cli.errors import GpcnoiseError, UsageError, unknown_choice


def load_split(
    name: str,
    *,
    protocol: str = "clean",
    split: int = 0,
    source: str = "auto",
    path: str | None = None,
    target: str | None = None,
    treatment: Treatment | None = None,
    test_fraction: float = 0.1,
    holdout: float = 0.0,
    test_rows: str = "random",
    categories: str = "level",
    storage: str = "memory",
) -> Split:
    """Load split number `split` of the set `name`, scaled and shuffled by `protocol`.

    `source` forces where a set is read from; `auto` takes the archive's file and, for the four synthetic sets,
    generates rows where it is absent. `test_rows="archive"` tests on the file that the archive sets aside. `path`,
    `target`, `treatment` and `categories` (see the configuration) belong to the set `file`, your own table. With
    `holdout` that part of the training rows stands in place of the test rows, which are then not looked at. `storage`
    says whether the training rows are held in memory or on disk; `auto` puts tables of one's own that are too large for
    the memory on disk.
    """
    spec = get_spec(name)
    check_request(protocol, split, test_fraction)
    if source not in SOURCES:
        raise unknown_choice("source", source, SOURCES)
    if spec.kind != "file" and (path is not None or target is not None):
        raise UsageError(f"a file and a target column belong to dataset 'file', not to {name!r}.")
    if storage not in STORAGES:
        raise unknown_choice("storage", storage, STORAGES)
    _check_source(spec, source)
    how: dict[str, Any] = {"protocol": protocol, "split": split}
    if spec.kind == "airline":
        result = (load_airline if spec.name == "airline" else load_nycflights)(spec, **how)
    else:
        how |= {"test_fraction": test_fraction, "categories": categories}
        if spec.kind == "file":
            result = _own_table(*_named(path, target), treatment or Treatment(), storage, how)
        else:
            result = make_split(name, _read(spec, protocol, source), test_rows=test_rows, **how)
    result = hold_out(result, holdout)
    return stored_split(result) if storage == "disk" and result.store is None else result


def _own_table(path: str, target: str, treatment: Treatment, storage: str, how: dict[str, Any]) -> Split:
    """`how`: the protocol, the split and the like."""
    if storage_of(path, storage, "--weights" if treatment.weights is not None else None) == "disk":
        result = stored_table(path, target, treatment, **how)
    else:
        result = make_split("file", read_own_file(path, target, treatment), **how)
    _check_classes_in_training(result)
    return result


def _named(path: str | None, target: str | None) -> tuple[str, str]:
    if path is None or target is None:
        raise UsageError("dataset 'file' needs a file and the name of its target column (--data FILE --target COL).")
    return path, target


def _check_source(spec: DatasetSpec, source: str) -> None:
    possible = {"auto"}
    if spec.kind == "uci":
        possible |= {"archive", "bayesian_benchmarks"}
    if spec.generated:
        possible.add("generated")
    if source not in possible:
        raise UsageError(f"{spec.name!r} has no source {source!r}; it has: {', '.join(sorted(possible))}.")


def _read(spec: DatasetSpec, protocol: str, source: str) -> Table:
    if spec.name == "banana":
        return read_banana(spec)
    row_number = protocol == "paper" and spec.kind == "uci"
    if source == "bayesian_benchmarks":
        return read_benchmark_set(spec, row_number=row_number)
    if spec.generated and (source == "generated" or (source == "auto" and not is_present(spec))):
        return generate(spec.name, row_number=row_number)
    return read_archive_set(spec, row_number=row_number)


def read_banana(spec: DatasetSpec) -> Table:
    """The banana toy: columns x1, x2 and label (0, 1)."""
    if not is_present(spec):
        raise absent(spec)
    table = read_own_file(data_dir() / spec.files[0], "label")
    return replace(table, source="csv", encoder=None, findings=(), notes=())


def _check_classes_in_training(result: Split) -> None:
    absent = np.flatnonzero(result.class_counts() == 0)
    if len(absent):
        raise GpcnoiseError(
            f"split {result.split} has no training row of class {result.class_names[absent[0]]!r}; "
            "take another split number, a smaller test fraction, or add rows."
        )
