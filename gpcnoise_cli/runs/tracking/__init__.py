"""Following a run in other people's programs: TensorBoard and MLflow, each behind one small class, off by default.

Tracking watches; it never changes a result, and a tracker that fails is left aside with one warning.
"""

from __future__ import annotations

import importlib.util

from gpcnoise_cli.errors import UsageError

NONE = "none"
# The package that each kind needs, and how to get it.
PACKAGES = {"tensorboard": "pip install 'gpcnoise[tensorboard]'", "mlflow": "pip install 'gpcnoise[mlflow]'"}


def check_tracking(kind: str) -> None:
    """Refuse a kind whose package is not installed, before anything else is done."""
    if kind != NONE and importlib.util.find_spec(kind) is None:
        raise UsageError(
            f"tracking={kind} needs the package {kind}, which is not installed; get it with: {PACKAGES[kind]}, or omit "
            "tracking."
        )
