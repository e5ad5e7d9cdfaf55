"""`reproduce uci` with real processes and every misfortune that may befall them: nothing lost, nothing computed twice.

Each command starts TensorFlow once or twice, so these tests are slow. What they put together is tested quickly apart:
`test_campaign.py`, `test_ledger.py` and `test_fork_server.py`, and the resumption in `tests/cli/test_resume.py`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.grid import fork_server

pytestmark = pytest.mark.slow

GPCNOISE = [sys.executable, "-c", "from gpcnoise_cli.cli.main import run; run()"]
# Small models, but enough steps to be killed in the middle of them; checkpoints all the time.
SETTINGS = [
    "--iterations", "2500", "inducing=10", "batch_size=128", "runtime.eval_every=1000",
    "runtime.checkpoint_seconds=0.05", "runtime.jitter=1e-5",
]  # fmt: skip
PATIENCE = 240.0
TIMES = ("train_seconds", "seconds_per_step", "seconds", "resumed", "commit", "curve", "threads", "config")


def command(results: Path, *more: str) -> list[str]:
    grid = ["--likelihoods", "probit", "--splits", "0", "--results", str(results)]
    return [*GPCNOISE, "reproduce", "uci", *grid, *SETTINGS, *more]


def reproduce(results: Path, *more: str, code: int = 0) -> dict[str, Any]:
    """Run the command to its end and return what it says."""
    done = subprocess.run(command(results, "--json", *more), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == code, done.stderr
    return {**json.loads(done.stdout or "{}"), "stderr": done.stderr}


def results_of(results: Path) -> dict[str, dict[str, Any]]:
    """Every filed cell without what differs from run to run."""
    found = {}
    for path in sorted((results / "uci").rglob("split-??.json")):
        content = json.loads(path.read_text())
        found[str(path.relative_to(results))] = {key: value for key, value in content.items() if key not in TIMES}
    return found


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


def checkpoints(results: Path) -> list[Path]:
    return sorted((results / "uci" / ".work").glob("*/checkpoint.npz"))


def workers_in(results: Path) -> list[int]:
    """The processes that hold a lock below `results`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            files = [str(link.readlink()) for link in (entry / "fd").iterdir()]
        except OSError:
            continue
        if any(file.startswith(str(results)) and file.endswith(".lock") for file in files):
            found.append(int(entry.name))
    return found


def parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("PPid:")).split()[1])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The cells of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    environment = {**os.environ, "GPCNOISE_DATA_DIR": str(folder / "no data")}
    asked = command(folder, "--datasets", "waveform,twonorm", "--workers", "2")
    subprocess.run(asked, env=environment, check=True, capture_output=True, timeout=PATIENCE)
    return results_of(folder)


