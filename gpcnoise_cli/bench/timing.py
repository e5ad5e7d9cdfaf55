"""Training steps, timed as every training run has them: TensorFlow set up alike, systems interleaved."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from gpcnoise_cli.bench import case, growth, interleave
from gpcnoise_cli.bench.gpytorch_client import Installation
from gpcnoise_cli.bench.steps import measure_steps
from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.runtime import prepare


def prepared(*, quick: bool) -> interleave.Effort:
    """TensorFlow set up, and how much to measure."""
    prepare(compose().runtime)
    return interleave.QUICK if quick else interleave.USUAL


def time_training(
    parts: Collection[str], gpytorch: Installation | None, told: Callable[[str], None], *, quick: bool
) -> dict[str, Any]:
    """`steps` and `growth`, whichever is asked for."""
    effort, found = prepared(quick=quick), dict[str, Any]()
    if "steps" in parts:
        found["steps"] = measure_steps(case.STANDARD_CASES, effort, gpytorch, told)
    if "growth" in parts:
        axes, rounds = (growth.QUICK_AXES, effort) if quick else (growth.AXES, growth.EFFORT)
        found["growth"] = growth.measure_growth(axes, growth.BASE, rounds, told)
    return found
