"""Whatever a file or a column is called, Hydra reads back the same text."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from gpcnoise_cli.config.compose import compose, from_yaml, to_yaml
from gpcnoise_cli.config.quoting import assign

AWKWARD = [
    "a b",
    "it's",
    '"',
    "\\",
    "\\'",
    "\\\\",
    "${x}",
    "\\${x}",
    "a\\",
    "x,y",
    "k=v",
    "[1]{2}",
    "δ é 日本",
    "null",
    "1e3",
    "'",
]
PIECES = st.sampled_from([*AWKWARD, "$", "{", "}", "(", ")", ":", "~", "+", "@", "#", "%", "\t", "/", "é"])
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=6).map("".join))


@given(TEXTS)
def test_any_text_survives_the_override_grammar(text: str) -> None:
    parsed = OverridesParser.create().parse_override(assign("out", text))
    assert parsed.key_or_group == "out"
    assert not parsed.is_sweep_override()
    assert OmegaConf.create({"out": parsed.value()}).out == text


@pytest.mark.parametrize("text", ["it's", "\\${x}, [1]=é\\", "1e3"])
def test_awkward_names_survive_composing_and_saving(text: str) -> None:
    config = compose(["dataset=file", assign("dataset.path", text), assign("dataset.target", text)])
    assert (config.dataset.path, config.dataset.target) == (text, text)
    assert from_yaml(to_yaml(config)) == config


@pytest.mark.parametrize(("value", "text"), [(True, "k=true"), (3, "k=3"), (1e-5, "k=1e-05"), ("a", "k='a'")])
def test_scalars_keep_their_type(value: bool | int | float | str, text: str) -> None:
    assert assign("k", value) == text
    parsed = OverridesParser.create().parse_override(text).value()
    assert (parsed, type(parsed)) == (value, type(value))
