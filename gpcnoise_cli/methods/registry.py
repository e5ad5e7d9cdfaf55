"""The methods by name: what each is, what tables call it, and where its code is.

Read for help and for the plan of a grid, so it imports nothing: `load` names the class, which is imported when a model
is fitted. A new method is one file, one line here and one file in `conf/method`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MethodSpec:
    """What is known of a method before it is loaded."""

    name: str
    label: str
    """What tables call it; the SVGP's columns are called by its likelihoods instead."""
    summary: str
    binary: bool
    multiclass: bool
    load: str
    """`module:class`."""


METHODS: dict[str, MethodSpec] = {
    spec.name: spec
    for spec in (
        MethodSpec(
            "svgp", "SVGP", "sparse variational Gaussian process", True, True, "gpcnoise_cli.methods.svgp:SvgpMethod"
        ),
    )
}
