"""The command that repeats a run gives its very configuration, whatever it is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpcnoise_cli.config.compose import compose, from_yaml
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.grid.cell import digest_of, stored_config
from gpcnoise_cli.grid.repeat import repeat_cell, train_command

Cli = Callable[..., Any]
OVERRIDES = st.fixed_dictionaries(
    {},
    optional={
        "preset": st.sampled_from(["fast", "paper"]),
        "likelihood": st.sampled_from(["step", "softmax"]),
        "kernel": st.sampled_from(["rbf", "matern52+rbf"]),
        "optimizer": st.sampled_from(["adam", "natgrad"]),
        "delta": st.sampled_from(["free", "fixed", "optimal"]),
        "protocol": st.sampled_from(["paper", "clean"]),
        "inducing": st.integers(1, 999),
        "split": st.integers(0, 20),
        "seed": st.integers(0, 2**31 - 1),
        "kernel.lengthscale": st.floats(1e-3, 1e3),
        "optimizer.learning_rate": st.floats(1e-6, 1.0),
        "optimizer.early_stop": st.booleans(),
        "runtime.threads": st.integers(0, 3),
    },
)


def digest_by(cli: Cli, command: str) -> str:
    """The digest of what a `gpcnoise train` command line asks for."""
    words = shlex.split(command)
    assert words[:2] == ["gpcnoise", "train"]
    code, stdout, stderr = cli("config", *words[2:], "--json")
    assert code == 0, stderr
    return digest_of(from_yaml(stdout))


@pytest.mark.slow
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(overrides=OVERRIDES)
def test_a_training_command_gives_the_same_configuration(cli: Cli, overrides: dict[str, Any]) -> None:
    config = compose([assign(key, value) for key, value in overrides.items()])
    assert digest_by(cli, train_command(config)) == digest_of(config)


def test_a_file_of_ones_own_with_an_awkward_name(cli: Cli) -> None:
    texts = {"dataset.path": "/data/it's ${a}, b=c.csv", "dataset.target": "so; rm -rf 'x'"}
    config = compose(["dataset=file", *(assign(key, value) for key, value in texts.items())])
    assert digest_by(cli, train_command(config)) == digest_of(config)


def test_a_method_with_settings_of_its_own(cli: Cli, another_method: str) -> None:
    config = compose(["method=forest", "method.settings.trees=9", "method.settings.widths=[3,2]", "likelihood=step"])
    assert digest_by(cli, train_command(config)) == digest_of(config)
    stored = stored_config(compose(["preset=paper", "protocol=paper", "dataset=letter", "method=forest", "split=2"]))
    command = repeat_cell(stored, uci=True)
    assert command == (
        "gpcnoise reproduce uci --preset paper --protocol paper --kernel rbf --datasets letter --methods forest "
        "--splits 2 --results repeated"
    )


def test_a_configuration_older_than_a_setting_is_completed() -> None:
    stored = json.loads(json.dumps(stored_config(compose(["preset=paper"]))))
    del stored["optimizer"]["inducing_rate_factor"]
    command = repeat_cell(stored, uci=True)
    assert command is not None
    assert "--preset paper" in command
    assert "inducing_rate_factor" not in command


@pytest.mark.parametrize("broken", [{}, {"dataset": 3}, {"dataset": {"name": "<script>"}, "split": 0}])
def test_what_is_no_configuration_has_no_command(broken: dict[str, Any]) -> None:
    assert repeat_cell(broken, uci=True) is None
    whole = stored_config(compose())
    assert repeat_cell({**whole, "dataset": {**whole["dataset"], "name": "<script>"}}, uci=True) is None
