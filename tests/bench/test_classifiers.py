"""`gpcnoise bench classifiers` and `bench memory`: the table, what is kept, and a real child process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from gpcnoise_cli.bench import classifiers
from gpcnoise_cli.bench.kept import read_kept
from gpcnoise_cli.bench.tables import classifiers_table
from gpcnoise_cli.estimator.classifier import GPCNoiseClassifier
from gpcnoise_cli.estimator.settings import settings

Cli = Callable[..., Any]


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"Dummy": DummyClassifier(strategy="uniform", random_state=0), "Logistic": LogisticRegression(max_iter=1000)}
    monkeypatch.setattr(classifiers, "classifiers", lambda: made)


@pytest.mark.usefixtures("two")
def test_the_table_says_who_is_best_and_nothing_is_measured_twice(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("bench", "classifiers", "--dataset", "iris", "--dataset", "wine", "--folds", 3, "--out", tmp_path)
    outcome = cli(*arguments)
    assert outcome.code == 0, outcome.stderr
    title, columns, _rule, *rows = outcome.stdout.splitlines()
    assert title == "3-fold cross-validation, mean ± standard error"
    assert " ".join(columns.split()) == "data set classifier acc % acc − best nll nll rank fit s"
    assert [row.split()[:2] for row in rows] == [[d, c] for d in ("iris", "wine") for c in ("Dummy", "Logistic")]
    assert [row.split()[-2] for row in rows] == ["2", "1", "2", "1"]
    assert "iris, Logistic: fold 3 of 3" in outcome.stderr

    monkeypatch.setattr(classifiers, "_score", None)
    again = json.loads(cli(*arguments, "--json").stdout)["classifiers"]
    assert again == json.loads((tmp_path / "classifiers.json").read_text())
    shown = cli("bench", "classifiers", "--folds", 3, "--out", tmp_path, "--kept")
    assert shown.code == 0, shown.stderr
    assert sorted(shown.stdout.splitlines()) == sorted(outcome.stdout.splitlines())
    dummy = again["iris"]["Dummy"]
    assert all(30 < acc < 36 for acc in dummy["acc"])
    assert dummy["nll"] == [pytest.approx(np.log(3))] * 3
    assert set(classifiers.KEPT_METRICS) < set(dummy)


def test_a_call_that_was_cut_off_continues_with_the_next_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class CutOff(LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            if len(told) == 3:
                raise KeyboardInterrupt
            return super().fit(X, y)

    monkeypatch.setattr(classifiers, "classifiers", lambda: {"Logistic": CutOff(max_iter=1000)})
    with pytest.raises(KeyboardInterrupt):
        classifiers.measure_classifiers(["iris"], 4, tmp_path, {}, told.append)
    assert classifiers.measure_classifiers(["iris"], 4, tmp_path, {}, told.append, only_kept=True) == {}
    assert classifiers_table(read_kept(tmp_path / classifiers.FILE)).rows == ()
    record = classifiers.measure_classifiers(["iris"], 4, tmp_path, {}, told.append)["iris"]["Logistic"]
    assert [text[-9:] for text in told] == [f"fold {fold} of 4"[-9:] for fold in (1, 2, 3, 3, 4)]
    whole = classifiers.measure_classifiers(["iris"], 4, tmp_path / "undisturbed", {}, lambda text: None)
    assert record["nll"] == whole["iris"]["Logistic"]["nll"]
    assert len(record["nll"]) == 4


def test_ours_is_measured_again_when_its_preset_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    ours = GPCNoiseClassifier(iterations=2, inducing=5)
    monkeypatch.setattr(classifiers, "classifiers", lambda: {"ours": ours})
    monkeypatch.setattr(classifiers, "_score", lambda *_: measured.append(1) or {"acc": 1.0, "fit_seconds": 1.0})
    for preset in ({}, {}, {"overrides": ["kernel.log_scale=false"]}):
        monkeypatch.setattr(classifiers, "settings", lambda found, seed, to=preset: settings({**found, **to}, seed))
        classifiers.measure_classifiers(["iris"], 2, tmp_path, {}, lambda text: None)
    assert len(measured) == 4  # two folds, twice


def test_all_get_the_same_standardised_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[np.ndarray]] = {"one": [], "two": []}

    class Spy(DummyClassifier):
        def __init__(self, name: str = "one") -> None:
            super().__init__()
            self.name = name

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen[self.name].append(X)
            return super().fit(X, y)

    monkeypatch.setattr(classifiers, "classifiers", lambda: {name: Spy(name) for name in seen})
    classifiers.measure_classifiers(["wine"], 2, tmp_path, {}, lambda text: None)
    for ours, theirs in zip(seen["one"], seen["two"], strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_allclose(ours.std(axis=0), 1.0)


def test_the_four_classifiers_are_what_they_are_called() -> None:
    assert all(type(classifier).__name__ == name for name, classifier in classifiers.classifiers().items())


def test_a_single_fold_has_no_standard_error() -> None:
    record = {"acc": [90.0], "nll": [0.3], "fit_seconds": [1.0], "settings": {"folds": 1}}
    (row,) = classifiers_table({"iris": {"A": record}}).rows
    assert [value.text for value in row.values[2:5]] == ["90.00", "+0.00", "0.3000"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("classifiers", "--dataset", "irish"), "did you mean 'iris'"),
        (("classifiers", "--folds", "1"), "--folds 1 is out of range"),
        (("classifiers", "--dataset", "wine", "--folds", "49"), "2 to 48 folds"),
        (("classifiers", "--kept"), "nothing is kept in"),
        (("classifiers", "--kept", "--fresh"), "choose one of them"),
        (("memory", "--rows", "3"), "3 rows by 20 columns are too few"),
    ],
)
def test_wrong_usage_is_one_sentence(options: tuple[str, ...], words: str, cli: Cli, tmp_path: Path) -> None:
    where = ("--out", tmp_path / "out") if options[0] == "classifiers" else ()
    code, stdout, stderr = cli("bench", *options, *where)
    assert (code, stdout) == (2, "")
    assert words in stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_memory_is_that_of_a_process_of_its_own(cli: Cli) -> None:
    outcome = cli("bench", "memory", "--rows", 400, "--columns", 3, "--iterations", 2, "--json")
    assert outcome.code == 0, outcome.stderr
    found = json.loads(outcome.stdout)["memory"]
    assert (found["rows"], found["columns"], found["steps"], found["inducing"]) == (400, 3, 2, 116)
    assert 100 < found["peak_mb"] < 4096


@pytest.mark.slow
def test_a_hundred_thousand_rows_fit_into_four_gigabytes() -> None:
    from gpcnoise_cli.bench.memory import measure_memory

    found = measure_memory(100_000, 20, iterations=60)
    assert found["peak_mb"] < 4096
    assert found["train_acc"] > 60
