"""The keys of a training configuration, read off the schema: their dotted names, types, and near misses.

`optimizer.learning_rate` is a key because `TrainConfig.optimizer.learning_rate` is a field. The names of group members
and of the preset are fields too, but they are set by choosing a group: writing them directly would put a wrong label on
other settings.
"""

from __future__ import annotations

import dataclasses
import difflib
import typing
from functools import cache

from gpcnoise_cli.config.groups import method_settings
from gpcnoise_cli.config.schema import SVGP, TrainConfig

# What people used to other programs write, and no string distance would find.
_ALIASES = {
    "a": "likelihood.noise_variance",
    "batch": "batch_size",
    "epochs": "iterations",
    "epsilon": "delta.value",
    "experiment": "preset",
    "lr": "optimizer.learning_rate",
    "m": "inducing",
    "num_inducing": "inducing",
    "output": "out",
    "steps": "iterations",
}

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a mapping",
}


@cache
def key_types(method: str = SVGP) -> dict[str, typing.Any]:
    """Every dotted key with the type its field declares; the settings of `method` are among them."""
    own = {f"method.settings.{name}": hint for name, hint, _ in _settings_fields(method)}
    return {**dict(_walk(TrainConfig, "")), **own}


def settings_schema(method: str) -> type:
    """A dataclass of the settings that `method` brings along, for OmegaConf to check them as it does the others."""
    return dataclasses.make_dataclass("Settings", _settings_fields(method))


def _settings_fields(method: str) -> list[tuple[str, typing.Any, typing.Any]]:
    def field(default: typing.Any) -> typing.Any:
        return dataclasses.field(default_factory=lambda: default)

    # A default of null says nothing of its type.
    return [
        (name, typing.Any if default is None else type(default), field(default))
        for name, default in method_settings(method).items()
    ]


def _walk(section: type, prefix: str) -> typing.Iterator[tuple[str, typing.Any]]:
    for name, hint in typing.get_type_hints(section).items():
        if dataclasses.is_dataclass(hint):
            yield from _walk(typing.cast(type, hint), f"{prefix}{name}.")
        elif typing.get_origin(hint) is not dict:
            yield prefix + name, hint


def type_in_words(hint: typing.Any) -> str:
    """What a value of that type is, for a sentence."""
    members = (hint,) if typing.get_origin(hint) is list else typing.get_args(hint) or (hint,)
    members = tuple(typing.get_origin(member) or member for member in members)
    words = [_WORDS[member] for member in members if member is not type(None)]
    return " or ".join([*words, "null"] if type(None) in members else words)


def is_label(key: str) -> bool:
    """Whether `key` only names what a group chose."""
    return key == "preset" or key.endswith(".name")


def nearest_keys(key: str, method: str = SVGP) -> list[str]:
    """Valid keys that `key` may have meant: an alias or the same last part elsewhere, else similar spelling."""
    leaf = _leaf(key)
    known = [name for name in key_types(method) if not is_label(name)]
    exact = [_ALIASES[leaf]] if leaf in _ALIASES else [name for name in known if _leaf(name) == leaf]
    if exact:
        return exact
    scores = {name: _likeness(key, name) for name in known}
    # Only what is about as good as the best: two far-fetched guesses would drown the right one.
    enough = max(0.6, max(scores.values()) - 0.1)
    return sorted((name for name in known if scores[name] >= enough), key=lambda name: -scores[name])[:3]


def _leaf(key: str) -> str:
    return key.rpartition(".")[2]


def _likeness(key: str, name: str) -> float:
    def ratio(one: str, other: str) -> float:
        return difflib.SequenceMatcher(None, one, other).ratio()

    last = ratio(_leaf(key), _leaf(name))
    # What all keys of a section have in common says nothing about which of them is meant.
    same_section = key.rpartition(".")[0] == name.rpartition(".")[0]
    return last if same_section else max(last, ratio(key, name))
