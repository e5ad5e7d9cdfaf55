"""The folder of one run: what is in it, and that nothing in it is ever overwritten by accident.

config.yaml      the composed configuration          metrics.json   the result, present once the run is finished
curve.csv        test metrics along training         model.npz/json the trained model
log.txt          what happened, with times           checkpoint.npz while the run is unfinished
probabilities.npz  of the test rows, where asked for
columns.json     what the columns of your own table turned out to be
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from gpcnoise_cli.config.compose import from_yaml, to_yaml
from gpcnoise_cli.config.schema import SVGP, TrainConfig
from gpcnoise_cli.errors import GpcnoiseError, UsageError, quoted
from gpcnoise_cli.files import write_arrays, write_json, write_text
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
        write_text(folder.path / "config.yaml", to_yaml(config))
        return folder

    @staticmethod
    def check(config: TrainConfig) -> None:
        """Refuse a folder that `create` would refuse, without making it."""
        path = Path(config.out) if config.out else RUNS / f"{_name(config)}-001"
        if config.out and os.path.lexists(path):
            _claim(path)
            return
        there = next((parent for parent in path.parents if os.path.lexists(parent)), Path())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            reason = "no permission to write" if there.is_dir() else "it is no folder"
            raise GpcnoiseError(f"cannot write to the run folder {path}: {there}: {reason}; choose another --out.")

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the folder while the block lasts: two processes in it would overwrite each other's checkpoints.

        The lock is the kernel's, on the folder itself: it leaves no file and is gone the moment its holder is.
        """
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # a file system that knows no locks
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise GpcnoiseError(
                        f"another process is training in {self.path}; wait until it ends, or stop it first."
                    ) from error
            yield
        finally:
            os.close(descriptor)

    @classmethod
    def existing(cls, path: Path) -> RunFolder:
        """The folder of a run that was started earlier."""
        if not (path / "config.yaml").is_file():
            raise UsageError(f"{path} is no run folder (it has no config.yaml); give one that `gpcnoise train` made.")
        return cls(path)

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
        try:
            with path.open(encoding="utf-8", newline="") as stream:
                rows = csv.DictReader(stream)
                if set(rows.fieldnames or ()) != {f.name for f in fields(CurvePoint)}:
                    raise ValueError("its first line is not that of a curve")
                return [CurvePoint(**{key: _number(text) for key, text in row.items()}) for row in rows]
        except (ValueError, TypeError, AttributeError, csv.Error) as error:
            raise GpcnoiseError(
                f"{path} is damaged ({error}); restore it from a copy, or remove it to go on without the curve so far."
            ) from error

    def write_probabilities(self, probabilities: np.ndarray, y: np.ndarray) -> None:
        """The class probabilities of the test rows with their labels, so that a new metric needs no retraining."""
        arrays = {"probabilities": np.asarray(probabilities, np.float32), "y": np.asarray(y, np.int32)}
        write_arrays(self.probabilities, arrays, compressed=True)

    def write_columns(self, described: dict[str, Any]) -> None:
        write_json(self.path / "columns.json", described)

    def write_metrics(self, result: dict[str, Any]) -> None:
        write_json(self.metrics, result)

    def read_metrics(self, needed: Sequence[str] = ()) -> dict[str, Any] | None:
        """The result of a finished run, with all that is `needed`; None while it is unfinished."""
        if not self.metrics.is_file():
            return None
        try:
            result = json.loads(self.metrics.read_text(encoding="utf-8"))
            if not isinstance(result, dict):
                raise ValueError("it is no JSON object")
            lacking = [key for key in (*_SCORES, *needed) if not _holds(result, key)]
            if lacking:
                raise ValueError(f"it holds no usable {lacking[0]}")
            return result
        except ValueError as error:
            raise GpcnoiseError(
                f"{self.metrics} is damaged ({error}); restore it from a copy or train again. Where the model is sound, "
                f"gpcnoise evaluate {quoted(self.path)} scores it."
            ) from error


# What a result is nothing without, and what is text in it.
_SCORES = ("acc", "nll")
_TEXTS = ("dataset", "source", "protocol", "method", "run_dir")


def _holds(result: dict[str, Any], key: str) -> bool:
    value = result.get(key, "")
    if key in _TEXTS:
        return isinstance(value, str) and value != ""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


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
            f"the run folder {path} is not empty; choose another --out, or continue it with --resume {quoted(path)}."
        )
    return path


def _name(config: TrainConfig) -> str:
    model = f"{config.likelihood.name}-{config.kernel.name}" if config.method.name == SVGP else config.method.name
    return f"{config.dataset.name}-{model}-split{config.split}"


def _next_free(config: TrainConfig) -> Path:
    name = _name(config)
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
