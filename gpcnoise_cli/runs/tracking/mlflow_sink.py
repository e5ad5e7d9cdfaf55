"""MLflow: a run with its parameters, its metrics by step, its result and its small files.

Where it is kept is MLflow's own affair (`MLFLOW_TRACKING_URI`, `MLFLOW_EXPERIMENT_NAME`); without these, in `mlflow.db`
beside the runs, under the experiment `gpcnoise`.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpcnoise_cli import __version__
from gpcnoise_cli.config.compare import settings_of
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.files import write_text
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.tracking.tracker import Place

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "gpcnoise"
ID_FILE = "mlflow-run.txt"
_STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
_ARTIFACTS = ("metrics.json", "config.yaml", "curve.csv")


class MlflowSink:
    """One run of MLflow; an interrupted one is found again by the file that holds its number."""

    def __init__(self, config: TrainConfig, folder: RunFolder, place: Place) -> None:
        # Setting up a database is no news.
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        # A server that does not answer must not hold up the training for minutes; whoever wants more patience says so.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        from mlflow import MlflowClient

        own_choice = os.environ.get("MLFLOW_TRACKING_URI")
        with contextlib.nullcontext() if own_choice else _alone(place.common):
            self.client = MlflowClient(own_choice or f"sqlite:///{place.common / 'mlflow.db'}")
            self.run_id = self._open_run(config, folder, place, None if own_choice else place.common / "mlflow-files")
        self.last_step = self._last_step()

    def _open_run(self, config: TrainConfig, folder: RunFolder, place: Place, files: Path | None) -> str:
        """The run that an earlier part began, or a new one."""
        id_file = folder.path / ID_FILE
        found = self._earlier(id_file.read_text(encoding="utf-8").strip()) if id_file.is_file() else None
        if found is not None:
            return found
        experiment = _experiment(self.client, os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT), files)
        tags = {"mlflow.source.name": "gpcnoise", "gpcnoise.version": __version__}
        run_id = str(self.client.create_run(experiment, run_name=place.name, tags=tags).info.run_id)
        self._write_parameters(run_id, config)
        write_text(id_file, run_id + "\n")
        return run_id

    def write(self, step: int, values: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        self.client.log_batch(self.run_id, [Metric(name, value, now, step) for name, value in values.items()])

    def finish(self, result: Mapping[str, Any], folder: RunFolder) -> None:
        numbers = {
            f"final/{key}": float(value)
            for key, value in result.items()
            if isinstance(value, float | int) and not isinstance(value, bool)
        }
        self.write(int(result["steps"]), numbers)
        for name in _ARTIFACTS:
            self.client.log_artifact(self.run_id, str(folder.path / name))

    def close(self, ended: str) -> None:
        self.client.set_terminated(self.run_id, _STATUS[ended])

    def _write_parameters(self, run_id: str, config: TrainConfig) -> None:
        from mlflow.entities import Param

        settings = {key: str(value) for key, value in settings_of(config).items()}
        self.client.log_batch(run_id, params=[Param(key, value) for key, value in settings.items()])

    def _earlier(self, run_id: str) -> str | None:
        """The run of an earlier part, going on; None where the store does not know it (any more)."""
        from mlflow.exceptions import MlflowException

        with contextlib.suppress(MlflowException):
            self.client.update_run(run_id, status="RUNNING")
            return run_id
        return None

    def _last_step(self) -> int:
        names = self.client.get_run(self.run_id).data.metrics
        return max(
            (one.step for name in names for one in self.client.get_metric_history(self.run_id, name)), default=-1
        )


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time sets up the store: MLflow itself does not expect several to make the tables at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".mlflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _experiment(client: MlflowClient, name: str, files: Path | None) -> str:
    """The experiment of that name, made if need be; another process may make it at the same moment."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=files.as_uri() if files else None))
        except MlflowException:
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    return str(found.experiment_id)
