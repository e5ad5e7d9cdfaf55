"""The methods by name. Read for help and completion, so nothing heavy is imported until a method is loaded.

A new method is one file, one line here and one file in `conf/method`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from gpcnoise_cli.config.schema import SVGP
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, LikelihoodSpec, likelihood_spec
from gpcnoise_cli.runtime import load_tensorflow

if TYPE_CHECKING:
    from gpcnoise_cli.config.schema import TrainConfig
    from gpcnoise_cli.data.split import Split
    from gpcnoise_cli.methods.base import Method


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
    likelihood: str | None = None
    """What its likelihood is, where it has one of its own and that of the configuration does not count."""
    weights: bool = False
    """Whether its rows may have weights."""
    from_disk: bool = False
    """Whether it can be trained on rows that are read from disk, block by block."""

    def fits(self, num_classes: int) -> bool:
        return self.binary if num_classes == 2 else self.multiclass

    def load(self) -> Method:
        load_tensorflow()
        return cast("Method", importlib.import_module(self.module).METHOD)


METHODS: dict[str, MethodSpec] = {
    spec.name: spec
    for spec in (
        MethodSpec(
            SVGP,
            None,
            "the paper's sparse variational GP, with a choice of likelihood",
            f"{__package__}.svgp",
            weights=True,
            from_disk=True,
        ),
        MethodSpec(
            "ep",
            "GPCep",
            "FITC expectation propagation, a site per row",
            f"{__package__}.ep",
            likelihood="the probit for two classes, the step for more",
        ),
        MethodSpec(
            "orth",
            "ORTH",
            "the SVGP on orthogonally decoupled bases (Salimbeni et al., 2018)",
            f"{__package__}.orth",
            likelihood="the probit for two classes, the step for more",
            from_disk=True,
        ),
        MethodSpec("selu", "Selu", "a self-normalising network (Klambauer et al., 2017)", f"{__package__}.selu"),
    )
}


def method_spec(name: str) -> MethodSpec:
    """The entry for `name`, or a usage error that lists the names there are."""
    if name not in METHODS:
        raise unknown_choice("method", name, METHODS)
    return METHODS[name]


def method_of(config: TrainConfig) -> Method:
    return method_spec(config.method.name).load()


def check_method(config: TrainConfig, split: Split) -> None:
    """Refuse weights where the method knows none."""
    if split.weights is not None and not method_spec(config.method.name).weights:
        raise UsageError(f"method={config.method.name} knows no weights; omit them, or take another method.")


def variants() -> dict[str, LikelihoodSpec | MethodSpec]:
    """All that can be trained, by what it is called in one word: the likelihoods of the SVGP, then other methods."""
    return {**LIKELIHOODS, **{name: spec for name, spec in METHODS.items() if name != SVGP}}


def choosing(variant: str) -> dict[str, str]:
    """The override that chooses a variant."""
    return {"likelihood" if variant in LIKELIHOODS else "method": variant}


def variant_of(config: TrainConfig) -> str:
    """What is trained, in one word: the likelihood of an SVGP, or the name of another method."""
    return config.likelihood.name if config.method.name == SVGP else config.method.name


def label_of(config: TrainConfig) -> str:
    """What tables call it."""
    return method_spec(config.method.name).label or likelihood_spec(config.likelihood.name).label
