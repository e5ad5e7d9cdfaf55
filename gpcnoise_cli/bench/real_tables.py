"""`gpcnoise train` on real tables as they are, beside three classifiers of scikit-learn on the same rows.

All see the columns as `gpcnoise train` understands them (dates as their parts, row numbers left out, rare levels
pooled), each in the form that suits it: gradient boosting gets gaps as gaps and categories as categories, which it
treats by itself; random forest and logistic regression get the scaled features that our model gets. Boosting may stop
early and a leaf of the forest holds three rows at least: by default both are far too sure of themselves on small
tables.

Each fit is filed as soon as it is measured, and a later call measures only what is missing.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.bench.kept import read_kept, write_kept
from gpcnoise_cli.bench.table_sources import SOURCES, check_names, file_in, write_tables
from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import Split, Table, make_split, shuffled_rows
from gpcnoise_cli.data.table import read_own_file
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.grid.cell import digest_of
from gpcnoise_cli.runs.auto import Search, choose_settings
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.train import run_training

FILE = "tables.json"
OURS, AUTO, BOOSTING, FOREST, LOGISTIC = "gpcnoise", "auto", "boosting", "forest", "logistic"
SYSTEMS = (OURS, BOOSTING, FOREST, LOGISTIC)
KEPT_METRICS = ("acc", "nll", "brier", "ece")
SEED = 0
Records = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Request:
    """Which tables, on how many splits, from which folder (else from the packages); `overrides` change only ours."""

    names: Sequence[str] = tuple(SOURCES)
    splits: int = 3
    folder: Path | None = None
    overrides: Sequence[str] = ()
    auto: bool = False
    """Measure `gpcnoise train --auto`, too."""

    @property
    def systems(self) -> tuple[str, ...]:
        return (*SYSTEMS, AUTO) if self.auto else SYSTEMS

    def __post_init__(self) -> None:
        check_names(self.names)
        if not 1 <= self.splits <= 100:
            raise UsageError(f"--splits {self.splits} is out of range; give 1 to 100, 3 is usual.")
        if self.folder is not None and not self.folder.is_dir():
            raise UsageError(f"there is no folder {str(self.folder)!r} to take the tables from.")
        compose(self.overrides)  # what is wrong with them is told before anything is measured


def measure_tables(
    request: Request,
    out: Path,
    machine: Mapping[str, Any],
    told: Callable[[str], None],
    *,
    fresh: bool = False,
) -> tuple[Records, list[str]]:
    """The records by table and system, and the tables that are not here."""
    records: Records = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = request.folder or Path(scratch) / "tables"
        if request.folder is None:
            write_tables(request.names, folder)
        paths = {name: file_in(folder, name) for name in request.names}
        if not any(paths.values()):
            where = f"{str(request.folder)!r} holds none of" if request.folder else "no package is installed that has"
            raise UsageError(
                f"{where} {', '.join(request.names)}; install them by pip install 'gpcnoise[tables]', or give a folder "
                "with files of these names by --from."
            )
        out.mkdir(parents=True, exist_ok=True)
        for name, path in paths.items():
            if path is not None:
                records[name] = _measure(request, name, path, out / FILE, machine, told, Path(scratch), fresh)
    return records, [name for name, path in paths.items() if path is None]


def kept_tables(request: Request, out: Path) -> Records:
    """What is kept of the tables asked for."""
    kept = read_kept(out / FILE)
    return {name: kept[name] for name in request.names if name in kept}


def _measure(
    request: Request,
    name: str,
    path: Path,
    file: Path,
    machine: Mapping[str, Any],
    told: Callable[[str], None],
    scratch: Path,
    fresh: bool,
) -> dict[str, Any]:
    source = SOURCES[name]
    content = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    # Where a folder is given, nothing is known but the content.
    package = f"{source.package} {source.installed}" if source.installed and request.folder is None else None
    table = read_own_file(path, source.target)
    config = compose([*_of_file(path, source.target), *request.overrides])
    for system in request.systems:
        described = {"sha256": content, **_described(system, config)}
        record = read_kept(file).get(name, {}).get(system)
        if fresh or record is None or record["settings"] != described:
            record = {"settings": described, "machine": dict(machine)}
        record |= {"package": package or record.get("package"), **_shape(table)}
        for split in range(len(record.get("acc", ())), request.splits):
            told(f"{name}, {system}: split {split + 1} of {request.splits}")
            search = Search.beside(request.overrides) if system == AUTO else None
            score = _score(system, config, table, split, scratch, search)
            record = {**record, **{key: [*record.get(key, ()), value] for key, value in score.items()}}
            kept = read_kept(file)  # anew each time: another process may have added to it meanwhile
            kept.setdefault(name, {})[system] = record
            write_kept(file, kept)
    return dict(read_kept(file)[name])


def _of_file(path: Path, target: str) -> list[str]:
    return ["dataset=file", assign("dataset.path", str(path)), assign("dataset.target", target)]


def _described(system: str, config: TrainConfig) -> dict[str, Any]:
    """What a measurement is of; where the file lies is no part of it."""
    if system not in (OURS, AUTO):
        return {"classifier": " ".join(repr(_classifier(system)).split())}
    return {"digest": digest_of(replace(config, dataset=replace(config.dataset, path="table")))}


def _shape(table: Table) -> dict[str, Any]:
    return {"n": len(table.y), "columns": len(table.findings), "d": table.X.shape[1], "classes": len(table.class_names)}


def _classifier(system: str, categories: Any = None) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    if system == BOOSTING:
        return HistGradientBoostingClassifier(early_stopping=True, random_state=SEED, categorical_features=categories)
    if system == FOREST:
        return RandomForestClassifier(n_estimators=500, min_samples_leaf=3, random_state=SEED)
    return LogisticRegression(max_iter=1000)


def _score(
    system: str, config: TrainConfig, table: Table, number: int, scratch: Path, search: Search | None = None
) -> dict[str, Any]:
    """Metrics on the test rows of a split, the same for all systems, and the seconds of the fit."""
    dataset = config.dataset
    split = make_split(
        "file",
        table,
        protocol=config.protocol,
        split=number,
        test_fraction=dataset.test_fraction,
        categories=dataset.categories,
    )
    began = time.perf_counter()
    if system in (OURS, AUTO):
        return _ours(replace(config, split=number), split, scratch, search)
    X_train, X_test, categories = split.X_train, split.X_test, None
    if system == BOOSTING:
        X, categories = with_gaps(table)
        rows = shuffled_rows(len(X), number)
        X_train, X_test = X[rows[: split.n_train]], X[rows[split.n_train :]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of optimizers that reach a limit; the scores show what it costs
        fitted = _classifier(system, categories).fit(X_train, split.y_train)
    seconds = time.perf_counter() - began
    probabilities = np.zeros((split.n_test, split.num_classes))
    probabilities[:, fitted.classes_] = fitted.predict_proba(X_test)  # a class may have no training row
    return _metrics(probabilities, split.y_test, seconds)


def _ours(config: TrainConfig, split: Split, scratch: Path, search: Search | None) -> dict[str, Any]:
    """As `gpcnoise train` does it: with fewer inducing points where there are fewer rows."""
    folder = RunFolder(Path(tempfile.mkdtemp(dir=scratch)))
    config, chosen = replace(config, inducing=min(config.inducing, split.n_train)), {}
    began = time.perf_counter()
    if search is not None:
        config, search, _ = choose_settings(config, split, search, lambda number, trial: None, folder=folder)
        chosen = {"chosen": search.chosen}
    result = run_training(config, data=split, folder=folder)
    seconds = time.perf_counter() - began
    return {**{key: result[key] for key in KEPT_METRICS}, "fit_seconds": seconds, **chosen}


def _metrics(probabilities: NDArray[np.float64], y: NDArray[np.int64], seconds: float) -> dict[str, Any]:
    found = evaluate(probabilities, y)
    return {**{key: getattr(found, key) for key in KEPT_METRICS}, "fit_seconds": seconds}


def with_gaps(table: Table) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The features as gradient boosting likes them, and which are categories.

    A number that is missing is NaN, without an indicator; a category is one feature, the number of its level, and NaN
    where training would know none.
    """
    assert table.encoder is not None
    parts, categories, place = [], [], 0
    for column in table.encoder.columns:
        block = table.X[:, place : place + len(column.features)]
        place += len(column.features)
        if column.kind == "categorical":
            codes = np.where(block.any(axis=1), block.argmax(axis=1), np.nan)
            block = codes[:, None]
        elif column.kind in ("numeric", "boolean"):
            block = block[:, :1]
        parts.append(block)
        categories += [column.kind == "categorical"] * block.shape[1]
    return np.hstack(parts), np.asarray(categories)
