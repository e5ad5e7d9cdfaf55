"""Table I is found out: by building every likelihood, and by training every method."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpcnoise_cli.figures.capabilities import (
    KINDS,
    PRINTED,
    CapabilitiesResult,
    here_name,
    likelihood_kind,
    reported_likelihood,
    trains,
    works,
)
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, paper_likelihoods
from gpcnoise_cli.methods.registry import METHODS


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("augmented", {2: "logit", 3: "softmax"}),
        ("probit_quadrature", {2: "probit"}),
        ("logit_quadrature", {2: "logit"}),
        ("softmax_sampled", {3: "softmax"}),
        ("dirichlet", {2: "softmax", 3: "softmax"}),
        ("step", {2: "step", 3: "step"}),
    ],
)
def test_a_likelihood_is_known_by_its_probabilities(name: str, kinds: dict[int, str]) -> None:
    fitting = [classes for classes in KINDS.values() if LIKELIHOODS[name].fits(classes)]
    assert {classes: likelihood_kind(name, classes) for classes in fitting} == kinds
    assert all(works(name, classes) for classes in fitting)


def test_another_method_says_what_its_likelihood_is_and_a_network_has_none() -> None:
    assert [reported_likelihood("ep", classes) for classes in (2, 3)] == ["probit", "step"]
    assert reported_likelihood("selu", 2) is None


@pytest.mark.slow  # some methods take long to compile
@pytest.mark.parametrize("method", [name for name in METHODS if name != "svgp"])
@pytest.mark.parametrize("classes", KINDS.values())
def test_every_method_is_trained_for_a_step(method: str, classes: int) -> None:
    assert not METHODS[method].fits(classes) or trains(method, classes)


def test_what_is_not_as_printed_is_said() -> None:
    names = paper_likelihoods()
    bounds = {name: LIKELIHOODS[name].bounds for name in names}
    full = dict.fromkeys(names, "bm")
    rows = {"gpcnoise": full, here_name("GPCep"): PRINTED["GPCep"], here_name("GPCaug"): full}
    result = CapabilitiesResult(names, {**PRINTED, **rows}, bounds)
    assert result.findings()[-1] == "Handled here as printed: GPCep; otherwise: GPCaug; not here: ORTH."
    less = replace(result, cells={**result.cells, "gpcnoise": {**full, "logit": "b"}})
    assert "All of the paper's likelihoods work here but logit" in less.findings()[0]
