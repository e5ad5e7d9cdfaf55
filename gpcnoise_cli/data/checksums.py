"""The sha256 of the archive's files, shipped as a small table beside this module.

A file that is read as the paper's must be the paper's: its hash is checked when it is fetched, imported and loaded.
The hash of miniboone's file is not known; such a file is accepted and called unverified.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

TABLE = "uci_sha256.txt"


@cache
def known_checksums() -> dict[str, str]:
    """From a path in the data folder (`uci/magic/magic_R.dat`) to its sha256."""
    text = files("gpcnoise_cli.data").joinpath(TABLE).read_text(encoding="ascii")
    pairs = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {f"uci/{name}": digest for digest, name in pairs}


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def matches(path: Path, name: str) -> bool | None:
    """Whether the file at `path` is the archive's `name`; None where the archive's hash is not known."""
    expected = known_checksums().get(name)
    return None if expected is None else sha256_of(path) == expected
