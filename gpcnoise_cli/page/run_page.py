"""One run as the content of the page: scores, curves, how reliable it is, what it confuses, how to repeat it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.schema import IN_MEMORY
from gpcnoise_cli.errors import GpcnoiseError, quoted
from gpcnoise_cli.figures.run_view import RunView, view_run
from gpcnoise_cli.grid.repeat import train_command
from gpcnoise_cli.page.drawings import Drawing, curve_drawing, reliability_drawing
from gpcnoise_cli.page.found import is_number, tell
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.tables.measured import label_of
from gpcnoise_cli.tables.uci_figures import labelled_likelihoods

# More classes than these make no table that can be read; the worst pairs are named instead.
MOST_CLASSES = 30
WORST_PAIRS = 8
_CURVES = {"acc": "Test accuracy, %", "nll": "Test nll, nats", "elbo": "ELBO on the training rows", "delta": "δ"}
_TILES = {"acc": ("acc %", 2), "nll": ("nll", 4), "brier": ("Brier", 4), "ece": ("ECE", 4), "auroc": ("AUROC", 4)}
_ELSEWHERE = ("versions", "per_class", "run_dir", *_TILES)


@dataclass(frozen=True)
class Heat:
    """A field of the confusion matrix: rows of the observed class that were predicted as another."""

    count: int
    share: float  # of the observed class
    right: bool


@dataclass(frozen=True)
class ClassLine:
    name: str
    rows: int
    fields: tuple[Heat, ...]
    recall: str
    precision: str


@dataclass(frozen=True)
class RunPage:
    name: str
    told: str
    title: str
    finished: bool
    state: str  # what is missing
    trouble: str  # and why, for whoever makes the page
    tiles: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, str], ...]
    charts: tuple[Drawing, ...]
    reliability: tuple[Drawing, ...]
    classes: tuple[ClassLine, ...]
    worst: tuple[tuple[str, str, int, str], ...]  # observed, predicted, rows, part of the observed
    config: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    command: str  # empty where no command can: the model was fitted from arrays
    predict: str

    @property
    def as_matrix(self) -> bool:
        return 0 < len(self.classes) <= MOST_CLASSES


def run_page(run_dir: Path) -> RunPage:
    """Read the run; its test rows are predicted anew where its model and data are here."""
    folder = RunFolder.existing(run_dir)
    config, record = folder.read_config(), folder.read_metrics()
    view, state, trouble = None, "", ""
    told = tell(run_dir)
    if record is None:
        state = f"This run is not finished; continue it with: gpcnoise train --resume {quoted(told)}"
    else:
        try:
            view = view_run(run_dir)
        except GpcnoiseError as error:
            # The reason may name folders of this machine, which are nobody else's business.
            state = (
                "Its model or data were not at hand when this page was made, or the data have changed since, so there "
                "is no reliability diagram."
            )
            trouble = f"there is no reliability diagram and no confusion matrix: {error}"
    record = record or {}
    label = label_of(record) if record else config.likelihood.name
    # Another method than the sparse Gaussian process has neither a likelihood nor a kernel.
    ours = not record or label in labelled_likelihoods()
    what = [f"{label} ({config.likelihood.name})", f", {config.kernel.name} kernel"] if ours else [label, ""]
    return RunPage(
        name=Path(os.path.realpath(run_dir)).name,
        told=told,
        title=f"{what[0]} on {_dataset(config.dataset)}{what[1]}",
        finished=bool(record),
        state=state,
        trouble=trouble,
        tiles=tuple(_tiles(record)),
        figures=tuple((key, _shown(value)) for key, value in record.items() if key not in _ELSEWHERE),
        charts=tuple(_charts(folder, config.objective)),
        reliability=() if view is None else _reliability(view),
        classes=() if view is None else tuple(_classes(view)),
        worst=() if view is None else tuple(_worst(view)),
        config=tuple(_flat(dataclasses.asdict(config))),
        versions=tuple((str(name), str(version)) for name, version in dict(record.get("versions") or {}).items()),
        command="" if config.dataset.path == IN_MEMORY else train_command(config),
        predict=f"gpcnoise predict {quoted(told)} --data FILE --out FILE",
    )


def _dataset(dataset: Any) -> str:
    return Path(dataset.path).name if dataset.path else str(dataset.name)


def _tiles(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, (name, digits) in _TILES.items():
        if is_number(record.get(key)):
            yield name, f"{record[key]:.{digits}f}"


def _charts(folder: RunFolder, objective: str) -> Iterator[Drawing]:
    points = folder.read_curve()
    other = {} if objective == "elbo" else {"elbo": f"{objective.capitalize()} objective on the training rows"}
    for key, title in (_CURVES | other).items():
        kept = [(p.step, getattr(p, key)) for p in points if is_number(getattr(p, key))]
        if len(kept) > 1:
            yield curve_drawing(f"curve-{key}", title, *zip(*kept, strict=True))


def _reliability(view: RunView) -> tuple[Drawing, Drawing]:
    title = "Accuracy of the most confident rows, %"
    coverage, accuracy = view.selective.coverage.tolist(), view.selective.accuracy.tolist()
    return (
        reliability_drawing("reliability-diagram", "Part predicted rightly, by confidence", view.reliability),
        curve_drawing("selective", title, coverage, accuracy, x_label="part of the rows, %"),
    )


def _classes(view: RunView) -> Iterator[ClassLine]:
    counts: NDArray[np.int64] = view.confusion
    observed, predicted = counts.sum(axis=1), counts.sum(axis=0)
    for index, name in enumerate(view.class_names):
        row, right = counts[index], int(counts[index, index])
        fields = tuple(
            Heat(int(count), float(count) / max(int(observed[index]), 1), index == other)
            for other, count in enumerate(row)
        )
        yield ClassLine(
            str(name), int(observed[index]), fields, _part(right, observed[index]), _part(right, predicted[index])
        )


def _worst(view: RunView) -> Iterator[tuple[str, str, int, str]]:
    """The pairs of classes that are confused most often."""
    wrong = view.confusion.copy()
    np.fill_diagonal(wrong, 0)
    for place in np.argsort(-wrong, axis=None, kind="stable")[:WORST_PAIRS]:
        one, other = np.unravel_index(place, wrong.shape)
        if wrong[one, other]:
            share = _part(int(wrong[one, other]), view.confusion[one].sum())
            yield str(view.class_names[one]), str(view.class_names[other]), int(wrong[one, other]), share


def _part(number: int, of: int) -> str:
    return f"{100 * number / of:.1f}%" if of else "–"


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, _shown(value)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
