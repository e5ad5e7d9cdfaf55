"""Checking raw Hydra overrides before anything is composed, so that a slip is answered in the user's terms.

Hydra would find the same faults, but later, one file deep and in several lines. Here each becomes one sentence: text
that is no override, an unknown group choice, an unknown key with the nearest valid ones, a value of the wrong type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.config.groups import GROUPS, choices
from gpcnoise_cli.config.schema import SVGP, TrainConfig
from gpcnoise_cli.errors import UsageError, nearest, unknown_choice

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


def check_overrides(overrides: Sequence[str]) -> None:
    """Raise a UsageError for the first override that cannot be meant."""
    parsed = [_parse(text) for text in overrides]
    chosen = [str(one.value()) for one in parsed if one.key_or_group == "method" and not one.is_sweep_override()]
    method = next((name for name in reversed(chosen) if name in choices("method")), SVGP)
    for override in parsed:
        _check(override, method)


def _parse(text: str) -> Override:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(text)
    except HydraException:
        raise UsageError(_not_an_override(text)) from None
    override.input_line = text
    return override


def _not_an_override(text: str) -> str:
    key, equals, _ = text.partition("=")
    if equals:
        return (
            f"the value in {text!r} cannot be read; put a value with commas, brackets, quotes or letters beyond "
            f"English in single quotes, such as \"{key}='a, b'\"."
        )
    owners = [group for group in GROUPS if text in choices(group)]
    if owners:
        return f"{text!r} is not an override; did you mean {owners[0]}={text}?"
    return f"{text!r} is not an override; write KEY=VALUE, such as inducing=100 or likelihood=probit."


def _check(override: Override, method: str) -> None:
    from hydra.core.override_parser.types import OverrideType

    text, key = str(override.input_line), override.key_or_group
    if override.type == OverrideType.DEL:
        raise UsageError(f"{text!r} takes a key away, which no configuration allows; set another value instead.")
    if override.package is not None:
        raise UsageError(f"{text!r} moves a group with '@', which is not supported; write {key}=CHOICE.")
    if override.is_sweep_override():
        raise UsageError(
            f"{text!r} names several values where one is needed; give one value, or quote a text that holds commas."
        )
    _check_key(key, method)
    if override.type == OverrideType.ADD:
        assignment = text.partition("=")[2]
        raise UsageError(f"{text!r} adds a key that is already there; write {key}={assignment} without the plus sign.")
    value = override.value()
    if key in GROUPS:
        if str(value) not in choices(key):
            raise unknown_choice(key, str(value), choices(key))
    else:
        _check_type(key, value, method)


def _check_key(key: str, method: str) -> None:
    from gpcnoise_cli.config.keys import is_label, key_types, nearest_keys

    if key in GROUPS:
        return
    if key not in key_types(method):
        owners = [name for name in choices("method") if key in key_types(name)]
        if owners:
            raise UsageError(
                f"{key} belongs to method={' or '.join(owners)}, but the method is {method}; leave it out."
            )
        close = nearest(key, GROUPS, most=1) if "." not in key else []
        close = close or nearest_keys(key, method)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise UsageError(f"unknown key {key!r}; {hint}`gpcnoise config` prints every key with its value.")
    if is_label(key):
        group = key.partition(".")[0]
        raise UsageError(f"{key} is only the label of what {group} chooses; write {group}=CHOICE or --{group} CHOICE.")


def _check_type(key: str, value: Any, method: str) -> None:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from gpcnoise_cli.config.keys import key_types, settings_schema, type_in_words

    name = key.removeprefix("method.settings.")
    schema = TrainConfig if name == key else settings_schema(method)
    try:
        OmegaConf.update(OmegaConf.structured(schema), name, value)
    except OmegaConfBaseException:
        shown = "null" if value is None else repr(value)
        raise UsageError(f"{key} must be {type_in_words(key_types(method)[key])}, not {shown}.") from None
