"""One model on two hosts: two processes that meet over loopback, and one that is lost on the way."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gpcnoise_cli.training import hosts

PROGRAM = (sys.executable, "-c", "from gpcnoise_cli.cli.main import run; run()", "train", "--json")
SMALL = ("--dataset", "three-class", "-m", "8", "--batch-size", "33", "--precision", "float64", "--no-ard")


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def start(folder: Path, *arguments: str, tf_config: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "TF_CONFIG": tf_config, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    return subprocess.Popen([*PROGRAM, *arguments], cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True)


def start_two(folder: Path, chief: tuple[str, ...], helper: tuple[str, ...]) -> list[subprocess.Popen[str]]:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    return [
        start(folder, *words, tf_config=json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}))
        for index, words in enumerate((chief, helper))
    ]


def parameters(run: Path) -> dict[str, np.ndarray]:
    with np.load(run / "model.npz") as arrays:
        return {name: arrays[name] for name in arrays.files if arrays[name].dtype.kind == "f"}


def assert_same_model(run: Path, other: Path) -> None:
    mine, theirs = parameters(run), parameters(other)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert_allclose(value, theirs[name], rtol=1e-8, atol=1e-8, err_msg=name)


def test_one_host_agrees_with_itself(tmp_path: Path) -> None:
    assert hosts.of_chief(1.5, -np.inf) == [1.5, -np.inf]
    assert hosts.file_of_chief(tmp_path) == (tmp_path, None)
    assert hosts.is_chief()
    assert [hosts.any_host(flag) for flag in (True, False)] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["fast", "paper"])  # natural gradients, Adam
def test_two_hosts_train_as_one(tmp_path: Path, preset: str) -> None:
    settings = (*SMALL, "--preset", preset, "--iterations", "30")
    alone = start(tmp_path, *settings, "--out", "alone")
    single = json.loads(alone.communicate()[0])
    chief, helper = start_two(tmp_path, (*settings, "--out", "shared"), settings)
    shared, told = chief.communicate()
    helped, said = helper.communicate()
    assert (chief.returncode, helper.returncode) == (0, 0), told + said
    assert json.loads(helped) == {"host": 1, "hosts": 2, "steps": 30}
    assert "a helper of the chief" in said
    result = json.loads(shared)
    assert (result["devices"], result["hosts"]) == (2, 2)
    assert_allclose([result["elbo"], result["nll"]], [single["elbo"], single["nll"]], rtol=1e-8)
    assert_same_model(tmp_path / "shared", tmp_path / "alone")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "shared"]  # the helper wrote nothing


@pytest.mark.slow
def test_a_lost_host_is_told_at_once_and_the_run_goes_on_without_it(tmp_path: Path) -> None:
    steps = 6000
    settings = (*SMALL, "--preset", "paper", "--iterations", str(steps), "runtime.checkpoint_seconds=0")
    chief, helper = start_two(tmp_path, (*settings, "--out", "run"), settings)
    checkpoint = tmp_path / "run" / "checkpoint.npz"
    while not checkpoint.exists():
        assert chief.poll() is None, chief.stderr.read()  # type: ignore[union-attr]
        time.sleep(0.05)
    helper.kill()
    began = time.monotonic()
    _, said = chief.communicate()
    assert time.monotonic() - began < 20  # a second where the machine is not busy
    helper.communicate()
    assert chief.returncode == 1
    sentence = said.strip().splitlines()[-1]
    assert "the run has lost another of its hosts at step" in sentence
    assert sentence.endswith("with: gpcnoise train --resume run")
    resumed = start(tmp_path, "--resume", "run", "--devices", "1")
    result = json.loads(resumed.communicate()[0])
    assert result["steps"] == steps
    alone = start(tmp_path, *settings, "--out", "alone")
    alone.communicate()
    # Thousands of steps of Adam: rounding has grown, but it is the same run.
    with np.load(tmp_path / "run" / "model.npz") as run, np.load(tmp_path / "alone" / "model.npz") as other:
        for name in run.files:
            if run[name].dtype.kind == "f":
                assert_allclose(run[name], other[name], rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.slow
def test_hosts_that_were_asked_for_different_things_say_so(tmp_path: Path) -> None:
    settings = (*SMALL, "--iterations", "30")
    processes = start_two(tmp_path, (*settings, "--seed", "1"), (*settings, "--seed", "2"))
    for process in processes:
        assert "the settings are not the same on all hosts" in process.communicate()[1]
        assert process.returncode == 2
    assert not any(tmp_path.iterdir())
