"""MLflow's store, read back by its own client."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

mlflow = pytest.importorskip("mlflow", reason="the extra `mlflow` is not installed")

# What MLflow's own dependencies have to say of each other is not for these tests.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def no_choice_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)


def stored(folder: Path, experiment: str = "gpcnoise", uri: str | None = None) -> tuple[Any, list[Any]]:
    client = mlflow.MlflowClient(uri or f"sqlite:///{folder / 'mlflow.db'}")
    found = client.get_experiment_by_name(experiment)
    return client, client.search_runs([found.experiment_id])


def steps(client: Any, run: Any, name: str) -> list[int]:
    return [one.step for one in client.get_metric_history(run.info.run_id, name)]


def test_a_run_with_parameters_metrics_and_files(train: Any, tmp_path: Path) -> None:
    result = train("first", "tracking=mlflow")
    client, (run,) = stored(tmp_path)
    assert (run.info.run_name, run.info.status) == ("first", "FINISHED")
    assert (run.data.params["likelihood.name"], run.data.params["inducing"]) == ("step", "6")
    assert steps(client, run, "test/nll") == [20, 40, 60]
    assert run.data.metrics["final/nll"] == pytest.approx(result["nll"])
    files = {one.path for one in client.list_artifacts(run.info.run_id)}
    assert files == {"metrics.json", "config.yaml", "curve.csv"}
    assert logging.getLogger("mlflow").level == logging.WARNING


def test_an_interrupted_run_goes_on_as_the_same_run(train: Any, tmp_path: Path) -> None:
    train("run", "tracking=mlflow", stop_after=20)
    _, (run,) = stored(tmp_path)
    assert run.info.status == "KILLED"
    assert train("run", "tracking=mlflow")["steps"] == 60
    client, (run,) = stored(tmp_path)
    assert run.info.status == "FINISHED"
    for name in run.data.metrics:
        found = steps(client, run, name)
        assert found == sorted(set(found))
    assert steps(client, run, "test/nll") == [20, 40, 60]


def test_its_own_environment_variables_decide(train: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    mlflow.MlflowClient(uri).create_experiment("mine", artifact_location=(tmp_path / "files").as_uri())
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    train("run", "tracking=mlflow", "iterations=20")
    _, runs = stored(tmp_path, "mine", uri)
    assert len(runs) == 1
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.parametrize("uri", ["nosuch://store", "http://127.0.0.1:9"])
def test_a_store_out_of_reach_costs_one_warning(
    train: Any, messages: Any, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert train("run", "tracking=mlflow", "iterations=20", events=messages)["steps"] == 20
    assert sum("tracking failed" in text for text in messages.said) == 1


def test_processes_that_start_at_once_do_not_spoil_the_store(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runs.tracking.mlflow_sink import MlflowSink
from gpcnoise_cli.runs.tracking.tracker import Place
base, name = Path(sys.argv[1]), sys.argv[2]
config = compose([f"out='{base / name}'"])
sink = MlflowSink(config, RunFolder.create(config), Place.of_cell(base, name))
sink.write(3, {"test/nll": 0.5})
sink.close("finished")
"""
    processes = [subprocess.Popen([sys.executable, "-c", script, tmp_path, name]) for name in ("a", "b", "c")]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    _, runs = stored(tmp_path)
    assert {run.info.run_name for run in runs} == {"a", "b", "c"}
    assert all(run.data.metrics == {"test/nll": 0.5} for run in runs)
