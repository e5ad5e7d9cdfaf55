"""Every file under conf/ composes, says what its name says, and stands in the registries it belongs to."""

from __future__ import annotations

from operator import attrgetter

import pytest

from gpcnoise_cli.config.compose import compose, to_yaml
from gpcnoise_cli.config.groups import GROUPS, choices, conf_dir, name_key
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS
from gpcnoise_cli.methods.registry import METHODS

ALL_CHOICES = [(group, name) for group in GROUPS for name in choices(group)]
OWN_FILE = ["dataset.path=table.csv", "dataset.target=label"]


@pytest.mark.parametrize(("group", "name"), ALL_CHOICES, ids=[f"{group}={name}" for group, name in ALL_CHOICES])
def test_every_choice_composes_and_bears_its_name(group: str, name: str) -> None:
    config = compose([f"{group}={name}", *(OWN_FILE if name == "file" else [])])
    assert "???" not in to_yaml(config)
    if group != "runtime":
        assert attrgetter(name_key(group))(config) == name


def test_no_folder_of_the_tree_is_forgotten() -> None:
    folders = {path.name for path in conf_dir().iterdir() if path.is_dir()}
    assert folders == {*GROUPS, "preset_likelihood", "preset_method"} - {"dataset"}


@pytest.mark.parametrize("of", ["likelihood", "method"])
def test_every_specialisation_belongs_to_a_recipe_and_a_choice(of: str) -> None:
    pairs = {f"{preset}_{choice}" for preset in choices("preset") for choice in choices(of)}
    assert set(choices(f"preset_{of}")) <= pairs


def test_methods_are_those_of_the_registry() -> None:
    assert choices("method") == sorted(METHODS)


def test_likelihoods_are_those_of_the_registry() -> None:
    assert choices("likelihood") == sorted(LIKELIHOODS)


@pytest.mark.parametrize(
    ("name", "noise_variance"), [("step", 0.0), ("probit", 1.0), ("logit", 2.897), ("softmax", None)]
)
def test_noise_variance_of_each_likelihood(name: str, noise_variance: float | None) -> None:
    assert compose([f"likelihood={name}"]).likelihood.noise_variance == noise_variance
