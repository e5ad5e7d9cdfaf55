"""Where training rows are held: in memory, or on disk where they would not fit, to be read block by block.

`stored_table` streams a table of one's own into a store; `stored_split` moves the training rows of a set that was
loaded as usual, so that any set can be trained from disk. Either gives a `Split` like any other, whose `X_train` and
`y_train` are mapped files.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.data.checksums import sha256_of
from gpcnoise_cli.data.column_kinds import Finding
from gpcnoise_cli.data.encoder import TableEncoder
from gpcnoise_cli.data.scaling import Scaler, shared_scales
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.data.store import Store, StoreWriter, block_rows, digest, kept, stores_dir
from gpcnoise_cli.data.store_pass import write_store
from gpcnoise_cli.data.table_file import STDIN, check_file, open_table
from gpcnoise_cli.data.table_parts import parts_of
from gpcnoise_cli.data.treatment import Treatment
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.files import write_text

# Reading a table into memory takes about so many times the size of its numbers: encoded, shuffled, scaled.
COPIES = 4
PART_OF_MEMORY = 0.5

Stamp = tuple[str, int, int]


def storage_of(path: str | Path, storage: str = "auto", needing_memory: str | None = None) -> str:
    """`memory` or `disk`: as asked, or on disk where a table would take more than half of the memory there is.

    An option `needing_memory` may have more of it, and is refused where the table would take more than all.
    """
    if storage != "auto" or str(path) == STDIN:
        return "memory" if storage == "auto" else storage
    check_file(path)
    needed, there = COPIES * sum(_size_in_memory(part) for part in parts_of(path)), memory_size()
    if needing_memory is None:
        return "disk" if needed > PART_OF_MEMORY * there else "memory"
    if needed > there:
        raise UsageError(
            f"{needing_memory} needs all training rows in memory, where this table would take about "
            f"{needed / 1e9:.3g} GB of {there / 1e9:.3g}; omit it, so that they can stay on disk, or take fewer rows "
            "(dataset.storage=memory tries all the same)."
        )
    return "memory"


def _size_in_memory(path: Path) -> int:
    """The bytes of the numbers in a file, roughly: a text is about as long as the numbers in it."""
    if not path.is_file():
        return 0  # a pipe, which can be read only once, and not for this
    with path.open("rb") as stream:
        if stream.read(4) != b"PAR1":
            packed = path.suffix.lower() in (".gz", ".bz2", ".xz")
            return path.stat().st_size * (4 if packed else 1)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        facts = pq.read_metadata(path)
    except (pa.ArrowException, OSError, ValueError):
        return path.stat().st_size  # reading it will say what is wrong
    return int(8 * facts.num_rows * facts.num_columns)


def memory_size() -> int:
    """The machine's memory in bytes, or what a container leaves of it."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of cgroups, version 2 and 1
        with suppress(OSError, ValueError):
            size = min(size, int(Path("/sys/fs/cgroup", limit).read_text(encoding="utf-8")))
    return size


def stored_table(
    path: str | Path,
    target: str,
    treatment: Treatment,
    *,
    protocol: str,
    split: int,
    test_fraction: float,
    categories: str = "level",
) -> Split:
    """A table of one's own, in a store that is made if it is not there."""
    if str(path) != STDIN:
        check_file(path)
    files = parts_of(path)
    if not all(file.is_file() for file in files):
        raise UsageError("dataset.storage=disk needs files, which can be read again; standard input and pipes cannot.")
    if treatment.weights is not None:
        raise UsageError("--weights needs all training rows in memory; omit it, or take dataset.storage=memory.")
    stamps = [_stamp(file) for file in files]
    how: dict[str, Any] = {"protocol": protocol, "split": split, "test_fraction": test_fraction}
    how["categories"] = categories
    key = digest(
        {
            "files": [[_content(stamp), "".join(Path(stamp[0]).suffixes)] for stamp in stamps],
            "target": target,
            "treatment": {**asdict(treatment), "columns": _columns_file(treatment)},
            "block": block_rows(1),  # rows of one block are scaled to the last bit as they are in memory
            **how,
        }
    )

    def make(folder: Path) -> None:
        try:
            with open_table(path, treatment.sep, treatment.encoding) as file, file.naming():
                write_store(folder, file, target, treatment, **how)
        except GpcnoiseError:
            _check_unchanged(stamps)  # then whatever was found in it is no wonder
            raise
        _check_unchanged(stamps)

    return _split_of(kept(key, make), protocol, split, categories)


def _split_of(store: Store, protocol: str, split: int, categories: str) -> Split:
    facts, n_train = store.facts, store.facts["n_train"]
    encoder = TableEncoder.from_dict(facts["encoder"])
    X_test, y_test = store.rows(n_train, len(store.X))
    return Split(
        dataset="file",
        protocol=protocol,
        split=split,
        source="file",
        X_train=store.X[:n_train],
        y_train=store.y[:n_train],
        X_test=X_test,
        y_test=y_test,
        class_names=encoder.class_names,
        feature_names=encoder.feature_names,
        scaler=Scaler.from_dict(facts["scaler"]),
        encoder=encoder,
        findings=tuple(Finding.from_dict(one) for one in facts["findings"]),
        notes=tuple(facts["notes"]),
        shared_scales=tuple(shared_scales(encoder, categories)),
        store=store,
    )


def stored_split(split: Split) -> Split:
    """The same split with its training rows on disk, in float32."""
    X, y, rows = split.X_train, split.y_train, block_rows(split.d)
    blocks = range(0, len(X), rows)
    content = hashlib.sha256()
    for start in blocks:
        content.update(np.ascontiguousarray(X[start : start + rows], dtype="<f4").data)
        content.update(np.ascontiguousarray(y[start : start + rows], dtype="<i4").data)

    def make(folder: Path) -> None:
        with StoreWriter(folder, *X.shape) as writer:
            for start in blocks:
                writer.append(X[start : start + rows], y[start : start + rows])
            writer.finish({"dataset": split.dataset, "protocol": split.protocol, "split": split.split})

    store = kept(digest({"rows": content.hexdigest(), "shape": X.shape}), make)
    return replace(split, X_train=store.X, y_train=store.y, store=store)


def _stamp(path: Path) -> Stamp:
    try:
        facts = path.stat()
    except OSError as error:
        raise GpcnoiseError(f"{path.name}: cannot be read ({error.strerror or error}).") from error
    return str(path.absolute()), facts.st_size, facts.st_mtime_ns


def _check_unchanged(stamps: list[Stamp]) -> None:
    for stamp in stamps:
        path = Path(stamp[0])
        if not path.exists() or _stamp(path) != stamp:
            raise GpcnoiseError(
                f"{path.name} was changed while it was read, so nothing was kept; start again when it is complete."
            )


def _content(stamp: Stamp) -> str:
    """The sha256 of a file; of one that was hashed before, and has its size and time of change still, by memory."""
    note = stores_dir() / ".contents" / hashlib.sha256(repr(stamp).encode()).hexdigest()[:24]
    with suppress(OSError):
        return note.read_text(encoding="utf-8")
    found = sha256_of(Path(stamp[0]))
    with suppress(OSError, GpcnoiseError):  # where it cannot be written, making the store will say so
        note.parent.mkdir(parents=True, exist_ok=True)
        write_text(note, found)
    return found


def _columns_file(treatment: Treatment) -> Any:
    """What the file of --columns says; that it cannot be read is said where it is."""
    with suppress(OSError):
        return None if treatment.columns is None else sha256_of(Path(treatment.columns))
    return treatment.columns
