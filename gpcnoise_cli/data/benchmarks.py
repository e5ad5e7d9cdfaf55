"""Reading through the package `bayesian_benchmarks` where it is installed and asked for.

It is not on the package index, reads its own copy of the archive, seeds NumPy's global generator and raises the level
of the root logger; the last two are undone here.
"""

from __future__ import annotations

import logging

import numpy as np

from gpcnoise_cli.data.delgado import archive_table
from gpcnoise_cli.data.registry import DatasetSpec
from gpcnoise_cli.data.split import Table
from gpcnoise_cli.errors import GpcnoiseError


def read_benchmark_set(spec: DatasetSpec, *, row_number: bool) -> Table:
    """The whole set as the package reads it, before its own scaling."""
    level, state = logging.getLogger().level, np.random.get_state()  # noqa: NPY002
    try:
        try:
            from bayesian_benchmarks.data import get_classification_data
        except ImportError as error:
            raise GpcnoiseError(
                "the package bayesian_benchmarks is not installed; omit the source (the reader here gives the "
                "same arrays) or install it from github.com/hughsalimbeni/bayesian_benchmarks."
            ) from error
        try:
            X, Y = get_classification_data(spec.name).read_data()
        except (OSError, KeyError) as error:
            raise GpcnoiseError(f"bayesian_benchmarks could not read {spec.name!r} ({error}).") from error
    finally:
        logging.getLogger().setLevel(level)
        np.random.set_state(state)  # noqa: NPY002
    return archive_table(X, Y[:, 0], spec, row_number=row_number, source="bayesian_benchmarks")
