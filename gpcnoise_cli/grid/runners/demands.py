"""What a machine must have to compute cells for another: the same versions and, where they are not sent, data files.

Each cell asks again when it begins, because nodes of a cluster come and go.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpcnoise_cli.data.checksums import sha256_of
from gpcnoise_cli.data.folder import ENVIRONMENT, data_dir
from gpcnoise_cli.data.registry import DATASETS
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.runs.provenance import commit
from gpcnoise_cli.runtime import versions


def demands_of(cells: Iterable[Cell], *, data: bool, code: bool) -> dict[str, Any]:
    """What every node must have: these versions and, unless they are sent, this code and these data files."""
    files: set[str] = set()
    for config in (cell.config for cell in cells) if data else ():
        own = (config.dataset.path,) if config.dataset.path is not None else ()
        files |= {*DATASETS[config.dataset.name].files, *own}
    wanted = {"files": dict.fromkeys(sorted(files)), "commit": commit() if code else None}
    return probe(wanted)


def probe(demands: Mapping[str, Any]) -> dict[str, Any]:
    """What this machine has of what is demanded."""
    return {
        "versions": {name: number for name, number in versions().items() if name != "python"},
        "commit": commit() if demands["commit"] is not None else None,
        "files": {name: _digest(data_dir() / name) for name in demands["files"]},
    }


def objection(demands: Mapping[str, Any], found: Mapping[str, Any]) -> str | None:
    """Why a machine with what was `found` cannot compute; None if it can."""
    for package, wanted in demands["versions"].items():
        has = found["versions"].get(package, "none")
        if has != wanted:
            advice = "install the same there" + (", or send it by --ray-send all" if package == "gpcnoise" else "")
            return f"has {package} {has}, not {wanted} as here; {advice}."
    if found["commit"] is not None and found["commit"] != demands["commit"]:
        return (
            f"runs the code of commit {found['commit']}, not {demands['commit']} as here; check out the same there, "
            "or send this code by --ray-send all."
        )
    for name, wanted in demands["files"].items():
        if found["files"].get(name) != wanted:
            trouble = "lacks" if found["files"].get(name) is None else "has another version of"
            return (
                f"{trouble} the data file {name}; set {ENVIRONMENT} there to a folder with it, or send the data along "
                "(--ray-send data, the default)."
            )
    return None


@functools.cache
def _digest(path: Path) -> str | None:
    if not path.is_file():
        return "a folder" if path.exists() else None
    return sha256_of(path)
