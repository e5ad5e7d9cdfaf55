"""Data sets in, arrays out: the registry, the readers, the splits and the scaling.

The upper floors ask for one thing, `load_split(name, protocol=…, split=…)`, and get a frozen `Split`. The names are
looked up lazily so that importing this package (or `gpcnoise_cli.data.registry` for help and completion) loads neither
NumPy nor pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpcnoise_cli.data.encoder import TableEncoder
    from gpcnoise_cli.data.load import load_split
    from gpcnoise_cli.data.scaling import Scaler
    from gpcnoise_cli.data.split import Split

__all__ = ["Scaler", "Split", "TableEncoder", "load_split"]

_HOME = {"Scaler": "scaling", "Split": "split", "TableEncoder": "encoder", "load_split": "load"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
