"""A slip in an override is answered in one sentence, in the user's terms."""

from __future__ import annotations

import pytest

from gpcnoise_cli.config.overrides import check_overrides
from gpcnoise_cli.errors import UsageError

SLIPS = {
    "likelihood=sofmax": "unknown likelihood 'sofmax'; did you mean 'softmax'",
    "dataset=magik": "did you mean 'magic'?",
    "preset=quick": "unknown preset 'quick'; choose from: fast, paper.",
    "likelihood=": "unknown likelihood ''",
    "dataset={name: x}": "unknown dataset",
    "optimizer.lr=3": "unknown key 'optimizer.lr'; did you mean optimizer.learning_rate?",
    "learning_rate=3": "did you mean optimizer.learning_rate?",
    "optimiser.learning_rate=3": "did you mean optimizer.learning_rate?",
    "likelihod=step": "did you mean likelihood?",
    "indcing=3": "did you mean inducing?",
    "steps=3": "did you mean iterations?",
    "runtime.precison=mixed": "did you mean runtime.precision?",
    "xyzzy=1": "unknown key 'xyzzy'; `gpcnoise config` prints every key",
    "hydra.run.dir=x": "unknown key 'hydra.run.dir'",
    "foo": "'foo' is not an override; write KEY=VALUE",
    "softmax": "did you mean likelihood=softmax?",
    "": "'' is not an override",
    "out=a'b": "put a value with commas, brackets, quotes",
    "out=runs/δ": "letters beyond English in single quotes",
    "inducing=abc": "inducing must be a whole number, not 'abc'.",
    "inducing=2.5": "inducing must be a whole number, not 2.5.",
    "inducing=null": "inducing must be a whole number, not null.",
    "kernel.ard=maybe": "kernel.ard must be true or false, not 'maybe'.",
    "likelihood.noise_variance=big": "likelihood.noise_variance must be a number or null, not 'big'.",
    "iterations=[1,2]": "iterations must be a whole number, not [1, 2].",
    "likelihood=step,probit": "names several values where one is needed",
    "inducing=range(1,3)": "names several values where one is needed",
    "+momentum=0.9": "unknown key 'momentum'",
    "+inducing=3": "write inducing=3 without the plus sign",
    "~inducing": "takes a key away",
    "kernel@other=rbf": "moves a group with '@'",
    "experiment=paper": "unknown key 'experiment'; did you mean preset?",
    "method=svpg": "unknown method 'svpg'; did you mean 'svgp'?",
    "method.name=svgp": "write method=CHOICE or --method CHOICE",
    "method.settings.width=3": "unknown key 'method.settings.width'",
    "likelihood.name=step": "write likelihood=CHOICE or --likelihood CHOICE",
}


@pytest.mark.parametrize("text", SLIPS)
def test_a_slip_gets_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_overrides(["seed=1", text])
    sentence = str(caught.value)
    assert SLIPS[text] in sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))


@pytest.mark.parametrize(
    "text",
    ["inducing=3", "++inducing=3", "kernel=matern52+rbf", "out=a b", "out=null", "inducing=${batch_size}", "out='a,b'"],
)
def test_what_hydra_understands_is_let_through(text: str) -> None:
    check_overrides([text])


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["method=forest", "method.settings.trees=many"], "method.settings.trees must be a whole number, not 'many'."),
        (["method=forest", "method.settings.rate=null"], "method.settings.rate must be a number, not null."),
        (["method.settings.tree=3", "method=forest"], "did you mean method.settings.trees?"),
        (["method.settings.trees=3"], "method.settings.trees belongs to method=forest, but the method is svgp"),
        (["method=forrest"], "unknown method 'forrest'; did you mean 'forest'"),
    ],
)
def test_a_slip_in_the_settings_of_a_method(another_method: str, overrides: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_overrides(overrides)
    assert words in str(caught.value)
