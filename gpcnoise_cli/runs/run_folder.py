"""The folder of one run: what is in it, and that nothing in it is ever overwritten by accident.

config.yaml      the composed configuration          metrics.json   the result, present once the run is finished
curve.csv        test metrics along training         model.npz/json the trained model
log.txt          what happened, with times           checkpoint.npz while the run is unfinished
probabilities.npz  of the test rows, where asked for
columns.json     what the columns of your own table turned out to be
trials.json      what `train --auto` tried, and what it chose once it is done
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.config.compose import from_yaml, to_yaml
from gpcnoise_cli.config.schema import SVGP, TrainConfig
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.files import write_atomically, write_json, write_text
from gpcnoise_cli.training.events import CurvePoint

RUNS = Path("runs")


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.npz"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.json"

    @property
    def probabilities(self) -> Path:
        return self.path / "probabilities.npz"

    @classmethod
    def create(cls, config: TrainConfig) -> RunFolder:
        """A new folder with the configuration in it: `config.out`, or the next free name under runs/."""
        folder = cls(_claim(Path(config.out)) if config.out else _next_free(config))
        folder.write_config(config)
        return folder

    @classmethod
    def existing(cls, path: Path) -> RunFolder:
        """The folder of a run that was started earlier."""
        if not (path / "config.yaml").is_file():
            raise UsageError(f"{path} is no run folder (it has no config.yaml); give one that `gpcnoise train` made.")
        return cls(path)

    def write_config(self, config: TrainConfig) -> None:
        write_text(self.path / "config.yaml", to_yaml(config))

    def read_config(self) -> TrainConfig:
        path = self.path / "config.yaml"
        return from_yaml(path.read_text(encoding="utf-8"), origin=str(path))

    def write_curve(self, curve: Sequence[CurvePoint]) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, [f.name for f in fields(CurvePoint)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(point.to_dict() for point in curve)
        write_text(self.path / "curve.csv", text.getvalue())

    def read_curve(self) -> list[CurvePoint]:
        """The points written so far; none where no measurement was taken yet."""
        path = self.path / "curve.csv"
        if not path.is_file():
            return []
        with path.open(encoding="utf-8", newline="") as stream:
            return [CurvePoint(**{key: _number(text) for key, text in row.items()}) for row in csv.DictReader(stream)]

    def write_probabilities(self, probabilities: np.ndarray, y: np.ndarray) -> None:
        """The class probabilities of the test rows with their labels, so that a new metric needs no retraining."""
        arrays = {"probabilities": np.asarray(probabilities, np.float32), "y": np.asarray(y, np.int32)}
        write_atomically(self.probabilities, lambda stream: np.savez_compressed(stream, **arrays))

    def write_columns(self, described: dict[str, Any]) -> None:
        write_json(self.path / "columns.json", described)

    def write_trials(self, trials: dict[str, Any]) -> None:
        write_json(self.path / "trials.json", trials)

    def read_trials(self) -> dict[str, Any] | None:
        """What a search for settings has tried; None where there was none."""
        path = self.path / "trials.json"
        if not path.is_file():
            return None
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise GpcnoiseError(f"{path} is damaged ({error}); remove it to train without a search.") from error

    def write_metrics(self, result: dict[str, Any]) -> None:
        write_json(self.metrics, result)

    def read_metrics(self) -> dict[str, Any] | None:
        """The result of a finished run; None while it is unfinished."""
        if not self.metrics.is_file():
            return None
        try:
            return dict(json.loads(self.metrics.read_text(encoding="utf-8")))
        except ValueError as error:
            raise GpcnoiseError(f"{self.metrics} is damaged ({error}); run `gpcnoise evaluate` again.") from error


def _number(text: str) -> Any:
    """A value of curve.csv: whole, with a point, or absent."""
    return None if text == "" else int(text) if text.lstrip("-").isdigit() else float(text)


def _claim(path: Path) -> Path:
    """Make `path`, which may exist only as an empty folder."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        taken = any(path.iterdir())
        if not taken:
            probe = path / ".write-test"
            probe.touch()
            probe.unlink()
    except OSError as error:
        raise GpcnoiseError(
            f"cannot write to the run folder {path}: {error.strerror}; choose another --out."
        ) from error
    if taken:
        raise UsageError(
            f"the run folder {path} is not empty; choose another --out, or continue it with --resume {path}."
        )
    return path


def _next_free(config: TrainConfig) -> Path:
    model = f"{config.likelihood.name}-{config.kernel.name}" if config.method.name == SVGP else config.method.name
    name = f"{config.dataset.name}-{model}-split{config.split}"
    number = 1
    while True:
        path = RUNS / f"{name}-{number:03d}"
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            number += 1
        except OSError as error:
            raise GpcnoiseError(f"cannot make the run folder {path}: {error.strerror}; choose one by --out.") from error