def test_a_killed_run_started_again_gives_the_cells_of_an_undisturbed_one(
    tmp_path: Path, undisturbed: dict[str, dict[str, Any]]
) -> None:
    asked = ["--datasets", "waveform,twonorm", "--workers", "2"]
    with subprocess.Popen(command(tmp_path, *asked), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as parent:
        wait_for(lambda: checkpoints(tmp_path), "a checkpoint")
        parent.send_signal(signal.SIGKILL)
    wait_for(lambda: not workers_in(tmp_path), "the orphans to stop")
    assert checkpoints(tmp_path), "nothing was interrupted"

    second = reproduce(tmp_path, *asked)
    assert results_of(tmp_path) == undisturbed
    assert any(cell["resumed"] for cell in second["cells"])

    began = time.monotonic()
    third = reproduce(tmp_path, *asked)
    assert third["computed"] == []
    assert "0 are to do" in third["stderr"]
    assert time.monotonic() - began < 30


def test_sigterm_is_polite_and_a_killed_worker_is_replaced(
    tmp_path: Path, undisturbed: dict[str, dict[str, Any]]
) -> None:
    asked = ["--datasets", "twonorm", "--workers", "2"]  # as many threads as the undisturbed ones had
    with subprocess.Popen(command(tmp_path, *asked), stderr=subprocess.PIPE, text=True) as parent:
        wait_for(lambda: checkpoints(tmp_path), "a checkpoint")
        parent.send_signal(signal.SIGTERM)
        _, said = parent.communicate(timeout=PATIENCE)
    assert parent.returncode == 130
    assert "go on from their checkpoints" in said
    assert not workers_in(tmp_path)
    (checkpoint,) = checkpoints(tmp_path)
    written = checkpoint.stat().st_mtime_ns

    with subprocess.Popen(
        command(tmp_path, *asked, "--json"), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        wait_for(lambda: checkpoint.exists() and checkpoint.stat().st_mtime_ns > written, "the next checkpoint")
        (worker,) = workers_in(tmp_path)
        os.kill(worker, signal.SIGKILL)
        out, said = parent.communicate(timeout=PATIENCE)
    assert parent.returncode == 0
    assert "trying again: the process was ended by signal 9" in said
    assert json.loads(out)["cells"][0]["resumed"]
    name = "uci/paper/rbf/twonorm/probit/split-00.json"
    assert results_of(tmp_path) == {name: undisturbed[name]}
    assert not list((tmp_path / "uci").rglob("*.failed.json"))


@pytest.mark.skipif(not fork_server.possible(), reason="this system does not fork workers")
def test_the_process_that_forks_the_workers_is_replaced_when_it_is_killed(
    tmp_path: Path, undisturbed: dict[str, dict[str, Any]]
) -> None:
    asked = ["--datasets", "waveform,twonorm", "--workers", "2", "--json"]
    with subprocess.Popen(
        command(tmp_path, *asked), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        wait_for(lambda: checkpoints(tmp_path), "a checkpoint")
        server = parent_of(workers_in(tmp_path)[0])
        assert server != parent.pid
        os.kill(server, signal.SIGKILL)
        out, said = parent.communicate(timeout=PATIENCE)
    assert parent.returncode == 0, said
    assert "the process that forks the workers is gone (ended by signal 9): starting another." in said
    assert "trying again" not in said
    assert any(cell["resumed"] for cell in json.loads(out)["cells"])
    assert results_of(tmp_path) == undisturbed


def test_two_runs_on_one_folder_share_the_work(tmp_path: Path) -> None:
    asked = ["--datasets", "waveform,twonorm", "--workers", "1", "--json", "--iterations", "20"]
    runs = [
        subprocess.Popen(command(tmp_path, *asked), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [run.communicate(timeout=PATIENCE) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    computed = [name for out, _ in said for name in json.loads(out)["computed"]]
    assert sorted(computed) == ["paper/rbf/twonorm/probit/split-00", "paper/rbf/waveform/probit/split-00"]
    assert [len(json.loads(out)["cells"]) for out, _ in said] == [2, 2]


def test_a_full_disk_a_failing_cell_and_a_torn_result(tmp_path: Path, own_data_folder: Path) -> None:
    damaged = own_data_folder / "uci" / "twonorm" / "twonorm_R.dat"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("\tf1\tclase\n1\tnonsense\t0\n")
    quick = ["--datasets", "waveform,twonorm", "--workers", "2", "--iterations", "20"]

    def tiny_disk() -> None:  # no file may grow beyond two kilobytes: the kernel says so, as it says of a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    full = subprocess.run(
        command(tmp_path, *quick[:1], "waveform", *quick[2:]),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=tiny_disk,
    )
    assert full.returncode == 1
    assert "no space is left for results" in full.stderr
    assert results_of(tmp_path) == {}

    first = reproduce(tmp_path, *quick, code=1)
    assert first["computed"] == ["paper/rbf/waveform/probit/split-00"]
    assert "twonorm" in first["failed"]["paper/rbf/twonorm/probit/split-00"]

    second = reproduce(tmp_path, *quick, code=1)
    assert (second["computed"], second["failed"]) == ([], {})
    assert "--retry-failed" in second["stderr"]

    damaged.unlink()  # the set is generated where the file is absent
    torn = next((tmp_path / "uci").rglob("waveform/probit/split-00.json"))
    before = results_of(tmp_path)
    torn.write_text(torn.read_text()[:200])
    third = reproduce(tmp_path, *quick, "--retry-failed")
    assert sorted(third["computed"]) == ["paper/rbf/twonorm/probit/split-00", "paper/rbf/waveform/probit/split-00"]
    assert not list((tmp_path / "uci").rglob("*.failed.json"))
    assert before.items() <= results_of(tmp_path).items()
