"""The methods by name. Read for help and completion, so nothing heavy is imported until a method is loaded.

A new method is one file, one line here and one file in `conf/method`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpcnoise_cli.config.schema import SVGP

if TYPE_CHECKING:
    from gpcnoise_cli.config.schema import TrainConfig


@dataclass(frozen=True)
class MethodSpec:
    """What is known of a method before it is loaded."""

    name: str
    label: str | None
    """The column of tables; None where the likelihood names it."""
    summary: str
    module: str
    binary: bool = True
    multiclass: bool = True


METHODS: dict[str, MethodSpec] = {
    spec.name: spec
    for spec in (
        MethodSpec(SVGP, None, "the paper's sparse variational GP, with a choice of likelihood", f"{__package__}.svgp"),
    )
}


def variant_of(config: TrainConfig) -> str:
    """What is trained, in one word: the likelihood of an SVGP, or the name of another method."""
    return config.likelihood.name if config.method.name == SVGP else config.method.name
