"""The time of one training step, against stock GPflow, against GPyTorch, and against the floor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpcnoise_cli.bench.aims import compare_times
from gpcnoise_cli.bench.case import Case, synthetic
from gpcnoise_cli.bench.gpytorch_client import GPyTorch, Installation
from gpcnoise_cli.bench.interleave import Effort, interleave, ratio, spread
from gpcnoise_cli.bench.systems import Gemm, System, engine, stock

STOCK, GPYTORCH, FLOOR, SHARED = "stock", "gpytorch", "gemm", "shared"
# Name of each variant of this engine: (optimizer, precision). The first is what the claims are about.
# float32 stands beside GPyTorch, whose m×m work is in float32 as well.
ENGINES = {
    "mixed": ("adam", "mixed"),
    "float64": ("adam", "float64"),
    "float32": ("adam", "float32"),
    "natgrad": ("natgrad", "mixed"),
}


def measure_steps(
    cases: Sequence[Case],
    effort: Effort,
    gpytorch: Installation | None,
    told: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """One record per case."""
    return [_measure(case, effort, gpytorch, told) for case in cases]


def _measure(
    case: Case, effort: Effort, gpytorch: Installation | None, told_of_all: Callable[[str], None]
) -> dict[str, Any]:
    def told(text: str) -> None:
        told_of_all(f"{case.label}: {text}")

    problem = synthetic(case)
    systems: dict[str, System] = {}
    try:
        for name, (optimizer, precision) in ENGINES.items():
            told(f"compiling this engine ({name})")
            systems[name] = engine(problem, optimizer, precision)
        if not case.shared:
            told("compiling this engine with one kernel for all classes")
            systems[SHARED] = engine(replace(problem, case=replace(case, shared=True)))
        told("compiling stock GPflow")
        systems[STOCK] = stock(problem)
        if gpytorch is not None:
            told("starting GPyTorch")
            systems[GPYTORCH] = GPyTorch(problem, gpytorch)
        systems[FLOOR] = Gemm(case)
        times = interleave(systems, effort, told)
    finally:
        for system in systems.values():
            system.close()
    used = systems.get(GPYTORCH)
    others = [name for name in (STOCK, GPYTORCH) if name in times]
    return {
        **case.to_dict(),
        "seconds_per_step": {name: {**spread(taken), "rounds": taken.tolist()} for name, taken in times.items()},
        "speedup": {own: {other: ratio(times[other], times[own]) for other in others} for own in ENGINES},
        "compared": list(compare_times(times, case)),
        "over_floor": {own: ratio(times[own], times[FLOOR]) for own in ENGINES},
        "floor": {
            "flops": case.gemm_flops,
            "gflops_per_second": case.gemm_flops / spread(times[FLOOR])["median"] / 1e9,
        },
        "gpytorch_threads": used.threading if isinstance(used, GPyTorch) else None,
        "first_loss": {name: system.first_loss for name, system in systems.items() if system.first_loss is not None},
    }
