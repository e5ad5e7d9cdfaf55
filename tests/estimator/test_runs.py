"""Run folders and estimators are two forms of one model: what either predicts, the other does too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

from gpcnoise_cli import GPCNoiseClassifier
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.estimator.settings import parameters_of, settings

Cli = Callable[..., Any]
QUICK = {"inducing": 8, "iterations": 30, "random_state": 0}


@pytest.fixture
def flowers() -> tuple[pd.DataFrame, np.ndarray]:
    loaded = load_iris(as_frame=True)
    return loaded.data, loaded.target_names[loaded.target]


@pytest.mark.parametrize(
    "options",
    [{}, pytest.param({"likelihood": "probit", "kernel": "matern52+rbf", "ard": True}, marks=pytest.mark.slow)],
)
def test_a_saved_estimator_predicts_on_the_command_line(
    options: dict[str, Any], cli: Cli, flowers: Any, tmp_path: Path
) -> None:
    X, y = flowers
    clf = GPCNoiseClassifier(**QUICK, **options).fit(X, y)
    assert clf.save_run(tmp_path / "run") == tmp_path / "run"
    X.assign(**{"class": y}).to_csv(tmp_path / "table.csv", index=False)
    outcome = cli("predict", tmp_path / "run", "--data", tmp_path / "table.csv", "--out", tmp_path / "p.csv")
    assert outcome.code == 0, outcome.stderr
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert predicted.columns.tolist() == ["class", "p(setosa)", "p(versicolor)", "p(virginica)"]
    assert_allclose(predicted.iloc[:, 1:], clf.predict_proba(X), atol=2e-4)  # float32 blocks there, float64 here
    scored = json.loads(cli("evaluate", tmp_path / "run", "--data", tmp_path / "table.csv", "--json").stdout)
    assert scored["acc"] == pytest.approx(100 * clf.score(X, y))

    outcome = cli("evaluate", tmp_path / "run")
    assert outcome.code == 1
    assert "fitted from arrays in memory" in outcome.stderr
    again = GPCNoiseClassifier.from_run(tmp_path / "run")
    assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert again.classes_.tolist() == clf.classes_.tolist()
    assert again.feature_names_in_.tolist() == X.columns.tolist()
    assert again.n_inducing_ == 8
    assert again.delta_ == (clf.delta_ and pytest.approx(clf.delta_, rel=1e-12))
    assert_array_equal(clone(again).fit(X, y).predict_proba(X), clf.predict_proba(X))


def test_a_folder_is_not_overwritten(flowers: Any, tmp_path: Path) -> None:
    clf = GPCNoiseClassifier(inducing=3, iterations=1).fit(*flowers)
    clf.save_run(tmp_path / "run")
    with pytest.raises(GpcnoiseError, match="is not empty"):
        clf.save_run(tmp_path / "run")
    with pytest.raises(GpcnoiseError, match="no finished model"):
        GPCNoiseClassifier.from_run(tmp_path)


@pytest.mark.slow
def test_a_run_of_the_command_line_is_an_estimator(cli: Cli, tmp_path: Path) -> None:
    """With columns of text and of true and false; either the table or its numbers may be given."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"height": rng.normal(size=80), "colour": rng.choice(["red", "blue"], 80), "old": rng.random(80) > 0.5}
    )
    table["kind"] = np.where(table["height"] + (table["colour"] == "blue") > 0.5, 10, 3)
    table.to_csv(tmp_path / "table.csv", index=False)
    run = tmp_path / "run"
    outcome = cli("train", "--data", tmp_path / "table.csv", "--target", "kind", "--iterations", 30, "--out", run,
                  "-m", 8, "--likelihood", "logit", "--json", "kernel.shared=false", "kernel.lengthscale=1",
                  "optimizer=adam")  # fmt: skip
    assert outcome.code == 0, outcome.stderr
    clf = GPCNoiseClassifier.from_run(run)
    assert clf.classes_.tolist() == [3, 10]
    assert clf.feature_names_in_.tolist() == ["height", "colour=blue", "colour=red", "old"]
    assert set(clf.overrides) >= {"optimizer=adam", "kernel.shared=false"}
    cli("predict", run, "--data", tmp_path / "table.csv", "--out", tmp_path / "p.csv")
    predicted = pd.read_csv(tmp_path / "p.csv")
    p = clf.predict_proba(table)
    assert_allclose(predicted[["p(3)", "p(10)"]], p, atol=2e-4)
    numbers = np.column_stack([table["height"], table["colour"] == "blue", table["colour"] == "red", table["old"]])
    assert_array_equal(clf.predict_proba(pd.DataFrame(numbers, columns=clf.feature_names_in_)), p)
    assert_array_equal(clf.predict(table), predicted["class"])

    clf.save_run(tmp_path / "copy")
    assert cli("predict", tmp_path / "copy", "--data", tmp_path / "table.csv", "--out", tmp_path / "q.csv").code == 0
    assert (tmp_path / "q.csv").read_bytes() == (tmp_path / "p.csv").read_bytes()
    clf.set_params(warm_start=True, iterations=5).fit(
        pd.DataFrame(numbers, columns=clf.feature_names_in_), table["kind"]
    )
    assert_array_equal(clf.predict(table[:5]), predicted["class"][:5])


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_parameters_lead_to_the_same_settings_and_back(preset: str) -> None:
    asked = {
        "preset": preset,
        "likelihood": "step",
        "ard": True,
        "objective": "predictive",
        "overrides": ("kernel.lengthscale=2.5",),
    }
    config = settings(asked, seed=4)
    assert settings(parameters_of(config), seed=4) == config


def test_a_method_with_settings_leads_there_and_back(another_method: str) -> None:
    asked = {"overrides": ("method=forest", "method.settings.trees=7", "kernel.shared=null")}
    config = settings(asked, seed=4)
    assert (config.method.name, config.method.settings["trees"]) == ("forest", 7)
    assert settings(parameters_of(config), seed=4) == config
