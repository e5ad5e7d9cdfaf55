"""From overrides to a checked, typed configuration, and to YAML and back.

Hydra composes `conf/train.yaml` against the schema; the result leaves as plain dataclasses, so nothing downstream knows
of Hydra. Nothing is written to disk and Hydra's global state is as before afterwards, so `compose` may be called any
number of times, from any folder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

from gpcnoise_cli.config.groups import conf_dir
from gpcnoise_cli.config.overrides import check_overrides
from gpcnoise_cli.config.quoting import escape_interpolation
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.config.validate import validate
from gpcnoise_cli.errors import UsageError


def compose(overrides: Sequence[str] = ()) -> TrainConfig:
    """The training configuration that `overrides` ask for; of two that set the same thing, the later one counts."""
    import hydra
    from hydra.core.config_store import ConfigStore
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    check_overrides(overrides)
    ConfigStore.instance().store(name="train_schema", node=TrainConfig)
    try:
        with hydra.initialize_config_dir(config_dir=str(conf_dir()), version_base="1.3"):
            composed = OmegaConf.to_object(hydra.compose("train", overrides=list(overrides)))
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(f"the configuration cannot be composed: {_first_line(error)}.") from error
    config = cast(TrainConfig, composed)
    validate(config)
    return config


def to_yaml(config: TrainConfig) -> str:
    """`config` as YAML in the schema's order."""
    import yaml

    return yaml.safe_dump(dataclasses.asdict(config), sort_keys=False, allow_unicode=True)


def from_yaml(text: str, origin: str = "the configuration") -> TrainConfig:
    """The configuration that `to_yaml` wrote; `origin` names it in errors."""
    import yaml

    try:
        stored = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{origin} is not a valid configuration: {_first_line(error)}.") from error
    return from_dict(stored, origin)


def from_dict(stored: Any, origin: str = "the configuration") -> TrainConfig:
    """The configuration of which `asdict` made a dictionary."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if not isinstance(stored, dict):
        raise UsageError(f"{origin} is not a saved configuration; `gpcnoise config` prints one.")
    try:
        merged = OmegaConf.merge(OmegaConf.structured(TrainConfig), _literal(stored))
        config = cast(TrainConfig, OmegaConf.to_object(merged))
    except OmegaConfBaseException as error:
        raise UsageError(f"{origin} is not a valid configuration: {_first_line(error)}.") from error
    validate(config)
    return config


def _literal(stored: Any) -> Any:
    """A saved file holds plain values: `${` in a path is a path, not a reference to another key."""
    if isinstance(stored, Mapping):
        return {key: _literal(value) for key, value in stored.items()}
    return escape_interpolation(stored) if isinstance(stored, str) else stored


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
