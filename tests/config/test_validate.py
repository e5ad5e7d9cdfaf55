"""Each value that is not allowed is refused by key, and every number and name has a rule."""

from __future__ import annotations

import copy
from operator import attrgetter

import pytest

from gpcnoise_cli.config import validate as rules
from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.groups import VALUES, name_key
from gpcnoise_cli.config.keys import key_types
from gpcnoise_cli.config.schema import TABLE_KEYS
from gpcnoise_cli.config.validate import validate
from gpcnoise_cli.errors import UsageError

DEFAULT = compose()

REFUSED = {
    "protocol": ["papr", ""],
    "dataset.source": ["web"],
    "dataset.test_rows": ["archve"],
    "kernel.lengthscale_start": ["long"],
    "delta.mode": ["open"],
    "delta.prior": ["gamma"],
    "runtime.precision": ["float16"],
    "runtime.device": ["tpu"],
    "runtime.devices": ["0", "-1", "1.5", "two", ""],
    "preset": ["quick"],
    "objective": ["evidence"],
    "optimizer.name": ["sgd"],
    "method.name": ["svpg"],
    "likelihood.bound": ["gaussian", "jaakkola"],
    "inducing": [0, -1],
    "batch_size": [0],
    "iterations": [0],
    "split": [-1],
    "seed": [-1, 2**31],
    "dataset.test_fraction": [1.0, -0.1],
    "dataset.calibration": [1.0, -0.1],
    "folds": [1, -2],
    "likelihood.noise_variance": [1.0, -1.0],
    "likelihood.quadrature_points": [1, 201],
    "likelihood.prediction_draws": [0],
    "kernel.lengthscale": [0.0],
    "kernel.variance": [0.0],
    "delta.value": [-0.1, 0.0, 1.0, float("nan")],
    "optimizer.learning_rate": [0.0, -1.0, float("inf"), float("nan")],
    "optimizer.inducing_rate_factor": [-1.0],
    "optimizer.natural_step": [0.0, 1.5],
    "optimizer.natural_ramp": [-1],
    "runtime.threads": [-1, 100_000],
    "runtime.jitter": [0.0],
    "runtime.eval_every": [-1],
    "runtime.checkpoint_seconds": [-1.0],
    "runtime.chunk_rows": [0],
    "out": [" "],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in REFUSED.items() for value in values])
def test_a_value_that_is_not_allowed_is_named(key: str, value: object) -> None:
    config = copy.deepcopy(DEFAULT)
    *sections, leaf = key.split(".")
    node: object = config
    for section in sections:
        node = getattr(node, section)
    setattr(node, leaf, value)
    with pytest.raises(UsageError) as caught:
        validate(config)
    assert str(caught.value).startswith(f"{key} ")
    assert key == "out" or repr(value) in str(caught.value)


def test_every_number_and_every_text_has_a_rule() -> None:
    numbers = {key for key, hint in key_types().items() if "int" in str(hint) or "float" in str(hint)}
    assert numbers == {rule.key for rule in rules._NUMBERS}
    free_texts = {
        "dataset.path",
        "dataset.target",
        "out",
        "class_weight",
        *(f"dataset.{key}" for key in TABLE_KEYS if key not in ("missing", "categories")),
    }
    texts = {key for key, hint in key_types().items() if "str" in str(hint)} - free_texts
    assert texts == {*VALUES, *map(name_key, rules._NAMING), "likelihood.bound", "runtime.devices"}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["dataset=file"], "dataset=file needs dataset.path; give --data FILE."),
        (["dataset=file", "dataset.path=x.csv"], "give --target COLUMN"),
        (["dataset.path=x.csv"], "belongs to dataset=file"),
        (["dataset=adult", "dataset.target=x"], "belongs to dataset=file"),
        (
            ["dataset=adult", "dataset.drop=[x]"],
            "dataset.drop belongs to a file of your own, but the dataset is 'adult'",
        ),
        (["dataset=adult", "dataset.categories=column"], "dataset.categories belongs to a file of your own"),
        (["dataset=file", "dataset.path=x", "dataset.target=y", "dataset.treat=[x]"], "--treat takes COLUMN=KIND"),
        (["dataset=file", "dataset.path=x", "dataset.target=y", "dataset.treat=['x=numbr']"], "did you mean x=number?"),
        (
            ["dataset=letter", "dataset.test_rows=archive"],
            "needs a set with a test file, adult, pendigits, statlog-landsat, statlog-shuttle or thyroid, not 'letter'",
        ),
        (["dataset=adult", "dataset.test_rows=archive", "dataset.test_fraction=0.2"], "test_fraction=0.2 does not go"),
        (["dataset=adult", "dataset.test_rows=archive", "dataset.source=bayesian_benchmarks"], "does not go with"),
        (["likelihood=step", "likelihood.bound=tilted"], "likelihood.bound must be gaussian for step, not 'tilted'"),
        (["likelihood=step", "likelihood.noise_variance=null"], "must be a number of at least 0 for step"),
        (["likelihood=probit", "likelihood.noise_variance=-1"], "must be at least 0, not -1.0"),
        (["method=selu", "runtime.devices=2"], "method=selu trains on one device; leave out runtime.devices=2"),
        (["delta.value=-0.1"], "delta.value must be greater than 0 and less than 1, not -0.1"),
    ],
)
def test_what_does_not_belong_together_is_refused(overrides: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        compose(overrides)
    assert words in str(caught.value)


@pytest.mark.parametrize("chosen", [[], ["preset=paper"], ["likelihood=logit"], ["preset=paper", "likelihood=probit"]])
@pytest.mark.parametrize("rule", rules._NUMBERS, ids=lambda rule: rule.key)
def test_the_hint_names_the_default(rule: rules._Rule, chosen: list[str]) -> None:
    config = compose(chosen)
    usual = attrgetter(rule.key)(config)
    *sections, leaf = rule.key.split(".")
    node = attrgetter(".".join(sections))(config) if sections else config
    setattr(node, leaf, -1e9)
    with pytest.raises(UsageError) as told:
        validate(config)
    assert str(told.value).endswith("omit it for the usual one." if usual is None else f"={usual:g} is usual.")
