"""What there is to see of finished runs: the curve, how reliable the probabilities are, which classes are confused.

A run is a folder of `gpcnoise train`, whose test probabilities are computed anew from its model, or a result cell
(JSON), which holds its scores and its curve only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import GpcnoiseError, UsageError, quoted
from gpcnoise_cli.evaluation.calibration import Reliability, reliability
from gpcnoise_cli.evaluation.importance import Importance, ard_relevance, permutation_importance
from gpcnoise_cli.evaluation.metrics import Metrics, clip_probabilities, evaluate
from gpcnoise_cli.evaluation.selective import SelectiveCurve, selective_curve
from gpcnoise_cli.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from gpcnoise_cli.data import Split
    from gpcnoise_cli.methods.trained_model import TrainedModel

CURVE_COLUMNS = ("step", "elbo", "acc", "nll")
# What runs may differ in, and what is told of each.
SETTINGS = (
    *("dataset", "label", "kernel", "objective", "bound", "delta_mode"),
    *("preset", "protocol", "inducing", "iterations", "split", "seed"),
)
SCORES = ("acc", "nll", "brier", "ece", "ece_equal_mass", "auroc", "acc_at_80", "acc_at_90", "acc_at_95")


@dataclass(frozen=True)
class RunView:
    """One run, with its test rows predicted."""

    label: str
    curve: dict[str, list[float]]
    metrics: Metrics
    reliability: Reliability
    selective: SelectiveCurve
    confusion: NDArray[np.int64]  # [observed, predicted]
    class_names: tuple[Any, ...]
    objective: str
    importance: tuple[Importance, ...] = ()  # the column that matters most comes first
    rows: str = "test rows"  # what was predicted

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """The numbers behind each picture."""
        table, selective = self.reliability, self.selective
        low, high = table.interval
        bins = {
            "confidence": table.confidence,
            "accuracy": table.accuracy,
            "rows": table.count,
            "low": low,
            "high": high,
        }
        return {
            "curve": _rows(self.curve),
            "reliability": _rows(bins),
            "selective": _rows({"coverage": selective.coverage, "accuracy": selective.accuracy}),
            "confusion": [
                {"observed": name, **{str(other): n for other, n in zip(self.class_names, row, strict=True)}}
                for name, row in zip(self.class_names, self.confusion, strict=True)
            ],
            **({"importance": [asdict(one) for one in self.importance]} if self.importance else {}),
        }


@dataclass(frozen=True)
class CellView:
    """One of several runs: its scores, and its curve where it has one."""

    label: str
    record: dict[str, Any]
    curve: dict[str, list[float]]


def view_run(run_dir: Path) -> RunView:
    """Load the model and predict the test rows of the run's own split; without any, see the rows that it held out."""
    from gpcnoise_cli.runs.held_out import held_out_rows
    from gpcnoise_cli.runs.trained import load_trained, own_split

    trained = load_trained(run_dir)
    split = own_split(trained)
    from sklearn.metrics import confusion_matrix

    if split.n_test:
        probabilities, y, rows = clip_probabilities(trained.predict_scaled(split.X_test)), split.y_test, "test rows"
        importance = _importance(trained, split, split.X_test, y)
    else:
        held_out = held_out_rows(run_dir, "a picture of a run with dataset.test_fraction=0")
        probabilities, y, rows = held_out.probabilities, held_out.y, held_out.what
        unseen = split.X_calibration  # out-of-fold rows were not seen by the models of the folds, but by this one
        importance = [] if unseen is None else _importance(trained, split, unseen, y)
    config = trained.config
    return RunView(
        label=f"{config.dataset.name}, {config.likelihood.name}, {config.kernel.name}, split {config.split}",
        curve=_columns(RunFolder(run_dir)),
        metrics=evaluate(probabilities, y),
        reliability=reliability(probabilities, y),
        selective=selective_curve(probabilities, y),
        confusion=confusion_matrix(y, probabilities.argmax(axis=1), labels=np.arange(split.num_classes)),
        class_names=split.class_names,
        objective=config.objective,
        importance=tuple(importance),
        rows=rows,
    )


def _importance(trained: TrainedModel, split: Split, X: NDArray[np.floating], y: NDArray[np.int64]) -> list[Importance]:
    groups: dict[str, list[int]] = {}
    for feature, column in enumerate(trained.encoder.feature_columns):
        groups.setdefault(column, []).append(feature)
    relevance = ard_relevance(trained.hyperparameters, split.first_rows()[0], groups)
    return permutation_importance(trained.predict_scaled, X, y, groups, relevance=relevance)


def view_cells(paths: Sequence[Path]) -> list[CellView]:
    """Each path's scores; labels say what differs between them."""
    found = [(_with_label(record), curve) for record, curve in map(_read, paths)]
    labels = _labels([record for record, _ in found])
    return [CellView(label, record, curve) for label, (record, curve) in zip(labels, found, strict=True)]


def _with_label(record: Mapping[str, Any]) -> dict[str, Any]:
    """Older records call the label `method`."""
    return {**record, "label": record.get("label") or record.get("method")}


def comparison_tables(views: Sequence[CellView]) -> dict[str, list[dict[str, Any]]]:
    """The scores of several runs, and their curves where there are any."""
    scores = [{"run": view.label, **{key: view.record.get(key) for key in (*SETTINGS, *SCORES)}} for view in views]
    curves = [{"run": view.label, **row} for view in views for row in _rows(view.curve)]
    return {"comparison": scores, **({"curves": curves} if curves else {})}


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def is_run_folder(path: Path) -> bool:
    return (path / "config.yaml").is_file()


def _read(path: Path) -> tuple[dict[str, Any], dict[str, list[float]]]:
    if is_run_folder(path):
        folder = RunFolder(path)
        record = folder.read_metrics()
        if record is None:
            command = f"gpcnoise train --resume {quoted(path)}"
            raise GpcnoiseError(f"the run in {path} is not finished; continue it with: {command}")
        return record, _columns(folder)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"there is no run folder or cell {path}.") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is neither a run folder nor a result cell (JSON).") from error
    if not isinstance(record, dict) or not all(_is_number(record.get(key, "")) for key in ("acc", "nll")):
        raise UsageError(f"{path} is no result cell: it holds no acc and nll.")
    curve = record.get("curve") or {}
    columns = {key: curve[key] for key in CURVE_COLUMNS if key in curve} if isinstance(curve, dict) else {"": curve}
    sound = [isinstance(column, list) and all(map(_is_number, column)) for column in columns.values()]
    if not all(sound) or len({len(column) for column in columns.values()}) > 1:
        raise UsageError(f"{path} is no result cell: its curve is damaged.")
    return record, columns


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _columns(folder: RunFolder) -> dict[str, list[float]]:
    points = folder.read_curve()
    return {name: [getattr(point, name) for point in points] for name in CURVE_COLUMNS}


def _labels(records: Sequence[dict[str, Any]]) -> list[str]:
    """What distinguishes each record; a number where nothing does."""
    differing = [key for key in SETTINGS if len({str(record.get(key)) for record in records}) > 1]
    labels = [
        ", ".join(_told(key, record[key]) for key in differing if record.get(key) is not None) for record in records
    ]
    if len(set(labels)) < len(labels):
        labels = [f"{number}: {label}".rstrip(": ") for number, label in enumerate(labels, start=1)]
    return labels


def _told(key: str, value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{key} {value}"
