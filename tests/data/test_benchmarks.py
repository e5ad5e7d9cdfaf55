"""Reading through bayesian_benchmarks: compared where it is installed, its manners tested on a stand-in where not."""

from __future__ import annotations

import importlib.util
import logging
import sys
import types

import numpy as np
import pytest

from gpcnoise_cli.data import load_split
from gpcnoise_cli.errors import GpcnoiseError

INSTALLED = importlib.util.find_spec("bayesian_benchmarks") is not None


@pytest.mark.skipif(not INSTALLED, reason="the package bayesian_benchmarks is not installed")
@pytest.mark.parametrize("split", [0, 5])
def test_our_arrays_are_those_of_the_package(split, real_data):
    from bayesian_benchmarks.data import get_classification_data

    theirs = get_classification_data("magic", split=split)
    for source in ("archive", "bayesian_benchmarks"):
        ours = load_split("magic", protocol="paper", split=split, source=source)
        np.testing.assert_array_equal(ours.X_train, theirs.X_train)
        np.testing.assert_array_equal(ours.X_test, theirs.X_test)
        np.testing.assert_array_equal(ours.y_train, theirs.Y_train[:, 0])


@pytest.mark.skipif(INSTALLED, reason="the package bayesian_benchmarks is installed")
def test_without_the_package_the_sentence_says_what_to_do():
    with pytest.raises(GpcnoiseError, match="bayesian_benchmarks is not installed; omit the source"):
        load_split("magic", source="bayesian_benchmarks")


class _StandIn:
    """Behaves as the package does: seeds the global generator when built, returns X and a column of classes."""

    def __init__(self, name):
        np.random.seed(0)  # noqa: NPY002

    def read_data(self):
        random = np.random.RandomState(1)
        X = np.column_stack([np.arange(1.0, 101.0), random.standard_normal((100, 10))])
        return X, random.randint(0, 2, size=(100, 1)).astype(float)


def test_reading_through_the_package_leaves_no_trace(monkeypatch):
    data = types.ModuleType("bayesian_benchmarks.data")
    data.get_classification_data = _StandIn
    monkeypatch.setitem(sys.modules, "bayesian_benchmarks", types.ModuleType("bayesian_benchmarks"))
    monkeypatch.setitem(sys.modules, "bayesian_benchmarks.data", data)
    level, state = logging.getLogger().level, np.random.get_state()[1].copy()  # noqa: NPY002
    paper = load_split("magic", protocol="paper", source="bayesian_benchmarks")
    clean = load_split("magic", source="bayesian_benchmarks")
    assert (paper.d, clean.d, paper.source, paper.y_train.dtype) == (11, 10, "bayesian_benchmarks", np.int64)
    assert logging.getLogger().level == level
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
