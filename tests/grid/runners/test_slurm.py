"""Grids by submitit: its local and debug executors, and a SLURM that consists of three small scripts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("submitit", reason="submitit is not installed: make test-scale installs it")
pytestmark = [pytest.mark.scale, pytest.mark.filterwarnings("default")]

Here = Callable[[tuple[str, ...]], dict[str, dict[str, Any]]]
LOCAL = ("--backend", "slurm", "--slurm-executor", "local")

# sbatch begins the tasks of an array at once; srun is the machine itself; sacct knows nothing yet.
SBATCH = """#!/bin/bash
script="$1"; cp "$script" "$SLURM_DESK/"
grep -q 'partition=nowhere' "$script" && { echo "sbatch: error: invalid partition specified: nowhere" >&2; exit 1; }
tasks=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\)%.*/\\1/p' "$script")
for task in $(seq 0 ${tasks:-0}); do
    [ -n "$tasks" ] && export SLURM_ARRAY_JOB_ID=77 SLURM_ARRAY_TASK_ID=$task
    SLURM_JOB_ID=77 SLURMD_NODENAME=desk setsid bash "$script" </dev/null >/dev/null 2>&1 &
done
echo "Submitted batch job 77"
"""
SRUN = """#!/bin/bash
while [ "${1#--}" != "$1" ]; do [ "$1" = --unbuffered ] || shift; shift; done
exec "$@"
"""
SACCT = "#!/bin/bash\necho 'JobID|State|NodeList'\n"


@pytest.fixture
def slurm(tmp_path: Path) -> dict[str, str]:
    """The environment in which there is a SLURM."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, text in (("sbatch", SBATCH), ("srun", SRUN), ("sacct", SACCT)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_DESK": str(folder)}


@pytest.mark.parametrize("executor", ["local", "debug"])
def test_the_cells_of_the_local_runner_by_submitit(executor: str, grid: Any, here: Here) -> None:
    said = grid.run("--backend", "slurm", "--slurm-executor", executor, "--workers", "1", *grid.SHORT)
    assert grid.cells() == here(grid.SHORT)
    assert "submitted 2 cells as 1 jobs" in said["stderr"]
    assert len(said["computed"]) == 2
    assert grid.work() == []


def test_what_an_earlier_command_submitted_is_collected_and_not_submitted_again(
    grid: Any, here: Here, tmp_path: Path
) -> None:
    with (tmp_path / "said").open("w") as said:  # a pipe would be open as long as the jobs are
        asked = grid.command(*LOCAL, "--workers", "1", "--detach", *grid.LONG)
        subprocess.run(asked, stdout=subprocess.DEVNULL, stderr=said, check=True, timeout=grid.PATIENCE)
    assert "2 cells left to the cluster" in (tmp_path / "said").read_text()
    assert grid.cells() == {}
    second = grid.run(*LOCAL, "--workers", "1", *grid.LONG)
    assert "submitted" not in second["stderr"]
    assert len(second["computed"]) == 2
    assert grid.cells() == here(grid.LONG)


def test_a_killed_job_is_submitted_again_and_goes_on_from_its_checkpoint(grid: Any, here: Here) -> None:
    asked = grid.command(*LOCAL, "--workers", "1", *grid.LONG)
    with subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as command:
        grid.wait_for(grid.checkpoints, "a checkpoint")
        (name, *_) = [name for name in grid.work() if name.endswith(".job")]
        note = (grid.results / "uci" / ".work" / name).read_text()
        controller = int(note.partition('"job": "')[2].partition('"')[0])
        for job in _children(controller):
            os.kill(job, 9)
        _, said = command.communicate(timeout=grid.PATIENCE)
    assert command.returncode == 0, said
    assert "trying again: job" in said
    assert grid.cells() == here(grid.LONG)


def _children(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in text.split()]


def test_an_array_on_slurm_with_the_options_that_were_given(grid: Any, here: Here, slurm: dict[str, str]) -> None:
    options = ("--slurm-partition", "short", "--slurm-account", "gp", "--slurm-mem", "2GB", "--slurm-option", "qos=low")
    said = grid.run("--backend", "slurm", "--workers", "2", *options, *grid.SHORT, **slurm)
    assert grid.cells() == here(grid.SHORT)
    assert "by SLURM" in said["stderr"]
    (script,) = Path(slurm["SLURM_DESK"]).glob(".submission_file*")
    for line in ("partition=short", "account=gp", "mem=2GB", "qos=low", "array=0-1%2", "time=10", "cpus-per-task=1"):
        assert f"#SBATCH --{line}\n" in script.read_text()


def test_a_partition_that_does_not_exist_is_one_sentence(grid: Any, slurm: dict[str, str]) -> None:
    asked = ("--backend", "slurm", "--slurm-partition", "nowhere", *grid.SHORT)
    said = grid.run(*asked, code=1, **slurm)["stderr"]
    assert said.count("invalid partition specified: nowhere") == 1
    assert "Traceback" not in said
    assert grid.cells() == {}
    assert not [name for name in grid.work() if name.endswith(".job")]


def test_a_machine_without_slurm_says_so(grid: Any, tmp_path: Path) -> None:
    said = grid.run("--backend", "slurm", *grid.SHORT, code=2, PATH=str(tmp_path))["stderr"]
    assert "this machine has no SLURM" in said


def test_an_option_that_cannot_be_read(grid: Any) -> None:
    assert "'=x' cannot be read" in grid.run(*LOCAL, "--slurm-option", "=x", *grid.SHORT, code=2)["stderr"]
