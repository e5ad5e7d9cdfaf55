"""From the parameters of the estimator to the configuration of a training run, and back.

The values behind a parameter that is None are those of `conf/`, so the estimator and `gpcnoise train` start from the
same settings. The number of inducing points and the batch size depend on the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.compare import differences
from gpcnoise_cli.config.options import PARAMETERS
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.config.schema import IN_MEMORY, TrainConfig
from gpcnoise_cli.errors import GpcnoiseError

AUTO = "auto"
# Automatic number of inducing points: this many, one more for every so many rows, up to the command line's default. On
# small sets it predicts as all rows do (`gpcnoise bench classifiers`), at a fraction of their cubic cost.
LEAST_INDUCING, ROWS_PER_INDUCING, MOST_INDUCING = 50, 6, 300
# Up to this many rows a step takes all of them, without minibatch noise; beyond, this many.
FULL_BATCH, BATCH = 2048, 1024
# Fewer rows than this do not tell one lengthscale from another: by five folds on wine, iris and breast-cancer (150 to
# 569 rows) one for all is more often right on all three, and has the lower nll on two. The sets that preset fast was
# chosen on begin at 4,400 rows.
LEAST_FOR_ARD = 2000
# Rows that are searched for repetitions before all of them are.
SAMPLE = 20_000
TARGET = "class"
# Settings of data from files, besides those of `dataset`; splits and folds are scikit-learn's affair.
OF_FILES = ("folds", "split", "protocol")
# What else of a configuration is a setting of the model; the rest is of the data, or depends on them.
_SECTIONS = ("method.", "likelihood.", "kernel.", "delta.", "optimizer.", "runtime.")


def settings(parameters: Mapping[str, Any], seed: int) -> TrainConfig:
    """The configuration for the estimator's parameters; inducing points and batch size are settled later."""
    wanted = [
        assign(option.key, _plain(parameters[name], name))
        for name, option in PARAMETERS.items()
        if parameters.get(name) is not None
    ]
    file = ["dataset=file", assign("dataset.path", IN_MEMORY), f"dataset.target={TARGET}"]
    try:
        config = _composed((*file, *wanted, *(str(one) for one in parameters.get("overrides") or ())))
    except GpcnoiseError as error:
        raise ValueError(str(error)) from error
    for key, value in differences(config, _composed(tuple(file))).items():
        if key.startswith("dataset.") or key in OF_FILES:
            raise ValueError(f"{key}={value} says how a file is read or split, and arrays come as they are; omit it.")
    return replace(config, seed=seed)


@lru_cache(maxsize=32)
def _composed(overrides: tuple[str, ...]) -> TrainConfig:
    """Composing takes longer than a step of training, and a grid search asks for the same settings again and again."""
    from gpcnoise_cli.config.compose import compose

    return compose(overrides)


def number_of_inducing(X: NDArray[np.floating], asked: int | str) -> int:
    """Never more inducing points than different rows: copies would make their kernel matrix singular."""
    automatic = min(LEAST_INDUCING + len(X) // ROWS_PER_INDUCING, MOST_INDUCING)
    most = automatic if asked == AUTO else _count(asked, "inducing")
    return min(most, _distinct_rows(X, most))


def rows_per_step(n: int, asked: int | str) -> int:
    """The batch size for n training rows."""
    return (n if n <= FULL_BATCH else BATCH) if asked == AUTO else min(_count(asked, "batch_size"), n)


def usual_ard(preset: str, n: int) -> bool | None:
    """Whether there is a lengthscale per feature if nobody says; None: as the preset has it."""
    return False if preset == "fast" and n < LEAST_FOR_ARD else None


def _distinct_rows(X: NDArray[np.floating], enough: int) -> int:
    """The number of different rows, or some number of at least `enough`."""
    for rows in (X[:SAMPLE], X):
        found = len(np.unique(rows, axis=0))
        if found >= enough or len(rows) == len(X):
            break
    return found


def parameters_of(config: TrainConfig) -> dict[str, Any]:
    """The estimator's parameters that give `config` again: those that it has names for, the rest as overrides."""
    from gpcnoise_cli.config.compare import differences

    parameters = {name: option.value_in(config) for name, option in PARAMETERS.items()}
    left = differences(config, settings(parameters, config.seed))
    chosen = {key: value for key, value in left.items() if key == "optimizer.name"}
    rest = {key: value for key, value in left.items() if key.startswith(_SECTIONS) and key not in chosen}
    overrides = [f"{key.removesuffix('.name')}={name}" for key, name in chosen.items()]
    return {
        **parameters,
        "overrides": (*overrides, *(assign(key, value) for key, value in rest.items())),
        "inducing": config.inducing,
        "batch_size": config.batch_size,
        "random_state": config.seed,
    }


def seed_from(random_state: Any) -> int:
    """A seed from what scikit-learn calls a random state; a number is its own seed."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, int | np.integer) and 0 <= random_state < 2**31:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be 'auto' or a whole number of at least 1, not {value!r}.")
    return int(value)


def _plain(value: Any, name: str) -> bool | int | float | str:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"{name} must be a text or a number, not {value!r}.")
    return value


def feature_columns(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """Names of the columns of X: its own, or x0, x1, …"""
    return tuple(str(name) for name in names) if names is not None else tuple(f"x{j}" for j in range(d))
