"""The one table of options: complete, true to the configuration, and quick to read."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.groups import GROUPS, choices
from gpcnoise_cli.config.keys import key_types
from gpcnoise_cli.config.options import BY_KEY, OF_TRAIN, OPTIONS, PARAMETERS, overrides_for


def test_every_row_sets_a_key_or_a_group_of_its_own() -> None:
    assert {option.key for option in OPTIONS} <= {*GROUPS, *key_types()}
    assert len(BY_KEY) == len(OPTIONS)
    assert len({option.name for option in OF_TRAIN}) == len(OF_TRAIN)


@pytest.mark.parametrize("group", ["likelihood", "kernel", "delta", "method"])
def test_help_names_every_choice(group: str) -> None:
    for name in choices(group):
        assert name in BY_KEY[group].help


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("inducing", 7, ["--inducing", "7"]),
        ("kernel.ard", False, ["--no-ard"]),
        ("kernel.shared", False, ["--kernel-per-class"]),
        ("kernel.shared", True, ["--shared-kernel"]),
        ("dataset.treat", ["a=number", "b=date"], ["--treat", "a=number", "--treat", "b=date"]),
    ],
)
def test_a_value_as_words(key: str, value: object, words: list[str]) -> None:
    assert BY_KEY[key].words(value) == words


def test_a_flag_may_say_the_opposite_of_its_key() -> None:
    assert overrides_for({"kernel_per_class": True, "ard": True}) == ["kernel.ard=true", "kernel.shared=false"]


def test_options_that_may_be_repeated_become_lists() -> None:
    given = {"data": "t.csv", "target": "y", "treat": ["a b=number", "it's, ${x}=date"], "na_values": [""], "keep": []}
    dataset = compose(overrides_for(given)).dataset
    assert (dataset.treat, dataset.na_values, dataset.keep) == (given["treat"], [""], [])


def test_the_parameters_of_the_estimator_are_values_of_the_configuration() -> None:
    found = {name: option.value_in(compose(["delta=fixed"])) for name, option in PARAMETERS.items()}
    assert (found["preset"], found["likelihood"], found["delta"], found["ard"]) == ("fast", "softmax", "fixed", True)


def test_the_table_imports_nothing_heavy() -> None:
    heavy = "('tensorflow', 'hydra', 'omegaconf', 'typer', 'numpy')"
    code = f"import sys, gpcnoise_cli.config.options; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
