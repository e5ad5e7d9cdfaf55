"""What tells two configurations apart: every setting that is part of what was asked, by its dotted key."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from gpcnoise_cli.config.schema import TrainConfig

# Where a run writes, on what it runs, how often it saves and who follows it: none of it is part of what was asked.
NEUTRAL_KEYS = frozenset(
    {"out", "runtime.threads", "runtime.device", "runtime.devices", "runtime.checkpoint_seconds", "tracking"}
)


def settings_of(config: TrainConfig) -> dict[str, Any]:
    return {key: value for key, value in _flatten(dataclasses.asdict(config)) if key not in NEUTRAL_KEYS}


def differences(config: TrainConfig, reference: TrainConfig) -> dict[str, Any]:
    """The settings of `config` that are not those of `reference`."""
    before = settings_of(reference)  # of another method it lacks some
    return {key: value for key, value in settings_of(config).items() if key not in before or value != before[key]}


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in tree.items():
        flat += _flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(prefix + key, value)]
    return flat
