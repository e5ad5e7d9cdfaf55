"""Cells on a SLURM cluster, by submitit: array jobs on a common disk, which outlive whoever submitted them.

A job files its cells itself. What was submitted is noted beside the ledger, cell by cell, so that another command
attaches to what is queued or running, takes what has finished and submits only what is missing.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import submitit

from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.files import write_json
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.cost import Estimator
from gpcnoise_cli.grid.ledger import Ledger, State, read_record
from gpcnoise_cli.grid.outcome import Outcome, Progress, Status
from gpcnoise_cli.grid.request import MOST_CELLS
from gpcnoise_cli.grid.runners.local import default_workers
from gpcnoise_cli.grid.runners.request import Request
from gpcnoise_cli.grid.runners.slurm_job import Bundle, Job, arrays_of, bundled
from gpcnoise_cli.grid.worker import read_progress

JOBS = {"slurm": submitit.SlurmJob, "local": submitit.LocalJob}
ARRAY_PARALLELISM = 256
LOOK_SECONDS = 2.0


@dataclass
class Submitted:
    """A job of the cluster with one of its cells."""

    executor: str
    job: Any

    def ended(self) -> bool:
        if self.executor == "local" and self.job._process is None:  # begun by an earlier command: submitit cannot tell
            return not _is_alive(int(self.job.job_id))
        return bool(self.job.done())

    def why(self) -> str:
        """What became of a job that ended without its cell."""
        with contextlib.suppress(Exception):  # submitit raises whatever the job left
            trouble = self.job.result() if self.executor != "local" or self.job._process is not None else None
            if trouble:
                return str(trouble)
        return f"job {self.job.job_id} ended ({self.job.state}) without its result; see {self.job.paths.stderr.name}"


class SlurmRunner:
    """Array jobs of the cluster whose `sbatch` is here; submitit's executors `local` and `debug` stand in for it."""

    def __init__(
        self, ledger: Ledger, request: Request, estimator: Estimator, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self.ledger, self.request, self.estimator, self._say = ledger, request, estimator, say
        self.threads, self.capacity = request.cores or 1, MOST_CELLS
        self.where = (
            "by SLURM" if request.slurm_executor == "slurm" else f"by submitit's {request.slurm_executor} executor"
        )
        self._folder = ledger.workspace.folder.resolve() / "slurm"
        self._options = additional(request.slurm_option)
        self._waiting: list[Cell] = []
        self._submitted: dict[Cell, Submitted] = {}
        self._states: dict[Cell, Progress] = {}
        self._looked, self._trouble = 0.0, False
        self._executor(1)  # finds out whether there is a SLURM here, before anything is done
        self._earlier = self._still_under_way()

    @property
    def detached(self) -> bool:
        return self.request.detach and not self._waiting

    def has(self, cell: Cell) -> bool:
        return cell.digest in self._earlier

    def submit(self, cell: Cell) -> None:
        earlier = self._earlier.pop(cell.digest, None)
        if earlier is not None:
            self._submitted[cell] = earlier
        else:
            self._waiting.append(cell)  # until all are known that can share jobs

    def finished(self) -> Iterator[tuple[Cell, Outcome]]:
        if self._waiting:
            self._submit_waiting()
        elif time.monotonic() - self._looked < LOOK_SECONDS:
            return
        for cell, submitted in list(self._submitted.items()):
            ended = submitted.ended()  # before the ledger is read: what is missing then will never come
            if self.ledger.look_up(cell).state is State.DONE:
                outcome = Outcome(Status.DONE)
            elif ended:
                outcome = self._failure(cell, submitted)
            else:
                continue
            del self._submitted[cell]
            self._note(cell).unlink(missing_ok=True)
            yield cell, outcome
        self._states = {cell: self._progress(cell, one) for cell, one in self._submitted.items()}
        self._looked = time.monotonic()

    def running(self) -> Mapping[Cell, Progress]:
        queued = Progress(queued=True)
        return {cell: self._states.get(cell, queued) for cell in (*self._submitted, *self._waiting)}

    def stop(self, patience: float) -> None:
        """Jobs go on without this command; those that nobody wants any more are cancelled by `scancel`."""
        if self._submitted:
            jobs = sorted({str(one.job.job_id).partition("_")[0] for one in self._submitted.values()})
            cancel = f"scancel {' '.join(jobs)} ends them" if self.request.slurm_executor == "slurm" else "they go on"
            self._say(f"{len(self._submitted)} cells stay with the cluster; the same command collects them ({cancel}).")
        elif not self._trouble and not any(self._notes()):
            shutil.rmtree(self._folder, ignore_errors=True)

    def _submit_waiting(self) -> None:
        request, local = self.request, self.request.slurm_executor != "slurm"
        # submitit's stand-ins have no queue: every job begins at once.
        most = (request.workers or default_workers(len(self._waiting))) if local else None
        least = most or request.workers or 1
        for wall_time, bundles in arrays_of(bundled(self._waiting, self.estimator, least, most)).items():
            minutes = request.slurm_time or wall_time
            jobs = self._submit_array(minutes, bundles)
            for job, bundle in zip(jobs, bundles, strict=True):
                for cell in bundle.cells:
                    self._submitted[cell] = Submitted(request.slurm_executor, job)
                    note = {"executor": request.slurm_executor, "job": job.job_id, "folder": str(self._folder)}
                    write_json(self._note(cell), note)
            cells = sum(len(bundle.cells) for bundle in bundles)
            self._say(f"submitted {cells} cells as {len(jobs)} jobs of at most {minutes} min: {jobs[0].job_id}")
        self._waiting = []

    def _submit_array(self, minutes: int, bundles: Sequence[Bundle]) -> list[Any]:
        ledger = str(self.ledger.folder.resolve())
        work = [
            Job(tuple(cell.to_dict() for cell in one.cells), ledger, self.threads, self.request.keep_probabilities)
            for one in bundles
        ]
        complaints = io.StringIO()
        try:
            with contextlib.redirect_stderr(complaints):  # submitit repeats there what it raises
                return list(self._executor(minutes).submit_array(work))
        except (RuntimeError, OSError) as error:
            said = " ".join(str(error).split()).removeprefix("sbatch: error: ").rstrip(".")
            raise GpcnoiseError(
                f"SLURM did not take the jobs ({said}); change --slurm-partition, --slurm-account or --slurm-option, "
                "or see `sinfo`."
            ) from error

    def _executor(self, minutes: int) -> Any:
        request, name = self.request, self.request.slurm_executor
        try:
            executor = submitit.AutoExecutor(self._folder, cluster=name)
        except RuntimeError as error:
            raise UsageError(
                "this machine has no SLURM (srun is not found); log in where it is, or use --backend local or ray."
            ) from error
        executor.update_parameters(
            name="gpcnoise",
            timeout_min=minutes,
            cpus_per_task=self.threads,
            slurm_array_parallelism=request.workers or ARRAY_PARALLELISM,
            **({"gpus_per_node": int(-(-request.gpus // 1))} if request.gpus else {}),
            **({"slurm_partition": request.slurm_partition} if request.slurm_partition else {}),
            **({"slurm_account": request.slurm_account} if request.slurm_account else {}),
            **({"slurm_mem": request.slurm_mem} if request.slurm_mem else {}),
            **({"slurm_additional_parameters": self._options} if self._options else {}),
        )
        return executor

    def _failure(self, cell: Cell, submitted: Submitted) -> Outcome:
        self._trouble = True
        failure = read_record(self.ledger.failure_path(cell))
        if failure is not None and failure.get("digest") == cell.digest:
            status = Status.TRANSIENT if failure.get("transient") else Status.FAILED
            return Outcome(status, str(failure.get("reason", "")))
        return Outcome(Status.TRANSIENT, submitted.why())

    def _progress(self, cell: Cell, submitted: Submitted) -> Progress:
        path = self.ledger.workspace.progress(cell)
        progress = read_progress(path)
        node = f" on {progress.place}" if progress.place else ""
        return replace(progress, place=f"job {submitted.job.job_id}{node}", queued=not path.parent.exists())

    def _note(self, cell: Cell) -> Path:
        return self.ledger.workspace.folder / f"{cell.digest}.job"

    def _notes(self) -> Iterator[Path]:
        return self.ledger.workspace.folder.glob("*.job")

    def _still_under_way(self) -> dict[str, Submitted]:
        """What earlier commands have submitted and is queued or running, by the digest of the cell."""
        noted = {}
        for path in self._notes():
            note = read_record(path)
            if note is not None and note.get("executor") in JOBS:  # those of debug end with their command
                job = JOBS[note["executor"]](folder=note["folder"], job_id=note["job"])
                noted[path] = Submitted(note["executor"], job)
        ended = {path for path, submitted in noted.items() if submitted.ended()}  # known first: one question for all
        for path in ended:
            path.unlink(missing_ok=True)
        return {path.stem: submitted for path, submitted in noted.items() if path not in ended}


def additional(options: Sequence[str]) -> dict[str, str]:
    """`constraint=avx512` or `exclusive`, as sbatch has them without the dashes."""
    found = {}
    for text in options:
        key, equals, value = text.strip().lstrip("-").partition("=")
        if not key:
            raise UsageError(f"--slurm-option {text!r} cannot be read; write KEY=VALUE, such as qos=long.")
        found[key] = value if equals else True
    return found  # type: ignore[return-value]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
