"""`results/claims.json`: which cells stood behind the claims when they were last written, and with which figures."""

from __future__ import annotations

import json
from pathlib import Path

from gpcnoise_cli.claims.evidence import ABLATIONS_FOLDER, Evidence
from gpcnoise_cli.files import write_text
from gpcnoise_cli.grid.ledger import read_record

NAME = "claims.json"
RENEW = "renew it by: gpcnoise claims --write"


def cell_digests(results: Path) -> dict[str, str]:
    """The digest of every cell that a claim or an ablation may rest on, by its path below `results`."""
    evidence = Evidence.read(results)
    folders = sorted((results / ABLATIONS_FOLDER).glob("*/"))
    return evidence.digests() | {
        path: digest for folder in folders for path, digest in evidence.flipped(folder.name).digests().items()
    }


def write_kept(results: Path) -> Path:
    """A line for each set and method: its splits with their digests."""
    groups: dict[str, dict[str, str]] = {}
    for path, digest in sorted(cell_digests(results).items()):
        folder, _, name = path.rpartition("/")
        groups.setdefault(folder, {})[name] = digest
    lines = [f"  {json.dumps(folder)}: {json.dumps(cells)}" for folder, cells in groups.items()]
    body = ",\n".join(lines)
    write_text(results / NAME, f'{{\n "cells": {{\n{body}\n }}\n}}\n')
    return results / NAME


def changed_cells(results: Path) -> list[str]:
    """A sentence for each cell that was deleted or edited since, and one for all that were added."""
    kept = read_record(results / NAME)
    groups = kept.get("cells") if kept is not None else None
    if not isinstance(groups, dict):
        return [f"{results / NAME} is absent or cannot be read; {RENEW}"]
    before = {f"{folder}/{name}": digest for folder, cells in groups.items() for name, digest in cells.items()}
    now = cell_digests(results)
    problems = [f"{path}: the cell was deleted; compute it again, or {RENEW}" for path in before.keys() - now.keys()]
    problems += [
        f"{path}: the cell was edited since its figures were kept; restore it, or {RENEW}"
        for path in before.keys() & now.keys()
        if before[path] != now[path]
    ]
    new = sorted(now.keys() - before.keys())
    if new:
        cells = "the cell is" if len(new) == 1 else f"it and {len(new) - 1} more cells are"
        problems.append(f"{new[0]}: {cells} new and not kept; {RENEW}")
    return sorted(problems)
