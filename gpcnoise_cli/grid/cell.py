"""A cell: one training run of a grid, with all that is needed to compute it anywhere and to file its result.

Two cells are the same run when their digests are: a hash over the composed configuration, without what changes only
where and how fast it is computed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpcnoise_cli.config.compare import settings_of
from gpcnoise_cli.config.compose import from_dict
from gpcnoise_cli.config.schema import TABLE_KEYS, TrainConfig
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.methods.registry import variant_of


@dataclass(frozen=True)
class Cell:
    """One training run; `name` is the place of its result in the ledger, without the ending."""

    name: str
    digest: str
    config: TrainConfig = field(compare=False)
    departures: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The settings that are not its preset's, so that a shortened run says of itself that it is one."""

    @classmethod
    def of(cls, name: str, config: TrainConfig, departures: Mapping[str, Any] | None = None) -> Cell:
        if config.dataset.test_fraction == 0.0 and not config.folds and not config.dataset.holdout:
            raise UsageError("dataset.test_fraction=0 leaves no rows to compare results on; add folds=5, or omit it.")
        return cls(name, digest_of(config), config, dict(departures or {}))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "config": stored_config(self.config), "departures": dict(self.departures)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Cell:
        config = from_dict(stored["config"], origin=f"the cell {stored['name']}")
        return cls.of(stored["name"], config, stored["departures"])

    @property
    def label(self) -> str:
        """For people: what distinguishes this cell from its neighbours."""
        return f"{self.config.dataset.name} {variant_of(self.config)} split {self.config.split}"


# Settings that are younger than the first results: at their defaults they are left out, so that digests stay.
ADDED_LATER = (
    "method.name",
    "likelihood.alpha_epsilon",
    "likelihood.squash",
    "inducing_start",
    "folds",
    "dataset.calibration",
    "class_weight",
    "kernel.ard_by",
    "kernel.apart",
    "dataset.storage",
    "dataset.test_rows",
    *(f"dataset.{key}" for key in TABLE_KEYS),
)


def digest_of(config: TrainConfig) -> str:
    settings, defaults = settings_of(config), settings_of(TrainConfig())
    for key in ADDED_LATER:
        if settings[key] == defaults[key]:
            del settings[key]
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stored_config(config: TrainConfig) -> dict[str, Any]:
    """The configuration as plain values for JSON, without the run folder."""
    return {key: value for key, value in dataclasses.asdict(config).items() if key != "out"}


def same_settings(cell: Cell, record: Mapping[str, Any]) -> bool:
    """Whether a record belongs to this very cell.

    The digest decides, except that a record may be older than a setting added since: then its configuration, completed
    with the defaults that mean "as before", is compared.
    """
    if record.get("digest") == cell.digest:
        return True
    try:
        return digest_of(from_dict(record["config"], origin="the record")) == cell.digest
    except (KeyError, TypeError, UsageError):
        return False
