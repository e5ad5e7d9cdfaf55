"""The command that computes a result again: what was asked then, written for the presets as they are now.

A preset may have changed since a result was filed. Every setting in which the result differs from what its preset means
today is therefore spelled out, so that the command gives the configuration of the result and no other.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.groups import choices
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.registry import UCI_NAMES
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.cell import differences, read_config
from gpcnoise_cli.grid.grid import applies

# A finished cell is not computed again in its own folder, so the repetition is filed in one beside it.
REPEATED = "repeated"

_OPTIONS = {
    "protocol": "--protocol",
    "split": "--split",
    "inducing": "--inducing",
    "batch_size": "--batch-size",
    "iterations": "--iterations",
    "optimizer.learning_rate": "--learning-rate",
    "seed": "--seed",
}


def repeat_cell(stored: Mapping[str, Any], *, uci: bool) -> str | None:
    """The command for the stored configuration of a cell; None where it is not one of this program any more."""
    try:
        config = _read(stored)
    except (UsageError, KeyError, TypeError, AttributeError):
        return None
    if uci and config.dataset.name in UCI_NAMES:
        return reproduce_command(config)
    return train_command(config)


def reproduce_command(config: TrainConfig) -> str:
    """`gpcnoise reproduce uci ...` for one cell of the UCI grid."""
    words = ["gpcnoise", "reproduce", "uci", "--preset", config.preset, "--protocol", config.protocol]
    words += ["--kernel", config.kernel.name, "--datasets", config.dataset.name]
    words += ["--likelihoods", config.likelihood.name, "--splits", str(config.split)]
    if not applies(config.likelihood.name, config.dataset.name):
        words.append("--all-likelihoods")
    base = {"experiment": config.preset, "likelihood": config.likelihood.name, "kernel": config.kernel.name}
    words += _beyond(config, {**base, "protocol": config.protocol}, options=("iterations",))
    return shlex.join([*words, "--results", REPEATED])


def train_command(config: TrainConfig) -> str:
    """`gpcnoise train ...` for any configuration."""
    words = ["gpcnoise", "train", "--preset", config.preset]
    if config.dataset.name == "file":
        words += ["--data", str(config.dataset.path), "--target", str(config.dataset.target)]
    else:
        words += ["--dataset", config.dataset.name]
    words += ["--likelihood", config.likelihood.name, "--kernel", config.kernel.name]
    base = {"experiment": config.preset, "likelihood": config.likelihood.name, "kernel": config.kernel.name}
    return shlex.join([*words, *_beyond(config, base, options=tuple(_OPTIONS))])


def _beyond(config: TrainConfig, base: Mapping[str, str], options: tuple[str, ...]) -> list[str]:
    """The settings of `config` that the coordinates in `base` do not give, as options and overrides."""
    reference = _composed(tuple(base.items()))
    words = []
    if reference.optimizer.name != config.optimizer.name:
        words.append(f"optimizer={config.optimizer.name}")
        reference = _composed((*base.items(), ("optimizer", config.optimizer.name)))
    source = dataclasses.replace(
        reference.dataset, name=config.dataset.name, path=config.dataset.path, target=config.dataset.target
    )
    split = reference.split if "split" in options else config.split
    reference = dataclasses.replace(reference, dataset=source, split=split)
    for key, value in differences(config, reference).items():
        if key in options:
            words += [_OPTIONS[key], str(value)]
        else:
            words.append(f"{key}=null" if value is None else assign(key, value))
    return words


@lru_cache(maxsize=256)
def _composed(coordinates: tuple[tuple[str, str], ...]) -> TrainConfig:
    return compose([assign(key, value) for key, value in coordinates])


def _read(stored: Mapping[str, Any]) -> TrainConfig:
    """`read_config`, once for all cells of a grid that differ in their set and split alone."""
    dataset = dict(stored["dataset"])
    name, split = dataset.pop("name"), stored["split"]
    if name == "file" or name not in choices("dataset") or not isinstance(split, int) or split < 0:
        return read_config(stored, origin="the record")
    common = json.dumps({**stored, "dataset": {**dataset, "name": "waveform"}, "split": 0}, sort_keys=True)
    config = _parsed(common)
    return dataclasses.replace(config, dataset=dataclasses.replace(config.dataset, name=name), split=split)


@lru_cache(maxsize=256)
def _parsed(text: str) -> TrainConfig:
    return read_config(json.loads(text), origin="the record")
