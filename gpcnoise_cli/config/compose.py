"""From overrides to a checked, typed configuration, and to YAML and back.

Hydra composes `conf/train.yaml` against the schema; the result leaves as plain dataclasses, so nothing downstream knows
of Hydra. Nothing is written to disk and Hydra's global state is as before afterwards, so `compose` may be called any
number of times, from any folder.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from gpcnoise_cli.config.groups import choices, conf_dir
from gpcnoise_cli.config.keys import settings_schema
from gpcnoise_cli.config.overrides import check_overrides
from gpcnoise_cli.config.quoting import escape_interpolation
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.config.validate import validate
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    from omegaconf import DictConfig


def compose(overrides: Sequence[str] = ()) -> TrainConfig:
    """The training configuration that `overrides` ask for; of two that set the same thing, the later one counts."""
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    check_overrides(overrides)
    _register()
    try:
        with hydra.initialize_config_dir(config_dir=str(conf_dir()), version_base="1.3"):
            composed = hydra.compose("train", overrides=list(overrides))
        config = _settled(composed)
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(f"the configuration cannot be composed: {_first_line(error)}.") from error
    _check_prescribed(config, overrides)
    return config


def _check_prescribed(config: TrainConfig, overrides: Sequence[str]) -> None:
    """What a preset says of one likelihood, or a method of itself, beats the group: say so rather than ignore it."""
    asked = {key: value.strip("'\"") for key, _, value in (text.partition("=") for text in overrides)}
    if (optimizer := asked.get("optimizer")) not in (None, config.optimizer.name):
        raise UsageError(
            f"preset {config.preset} trains likelihood {config.likelihood.name} by {config.optimizer.name}, with "
            f"settings of its own, not by {optimizer}; choose another preset, or omit it."
        )
    if "delta.mode" not in asked and (delta := asked.get("delta")) not in (None, config.delta.mode):
        raise UsageError(
            f"method {config.method.name} keeps delta {config.delta.mode}, so delta={delta} has no effect; omit it."
        )


@cache
def _register() -> None:
    """What Hydra composes besides the files: the schema, and the data sets, of which there is nothing but a name."""
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    store.store(name="train_schema", node=TrainConfig)
    for name in choices("dataset"):
        store.store(group="dataset", name=name, node={"name": name})


def _settled(composed: DictConfig) -> TrainConfig:
    """A typed and checked configuration; settings of its method that it does not have yet get their defaults."""
    from omegaconf import OmegaConf

    config = cast(TrainConfig, OmegaConf.to_object(composed))
    validate(config)
    settings = OmegaConf.merge(OmegaConf.structured(settings_schema(config.method.name)), config.method.settings)
    config.method.settings = cast(dict[str, Any], OmegaConf.to_container(settings))
    return config


def with_absolute_paths(config: TrainConfig) -> TrainConfig:
    """The same for use in any folder; links stay links, because their own names say what they are."""
    dataset = config.dataset
    absolute = {
        key: os.path.abspath(path)  # noqa: PTH100 (resolve would follow links)
        for key in ("path", "columns")
        if (path := getattr(dataset, key)) is not None and path != "-"
    }
    return dataclasses.replace(config, dataset=dataclasses.replace(dataset, **absolute))


def to_yaml(config: TrainConfig) -> str:
    """`config` as YAML in the schema's order."""
    import yaml

    return yaml.safe_dump(dataclasses.asdict(config), sort_keys=False, allow_unicode=True)


def from_yaml(text: str, origin: str = "the configuration") -> TrainConfig:
    """The configuration that `to_yaml` wrote; `origin` names it in errors."""
    import yaml

    try:
        return from_dict(yaml.safe_load(text), origin)
    except yaml.YAMLError as error:
        raise UsageError(f"{origin} is not a valid configuration: {_first_line(error)}.") from error


def from_dict(stored: Any, origin: str = "the configuration") -> TrainConfig:
    """The configuration with these values; settings that are newer than it get the schema's defaults."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if not isinstance(stored, Mapping):
        raise UsageError(f"{origin} is not a saved configuration; `gpcnoise config` prints one.")
    try:
        return _settled(cast("DictConfig", OmegaConf.merge(OmegaConf.structured(TrainConfig), _literal(stored))))
    except OmegaConfBaseException as error:
        raise UsageError(f"{origin} is not a valid configuration: {_first_line(error)}.") from error


def _literal(stored: Any) -> Any:
    """Saved values are plain: `${` in a path is a path, not a reference to another key."""
    if isinstance(stored, Mapping):
        return {key: _literal(value) for key, value in stored.items()}
    return escape_interpolation(stored) if isinstance(stored, str) else stored


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
