"""The values a configuration may hold: choices, ranges, and what belongs together.

The schema fixes names and types; this module fixes values. Each rule is one row of a table, and a value that breaks it
gives one sentence with the key, the value, what is allowed, and a value that works.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from gpcnoise_cli.config.groups import GROUPS, VALUES, choices, either, name_key
from gpcnoise_cli.config.schema import SVGP, TABLE_KEYS, DatasetConfig, TrainConfig
from gpcnoise_cli.data.registry import DATASETS, TREATMENTS
from gpcnoise_cli.errors import UsageError, nearest
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS


@dataclass(frozen=True)
class _Rule:
    key: str
    allows: Callable[[Any], bool]
    words: str


def _at_least(key: str, low: float) -> _Rule:
    return _Rule(key, lambda value: value >= low, f"at least {low:g}")


def _positive(key: str) -> _Rule:
    return _Rule(key, lambda value: value > 0, "greater than 0")


def _between(key: str, low: float, high: float) -> _Rule:
    return _Rule(key, lambda value: low <= value <= high, f"between {low:.10g} and {high:.10g}")


def _inside(key: str) -> _Rule:
    return _Rule(key, lambda value: 0 < value < 1, "greater than 0 and less than 1")


def _part(key: str) -> _Rule:
    return _Rule(key, lambda value: 0 < value <= 1, "greater than 0 and at most 1")


_NUMBERS = (
    _at_least("inducing", 1),
    _at_least("batch_size", 1),
    _at_least("iterations", 1),
    _at_least("split", 0),
    # TensorFlow's stateless random operations take 32-bit seeds.
    _between("seed", 0, 2**31 - 1),
    _Rule("dataset.test_fraction", lambda value: 0 <= value < 1, "at least 0 and less than 1"),
    _Rule("dataset.calibration", lambda value: 0 <= value < 1, "at least 0 and less than 1"),
    _Rule("folds", lambda value: value == 0 or value >= 2, "at least 2 (or 0, for none)"),
    _Rule("dataset.holdout", lambda value: 0 <= value < 1, "at least 0 and less than 1"),
    _at_least("likelihood.noise_variance", 0),
    _between("likelihood.quadrature_points", 2, 200),
    _Rule("likelihood.squash", lambda value: 0 <= value < 0.5, "at least 0 and less than 0.5"),
    _at_least("likelihood.prediction_draws", 1),
    _positive("likelihood.alpha_epsilon"),
    _positive("kernel.lengthscale"),
    _positive("kernel.variance"),
    _at_least("kernel.few_classes", 0),
    _between("kernel.apart", 0, 1),
    _inside("delta.value"),
    _positive("optimizer.learning_rate"),
    _at_least("optimizer.inducing_rate_factor", 0),
    _part("optimizer.natural_step"),
    _at_least("optimizer.natural_ramp", 0),
    _inside("optimizer.beta_2"),
    _positive("optimizer.longest_mean_step"),
    _at_least("optimizer.warm_up", 0),
    _part("optimizer.delta_start"),
    _part("optimizer.delta_rate"),
    _part("optimizer.delta_settling"),
    _part("optimizer.cycle_fall"),
    _at_least("optimizer.cycle", 0),
    _at_least("optimizer.cycle_growth", 1),
    _at_least("optimizer.tolerance", 0),
    _between("runtime.threads", 0, 1024),
    _positive("runtime.jitter"),
    _at_least("runtime.eval_every", 0),
    _at_least("runtime.checkpoint_seconds", 0),
    _at_least("runtime.chunk_rows", 1),
)

# Groups whose choice is recorded by name; a saved configuration edited by hand may hold other names.
_NAMING = tuple(group for group in GROUPS if group not in ("delta", "runtime"))


def validate(config: TrainConfig) -> None:
    """Raise a UsageError for the first value that is not allowed."""
    for group in _NAMING:
        _check_choice(config, name_key(group), tuple(choices(group)))
    for key, values in VALUES.items():
        _check_choice(config, key, values)
    for rule in _NUMBERS:
        _check_number(config, rule)
    _check_likelihood(config)
    _check_file(config)
    _check_test_rows(config)
    _check_devices(config)
    if config.folds and (config.dataset.calibration or config.dataset.holdout):
        key = "calibration" if config.dataset.calibration else "holdout"
        raise UsageError(f"folds={config.folds} holds every training row out once; omit dataset.{key}.")
    _check_storage(config)
    if config.out is not None and not config.out.strip():
        raise UsageError("out is empty; give the run folder a name, such as out=runs/first, or omit it.")


def _check_choice(config: TrainConfig, key: str, values: tuple[str, ...]) -> None:
    value = attrgetter(key)(config)
    if value not in values:
        close = nearest(value, values, most=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise UsageError(f"{key} must be {either(values)}, not {value!r}{hint}.")


def _check_number(config: TrainConfig, rule: _Rule) -> None:
    value = attrgetter(rule.key)(config)
    if value is not None and not (math.isfinite(value) and rule.allows(value)):
        words = rule.words if math.isfinite(value) else f"finite and {rule.words}"
        raise UsageError(f"{rule.key} must be {words}, not {value!r}; {_advice(config, rule.key)}.")


def _advice(config: TrainConfig, key: str) -> str:
    """The value that this preset and likelihood have without being told."""
    usual = attrgetter(key)(_untold(config.preset, config.likelihood.name))
    return "omit it for the usual one" if usual is None else f"{key}={usual:g} is usual"


@cache
def _untold(preset: str, likelihood: str) -> TrainConfig:
    from gpcnoise_cli.config.compose import compose

    return compose([f"preset={preset}", f"likelihood={likelihood}"])


def _check_likelihood(config: TrainConfig) -> None:
    likelihood, spec = config.likelihood, LIKELIHOODS[config.likelihood.name]
    if likelihood.bound not in spec.bounds:
        others = [name for name, other in LIKELIHOODS.items() if likelihood.bound in other.bounds]
        hint = f"; {likelihood.bound} belongs to likelihood={' or '.join(others)}" if others else ""
        raise UsageError(
            f"likelihood.bound must be {either(spec.bounds)} for {spec.name}, not {likelihood.bound!r}{hint}."
        )
    if config.objective not in spec.objectives:
        raise UsageError(f"objective must be {either(spec.objectives)} for {spec.name}, not {config.objective!r}.")
    if spec.noise_variance is None and likelihood.noise_variance is not None:
        raise UsageError(
            f"likelihood.noise_variance must be null for {spec.name}, whose noise is not Gaussian, not "
            f"{likelihood.noise_variance!r}; choose likelihood=probit to set a Gaussian noise variance."
        )
    if spec.noise_variance is None and likelihood.squash:
        raise UsageError(
            f"likelihood.squash must be 0 for {spec.name}, which has no product of CDFs, not {likelihood.squash!r}."
        )
    if spec.noise_variance is not None and likelihood.noise_variance is None:
        raise UsageError(
            f"likelihood.noise_variance must be a number of at least 0 for {spec.name}, not null; "
            "omit it for the usual one."
        )


def _check_devices(config: TrainConfig) -> None:
    devices = config.runtime.devices
    if devices != "all" and not (devices.isascii() and devices.isdigit() and int(devices) > 0):
        raise UsageError(
            f"runtime.devices must be a whole number from 1 up, or all, not {devices!r}; runtime.devices=1 is usual."
        )
    if devices != "1" and config.method.name != SVGP:
        raise UsageError(f"method={config.method.name} trains on one device; leave out runtime.devices={devices}.")


def _check_storage(config: TrainConfig) -> None:
    option = needing_memory(config)
    if config.dataset.storage == "disk" and option is not None:
        raise UsageError(
            f"{option} needs all training rows in memory, but dataset.storage=disk leaves them on disk; omit {option}, "
            "or take dataset.storage=memory."
        )


def needing_memory(config: TrainConfig) -> str | None:
    """The first option that needs all training rows in memory; None where nothing does."""
    from gpcnoise_cli.methods.registry import METHODS

    asked = {
        f"--method {config.method.name}": not METHODS[config.method.name].from_disk,
        "--weights": config.dataset.weights is not None,
        "--class-weight": config.class_weight is not None,
        "--calibration-rows": config.dataset.calibration > 0,
        "--folds": config.folds > 0,
    }
    return next((option for option, is_asked in asked.items() if is_asked), None)


def _check_file(config: TrainConfig) -> None:
    dataset = config.dataset
    if dataset.name == "file":
        for key, option in (("path", "--data FILE"), ("target", "--target COLUMN")):
            if not getattr(dataset, key):
                raise UsageError(f"dataset=file needs dataset.{key}; give {option}.")
        for text in dataset.treat:
            _check_treatment(text)
        return
    for key in TABLE_KEYS:
        if getattr(dataset, key) != getattr(DatasetConfig(), key):
            raise UsageError(
                f"dataset.{key} belongs to a file of your own, but the dataset is {dataset.name!r}; "
                "give --data FILE --target COLUMN, or omit it."
            )
    for key in ("path", "target"):
        value = getattr(dataset, key)
        if value is not None:
            raise UsageError(
                f"dataset.{key}={value!r} belongs to dataset=file, but the dataset is {dataset.name!r}; "
                f"give --data FILE --target COLUMN, or omit it."
            )


def _check_test_rows(config: TrainConfig) -> None:
    dataset = config.dataset
    if dataset.test_rows == "random":
        return
    with_file = [name for name, spec in DATASETS.items() if spec.has_test_file]
    if dataset.name not in with_file:
        raise UsageError(
            f"dataset.test_rows={dataset.test_rows} needs a set with a test file, {either(with_file)}, not "
            f"{dataset.name!r}; omit it."
        )
    for key, usual in (("source", ("auto", "archive")), ("test_fraction", (DatasetConfig().test_fraction,))):
        value = getattr(dataset, key)
        if value not in usual:
            option = f"folds={config.folds}" if config.folds and key == "test_fraction" else f"dataset.{key}={value}"
            raise UsageError(f"{option} does not go with dataset.test_rows={dataset.test_rows}; omit one of them.")


def _check_treatment(text: str) -> None:
    column, equals, kind = text.rpartition("=")
    if not column or not equals or kind not in TREATMENTS:
        close = nearest(kind, TREATMENTS, most=1) if column else []
        hint = f" (did you mean {column}={close[0]}?)" if close else ""
        raise UsageError(f"--treat takes COLUMN=KIND, and KIND is {either(TREATMENTS)}, not {text!r}{hint}.")
