"""What a long benchmark has measured so far: one JSON file in its folder, to which each measurement is added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import write_json


def read_kept(path: Path) -> dict[str, dict[str, Any]]:
    """The records of earlier calls; none where there is no file yet."""
    if not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise GpcnoiseError(f"{path} is damaged ({error}); remove it to measure again.") from error


def write_kept(path: Path, records: Mapping[str, Mapping[str, Any]]) -> None:
    write_json(path, records)
