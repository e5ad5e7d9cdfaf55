"""The command that computes a result again: what was asked then, written for the presets as they are now.

A preset may have changed since a result was filed. Every setting in which the result differs from what its preset means
today is therefore spelled out, so that the command gives the configuration of the result and no other.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

from gpcnoise_cli.config.compare import differences
from gpcnoise_cli.config.compose import compose, from_dict
from gpcnoise_cli.config.groups import GROUPS, choices, name_key
from gpcnoise_cli.config.options import BY_KEY, OF_TRAIN
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.config.schema import SVGP, TrainConfig
from gpcnoise_cli.data.registry import UCI_NAMES
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.uci import applies
from gpcnoise_cli.methods.registry import method_spec

# A finished cell is not computed again in its own folder, so the repetition is filed in one beside it.
REPEATED = "repeated"


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
    words = ["gpcnoise", "reproduce", "uci"]
    column = "likelihood" if config.method.name == SVGP else "method"
    for key in ("preset", "protocol", "kernel", "dataset", column, "split"):
        words += [str(BY_KEY[key].grid), str(BY_KEY[key].value_in(config))]
    if column == "likelihood" and not applies(config.likelihood.name, config.dataset.name):
        words.append("--all-likelihoods")
    words += _beyond(config, ("preset", "kernel", column, "protocol"), flags=("iterations",))
    return shlex.join([*words, "--results", REPEATED])


def train_command(config: TrainConfig) -> str:
    """`gpcnoise train ...` for any configuration."""
    source = ("dataset.path", "dataset.target") if config.dataset.name == "file" else ("dataset",)
    method = () if config.method.name == SVGP else ("method",)
    likelihood = () if method_spec(config.method.name).likelihood else ("likelihood",)
    words = ["gpcnoise", "train"]
    for key in ("preset", *source, *method, *likelihood, "kernel"):
        words += BY_KEY[key].words(BY_KEY[key].value_in(config))
    flags = [option.key for option in OF_TRAIN if option.key not in GROUPS]
    return shlex.join([*words, *_beyond(config, ("preset", *method, *likelihood, "kernel"), flags)])


def _beyond(config: TrainConfig, given: Sequence[str], flags: Sequence[str]) -> list[str]:
    """The settings of `config` that those of its keys that are `given` do not bring, as options and overrides."""
    base, words = {key: str(BY_KEY[key].value_in(config)) for key in given}, []
    for group in ("likelihood", "kernel", "delta", "optimizer"):
        chosen = attrgetter(name_key(group))
        if group not in base and chosen(_composed(tuple(base.items()))) != chosen(config):
            base[group] = chosen(config)
            words.append(f"{group}={base[group]}")
    reference = _composed(tuple(base.items()))
    source = dataclasses.replace(
        reference.dataset, name=config.dataset.name, path=config.dataset.path, target=config.dataset.target
    )
    split = reference.split if "split" in flags else config.split
    reference = dataclasses.replace(reference, dataset=source, split=split)
    for key, value in differences(config, reference).items():
        if key in flags and value is not None:
            words += BY_KEY[key].words(value)
        else:
            words.append(assign(key, value))
    return words


@lru_cache(maxsize=256)
def _composed(coordinates: tuple[tuple[str, str], ...]) -> TrainConfig:
    return compose([assign(key, value) for key, value in coordinates])


def _read(stored: Mapping[str, Any]) -> TrainConfig:
    """`from_dict`, once for all cells of a grid that differ in their set and split alone."""
    dataset = dict(stored["dataset"])
    name, split = dataset.pop("name"), stored["split"]
    if name == "file" or name not in choices("dataset") or not isinstance(split, int) or split < 0:
        return from_dict(stored, origin="the record")
    common = json.dumps({**stored, "dataset": {**dataset, "name": "waveform"}, "split": 0}, sort_keys=True)
    config = _parsed(common)
    return dataclasses.replace(config, dataset=dataclasses.replace(config.dataset, name=name), split=split)


@lru_cache(maxsize=256)
def _parsed(text: str) -> TrainConfig:
    return from_dict(json.loads(text), origin="the record")
