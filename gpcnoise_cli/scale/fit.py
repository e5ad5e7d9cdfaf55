"""Fitting the constants of a step's time to what `gpcnoise bench steps` and `gpcnoise bench growth` measured.

The least sum of squared relative errors, no constant below zero. The two files may have been measured on other days
and with other work on the machine: the first says how long a step takes, the second only how that grows with its
sizes, and how much slower the machine was on its day is one more unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.scale.step_cost import Sizes, StepCost

STEPS, GROWTH = "steps.json", "growth.json"
BASE, SHARED, FLOOR = "mixed", "shared", "gemm"  # names in those files
_ROUNDS = 500


def fit(folder: Path) -> StepCost:
    """From the files of `folder`."""
    found = _read(folder / STEPS)
    steps, growth = found["steps"], _read(folder / GROWTH)["growth"]["points"]
    level = [(one, _median(one, BASE)) for one in steps]
    level += [({**one, "shared": True}, _median(one, SHARED)) for one in steps if SHARED in one["seconds_per_step"]]
    rise = [(one, _median(one, BASE)) for one in growth]
    counts = [_sizes(one).counts() for one, _ in [*level, *rise]]
    times = np.array([seconds for _, seconds in [*level, *rise]])
    constants, errors = _least_squares(np.array([list(one.values()) for one in counts]), times, len(level))
    machine = found["machine"]
    return StepCost(
        seconds=dict(zip(counts[0], constants.tolist(), strict=True)),
        factors={name: _factor(steps, name) for name in ("float64", "float32", "natgrad")},
        product_gflops=max(one["floor"]["gflops_per_second"] for one in steps),
        machine=f"{machine['cpu']}, {machine['cores']} cores",
        points=len(times),
        median_error=float(np.median(errors)),
        largest_error=float(np.max(errors)),
        command="gpcnoise bench fit",
    )


def _least_squares(counts: np.ndarray, times: np.ndarray, level: int) -> tuple[np.ndarray, np.ndarray]:
    """Constants and relative errors; the times after the first `level` are known up to a common factor."""
    from scipy.optimize import nnls

    scale, slower = counts.max(axis=0), 1.0
    for _ in range(_ROUNDS):
        known = np.concatenate([times[:level], times[level:] / slower])
        constants = nnls(counts / scale / known[:, None], np.ones(len(known)))[0] / scale
        before, slower = slower, float(np.exp(np.mean(np.log(times[level:] / (counts[level:] @ constants)))))
        if abs(slower - before) < 1e-10 * before:
            break
    return constants, np.abs(counts @ constants / known - 1)


def _sizes(one: Mapping[str, Any]) -> Sizes:
    kernels = 1 if one.get("shared", True) else one["C"]
    return Sizes(one["C"], kernels, one["inducing"], min(one["batch_size"], one["rows"]), one["d"])


def _factor(steps: list[dict[str, Any]], name: str) -> float:
    return float(np.exp(np.mean([np.log(_median(one, name) / _median(one, BASE)) for one in steps])))


def _median(one: Mapping[str, Any], name: str) -> float:
    return float(one["seconds_per_step"][name]["median"])


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        verb = path.stem
        raise UsageError(f"there is no {path}; `gpcnoise bench {verb} --out {path.parent}` makes it.") from None
    except ValueError as error:
        raise UsageError(f"{path} is damaged ({error}); measure again with `gpcnoise bench {path.stem}`.") from error
