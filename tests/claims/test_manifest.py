"""`codecheck.yml` names files that are there and commands that exist."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]


def test_every_entry_names_a_file_and_a_command(cli: Callable[..., Any]) -> None:
    entries = yaml.safe_load((REPOSITORY / "codecheck.yml").read_text())["manifest"]
    assert len(entries) > 5
    for entry in entries:
        assert (REPOSITORY / entry["file"]).exists(), entry["file"]
        program, *words = shlex.split(entry["command"])
        assert program == "gpcnoise"
        assert cli(*words, "--help").code == 0, entry["command"]
