"""The machine a measurement was taken on, and whether it was quiet."""

from __future__ import annotations

import os
from typing import Any

from gpcnoise_cli.bench.gpytorch_client import Installation
from gpcnoise_cli.runs.provenance import commit, host
from gpcnoise_cli.runtime import versions

# A load average above this part of the cores means that others are computing too.
BUSY_PART = 0.25


def describe_machine(gpytorch: Installation | None) -> dict[str, Any]:
    """Processor, cores, load at this moment, commit and versions."""
    machine = host()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        **machine,
        "load_average": load,
        "busy": load is not None and load > BUSY_PART * machine["cores"],
        "commit": commit(),
        "versions": {**versions(), **(gpytorch.versions if gpytorch else {"gpytorch": "absent"})},
    }
