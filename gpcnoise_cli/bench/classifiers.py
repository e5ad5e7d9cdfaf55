"""`GPCNoiseClassifier` beside classifiers of scikit-learn: accuracy and nll in cross-validation, on the same folds.

All get standardised inputs and their default settings, except that scikit-learn's Gaussian process is given a kernel
whose lengthscale and variance it learns (its default keeps both at one). Each fold is filed as soon as it is measured,
and a later call measures only what is missing: on digits that Gaussian process takes minutes a fold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.bench.kept import read_kept, write_kept
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.estimator.settings import settings
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.grid.cell import digest_of

DATASETS = ("digits", "breast-cancer", "wine", "iris")
FILE = "classifiers.json"
KEPT_METRICS = ("acc", "nll", "brier", "ece", "ece_equal_mass", "auroc", "acc_at_90")
SEED = 0


@dataclass(frozen=True)
class Table:
    X: NDArray[np.float64]
    y: NDArray[np.int64]


def load_table(name: str) -> Table:
    """A data set that comes with scikit-learn."""
    if name not in DATASETS:
        raise unknown_choice("data set", name, DATASETS)
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
    return Table(np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64))


def classifiers() -> dict[str, Any]:
    """The classifiers compared, by the name that the table shows, in the order in which they are measured."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.linear_model import LogisticRegression

    from gpcnoise_cli.estimator.classifier import GPCNoiseClassifier

    return {
        "GPCNoiseClassifier": GPCNoiseClassifier(random_state=SEED),
        "LogisticRegression": LogisticRegression(max_iter=1000),
        "RandomForestClassifier": RandomForestClassifier(random_state=SEED),
        "GaussianProcessClassifier": GaussianProcessClassifier(1.0 * RBF(1.0), random_state=SEED),  # by far the slowest
    }


def measure_classifiers(
    names: Sequence[str],
    folds: int,
    folder: Path,
    machine: Mapping[str, Any],
    told: Callable[[str], None],
    *,
    fresh: bool = False,
    only_kept: bool = False,
) -> dict[str, dict[str, Any]]:
    """The records by data set and classifier; what `folder` has with the same settings is not measured again.

    With `only_kept` nothing is measured, and what is missing is left out.
    """
    tables = {name: load_table(name) for name in names}
    _check_folds(folds, tables)
    if not only_kept:
        folder.mkdir(parents=True, exist_ok=True)
    wanted: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        for label, classifier in classifiers().items():
            described = {**_described(classifier), "folds": folds, "seed": SEED}
            record = read_kept(folder / FILE).get(name, {}).get(label)
            if fresh or record is None or record["settings"] != described:
                record = {"settings": described, "machine": dict(machine)}
            done = len(record.get("acc", ()))
            if done < folds and only_kept:
                continue
            for fold, (train, test) in enumerate(_folds(table, folds)[done:], done + 1):
                told(f"{name}, {label}: fold {fold} of {folds}")
                score = _score(table, classifier, train, test)
                record = {**record, **{key: [*record.get(key, ()), value] for key, value in score.items()}}
                kept = read_kept(folder / FILE)  # anew each time: another process may have added to it meanwhile
                kept.setdefault(name, {})[label] = record
                write_kept(folder / FILE, kept)
            wanted.setdefault(name, {})[label] = record
    return wanted


def _described(classifier: Any) -> dict[str, str]:
    """What a measurement is of; ours follows `conf/`, whose values its own parameters do not show."""
    from gpcnoise_cli.estimator.classifier import GPCNoiseClassifier

    described = {"classifier": " ".join(repr(classifier).split())}
    if isinstance(classifier, GPCNoiseClassifier):
        described["digest"] = digest_of(settings(classifier.get_params(), SEED))
    return described


def _check_folds(folds: int, tables: Mapping[str, Table]) -> None:
    for name, table in tables.items():
        most = int(np.bincount(table.y).min())
        if not 2 <= folds <= most:
            raise UsageError(f"--folds {folds} is out of range; {name} can be cut into 2 to {most} folds, 5 is usual.")


def _folds(table: Table, folds: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(folds, shuffle=True, random_state=SEED).split(table.X, table.y))


def _score(
    table: Table,
    classifier: Any,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
) -> dict[str, float | None]:
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), clone(classifier))
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of optimizers that reach a limit; the scores show what it costs
        pipeline.fit(table.X[train], table.y[train])
    seconds = time.perf_counter() - began
    metrics = evaluate(pipeline.predict_proba(table.X[test]), table.y[test])
    return {**{name: getattr(metrics, name) for name in KEPT_METRICS}, "fit_seconds": seconds}
