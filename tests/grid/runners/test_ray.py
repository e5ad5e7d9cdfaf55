"""Grids on a Ray cluster of two nodes in this machine: the cells of the local runner, whatever is lost on the way."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: make test-scale installs it"),
    pytest.mark.filterwarnings("default"),  # Ray leaves sockets and threads to the end of the process
]

Here = Callable[[tuple[str, ...]], dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one core each; a token of its own, so that Ray neither reads nor writes the user's."""
    before = dict(os.environ)
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(16), RAY_USAGE_STATS_ENABLED="0")
    from ray.cluster_utils import Cluster  # not before: Ray reads these variables when it is imported

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1, node_name="second")
    yield made
    made.shutdown()
    os.environ.clear()
    os.environ.update(before)


def on(cluster: Any) -> list[str]:
    return ["--backend", "ray", "--ray-address", cluster.address]


def test_cells_and_probabilities_come_back_as_the_local_runner_computes_them(
    cluster: Any, grid: Any, here: Here
) -> None:
    said = grid.run(*on(cluster), "--keep-probabilities", *grid.SHORT)
    assert grid.cells() == here(grid.SHORT)
    assert len(said["computed"]) == 2
    assert " at " in said["stderr"]  # where each was computed
    assert grid.work() == []
    for path in (grid.results / "uci").rglob("*.npz"):
        with np.load(path) as stored:
            assert np.allclose(stored["probabilities"].sum(axis=1), 1.0)
    assert len(list((grid.results / "uci").rglob("*.npz"))) == 2
    assert grid.run(*on(cluster), *grid.SHORT)["computed"] == []


def test_a_lost_node_and_a_killed_driver_lose_nothing_and_repeat_nothing(cluster: Any, grid: Any, here: Here) -> None:
    asked = grid.command(*on(cluster), *grid.LONG, "--json")
    with subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        grid.wait_for(lambda: len(grid.checkpoints()) == 2, "both cells to be under way")
        driver.send_signal(signal.SIGKILL)
    assert grid.checkpoints()
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        time.sleep(1)
        written = {path: path.stat().st_mtime_ns for path in grid.checkpoints()}
        grid.wait_for(lambda: any(_newer(path, then) for path, then in written.items()), "the cells to go on")
        cluster.remove_node(next(node for node in cluster.worker_nodes), allow_graceful=False)
        out, said = driver.communicate(timeout=grid.PATIENCE)
    assert " is lost; 1 left." in said
    cluster.add_node(num_cpus=1, node_name="third")
    assert driver.returncode == 0, said
    assert grid.cells() == here(grid.LONG)
    assert out.count("\n") == 1  # Ray would print there that a node was lost
    assert any(cell["resumed"] for cell in json.loads(out)["cells"])
    assert not list((grid.results / "uci").rglob("*.failed.json"))


def _newer(path: Path, then: int) -> bool:
    try:
        return path.stat().st_mtime_ns > then
    except FileNotFoundError:
        return False


def test_a_request_to_stop_keeps_checkpoints_and_leaves_no_lock(cluster: Any, grid: Any) -> None:
    with subprocess.Popen(grid.command(*on(cluster), *grid.LONG), stderr=subprocess.PIPE, text=True) as driver:
        grid.wait_for(lambda: grid.checkpoints(), "a checkpoint")
        driver.send_signal(signal.SIGTERM)
        _, said = driver.communicate(timeout=grid.PATIENCE)
    assert driver.returncode == 130, said
    assert grid.checkpoints()
    assert not [name for name in grid.work() if name.endswith((".lock", ".scratch"))]


def test_a_cluster_that_does_not_answer_is_said_within_seconds(grid: Any) -> None:
    began = time.monotonic()
    said = grid.run("--backend", "ray", "--ray-address", "127.0.0.1:1", *grid.SHORT, code=1)["stderr"]
    assert "no Ray cluster answers at 127.0.0.1:1" in said
    said = grid.run("--backend", "ray", "--ray-address", "nowhere", *grid.SHORT, code=2)["stderr"]
    assert "write HOST:PORT" in said
    assert time.monotonic() - began < 60


def test_more_cores_than_any_node_has(cluster: Any, grid: Any) -> None:
    said = grid.run(*on(cluster), "--cores", "64", *grid.SHORT, code=2)["stderr"]
    assert "no node of the Ray cluster has 64 cores" in said


def test_a_node_with_other_data_is_refused_before_anything_is_computed(
    cluster: Any, grid: Any, own_data_folder: Path
) -> None:
    file = own_data_folder / "uci" / "twonorm" / "twonorm_R.dat"
    file.parent.mkdir(parents=True)
    file.write_text("here and on no node")
    said = grid.run(*on(cluster), "--ray-send", "nothing", *grid.SHORT, code=1)["stderr"]
    assert "lacks the data file uci/twonorm/twonorm_R.dat" in said
    assert grid.cells() == {}
