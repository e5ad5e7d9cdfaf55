"""`gpcnoise config`, and with it the options that every training command shares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from gpcnoise_cli.cli.main import app
from gpcnoise_cli.cli.options import with_train_options
from gpcnoise_cli.config.compose import compose, from_yaml
from gpcnoise_cli.config.groups import GROUPS, choices
from gpcnoise_cli.config.options import overrides_for

Cli = Callable[..., Any]


def test_prints_the_composed_yaml(cli: Cli) -> None:
    code, stdout, stderr = cli("config", "--likelihood", "probit", "inducing=50")
    assert (code, stderr) == (0, "")
    assert from_yaml(stdout) == compose(["likelihood=probit", "inducing=50"])


def test_json_is_one_object_equal_to_the_yaml(cli: Cli) -> None:
    assert json.loads(cli("config", "--json").stdout) == yaml.safe_load(cli("config").stdout)


def test_list_names_every_group_and_choice(cli: Cli) -> None:
    lines = cli("config", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["group", *GROUPS]
    for group, line in zip(GROUPS, lines[1:], strict=True):
        assert line.split(None, 1)[1] == ", ".join(choices(group))
    assert json.loads(cli("config", "--list", "--json").stdout) == {group: choices(group) for group in GROUPS}


def test_every_option_reaches_the_configuration(cli: Cli) -> None:
    options = {
        "--preset": ("paper", "preset"),
        "--data": ("my, data's ${x}.csv", "dataset.path"),
        "--target": ("class=δ", "dataset.target"),
        "--method": ("svgp", "method.name"),
        "--likelihood": ("logit", "likelihood.name"),
        "--kernel": ("matern52+rbf", "kernel.name"),
        "-m": (7, "inducing"),
        "--batch-size": (32, "batch_size"),
        "--delta": ("optimal", "delta.mode"),
        "--iterations": (9, "iterations"),
        "--learning-rate": (0.5, "optimizer.learning_rate"),
        "--precision": ("float32", "runtime.precision"),
        "--device": ("cpu", "runtime.device"),
        "--protocol": ("paper", "protocol"),
        "--split": (3, "split"),
        "--seed": (4, "seed"),
        "--out": ("a folder", "out"),
    }
    given = [text for option, (value, _) in options.items() for text in (option, value)]
    config = json.loads(cli("config", "--json", "--ard", *given).stdout)
    for value, key in options.values():
        found = config
        for part in key.split("."):
            found = found[part]
        assert found == value, key
    assert config["kernel"]["ard"] is True
    assert config["dataset"]["name"] == "file"


def test_a_raw_override_beats_an_option(cli: Cli) -> None:
    assert (
        json.loads(cli("config", "--json", "likelihood=step", "--likelihood", "logit").stdout)["likelihood"]["name"]
        == "step"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--likelihood", "sofmax"], "unknown likelihood 'sofmax'; did you mean 'softmax'"),
        (["--dataset", "wave"], "unknown dataset 'wave'; did you mean 'waveform'"),
        (["--kernel", "rfb"], "unknown kernel 'rfb'; did you mean 'rbf'?"),
        (["--delta", "-0.1"], "unknown delta '-0.1'"),
        (["--preset", "quick"], "unknown preset 'quick'"),
        (["--precision", "float16"], "runtime.precision must be mixed, float64 or float32, not 'float16'"),
        (["--inducing", "many"], "inducing must be a whole number, not 'many'"),
        (["--inducing", "-3"], "inducing must be at least 1, not -3"),
        (["--learning-rate", "nan"], "optimizer.learning_rate must be finite and greater than 0, not nan"),
        (["--data", "x.csv"], "--data needs --target COLUMN"),
        (["--target", "y"], "--target 'y' needs --data FILE"),
        (["--data", "x.csv", "--target", "y", "--dataset", "adult"], "--data and --dataset adult name two data sets"),
        (["optimizer.lr=1"], "did you mean optimizer.learning_rate?"),
        (["delta.value=-0.1"], "delta.value must be greater than 0 and less than 1, not -0.1"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_two(cli: Cli, arguments: list[str], words: str) -> None:
    code, stdout, stderr = cli("config", *arguments)
    assert (code, stdout) == (2, "")
    assert stderr.startswith("gpcnoise: error: ")
    assert stderr.count("\n") == 1
    assert words in stderr


def test_help_names_the_true_defaults(cli: Cli) -> None:
    """The help page cannot compose, so its defaults are words; they must stay those of conf/."""
    config = compose()
    options = {
        "dataset": config.dataset.name,
        "protocol": config.protocol,
        "split": config.split,
        "likelihood": config.likelihood.name,
        "kernel": config.kernel.name,
        "inducing": config.inducing,
        "preset": config.preset,
        "batch_size": config.batch_size,
        "seed": config.seed,
        "precision": config.runtime.precision,
        "device": config.runtime.device,
    }
    import typer

    command = typer.main.get_command(app).commands["config"]  # type: ignore[attr-defined]
    helps = {parameter.name: parameter.help for parameter in command.params}
    for name, default in options.items():
        assert f"Default: {default}" in helps[name]


@pytest.mark.parametrize(
    ("option", "group"), [("dataset", "dataset"), ("likelihood", "likelihood"), ("preset", "preset")]
)
def test_shell_completion_offers_the_choices(
    option: str, group: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("_GPCNOISE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"gpcnoise config --{option} ")
    monkeypatch.setenv("COMP_CWORD", "3")
    code, stdout, _ = cli()
    assert code == 0
    assert stdout.split() == choices(group)


def test_shell_completion_imports_nothing_heavy() -> None:
    program = "import sys; from gpcnoise_cli.cli.main import main; main([]); "
    program += "sys.exit(any(name in sys.modules for name in ('tensorflow', 'hydra', 'omegaconf', 'numpy')))"
    words = {"_GPCNOISE_COMPLETE": "complete_bash", "COMP_WORDS": "gpcnoise config --precision ", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **words}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["float32", "float64", "mixed"])


def test_a_command_may_not_declare_a_training_option_again() -> None:
    def command(overrides: list[str], seed: int = 0) -> None: ...

    with pytest.raises(TypeError, match="seed"):
        with_train_options(command)


def test_nothing_asked_gives_no_override() -> None:
    assert overrides_for({}) == []
