"""Who computed a result: the machine in general terms and the commit of the code, but no names and no paths."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]


def host() -> dict[str, Any]:
    """What speed depends on."""
    return {"system": platform.system(), "machine": platform.machine(), "cpu": _cpu_model(), "cores": available_cores()}


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def commit() -> str | None:
    """The commit of the source checkout, with `+` where files differ from it; None for an installed package.

    Looked up once: a process runs the code that it loaded, wherever the checkout has moved meanwhile.
    """
    if not (_ROOT / ".git").exists():
        return None
    try:
        revision = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "gpcnoise_cli", "conf")
    except (OSError, subprocess.SubprocessError):
        return None
    return revision + ("+" if changed else "")


def _git(*arguments: str) -> str:
    # Reading the status must not take the index lock from somebody who commits meanwhile.
    command = ["git", "--no-optional-locks", "-C", str(_ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
