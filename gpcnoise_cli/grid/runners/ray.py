"""Cells on a Ray cluster: one task for each, placed by Ray wherever there is room; results come back as values.

The driver holds the claims on the cells and files what comes back. When it is killed, Ray ends its tasks, and the
claims are gone with it; when a node or a worker is lost, Ray says so, and the campaign submits the cell again.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.outcome import Outcome, Progress, Status, outcome_of
from gpcnoise_cli.grid.runners import ray_cluster
from gpcnoise_cli.grid.runners.demands import demands_of
from gpcnoise_cli.grid.runners.ray_node import Board, Order, compute_on_node
from gpcnoise_cli.grid.runners.request import Request
from gpcnoise_cli.grid.worker_process import THREAD_VARIABLES
from gpcnoise_cli.runs.train import load_data

# Importing TensorFlow once for several cells; a process is replaced now and then, so that no leak grows for ever.
CELLS_PER_PROCESS = 20
LOOK_SECONDS = 1.0
LAST_PATIENCE = 5.0


@dataclass(frozen=True)
class _UnderWay:
    cell: Cell
    claim: contextlib.ExitStack


class RayRunner:
    """Tasks on the nodes of a cluster."""

    detached = False

    def __init__(
        self, ledger: Ledger, request: Request, cells: Sequence[Cell], say: Callable[[str], None] = lambda text: None
    ) -> None:
        self.ledger, self.request, self.threads, self._say = ledger, request, request.cores or 1, say
        self._ours = not ray.is_initialized()
        self._under_way: dict[Any, _UnderWay] = {}
        self._ended: list[tuple[_UnderWay, Outcome]] = []
        self._data: tuple[Any, Any] = (None, None)
        self._looked, self._slots = 0.0, 0
        self._states: dict[str, Progress] = {}
        self._names: dict[str, str] = {}
        # Ray prints what it has to say of lost nodes on stdout, which is for results; here the runner says it.
        self._quiet = contextlib.ExitStack()
        self._quiet.enter_context(contextlib.redirect_stdout(io.StringIO()))
        try:
            address = (
                ray_cluster.connect(request.ray_address, request.ray_send == "all") if self._ours else "this process"
            )
            self._demands = demands_of(cells, data=request.ray_send == "nothing", code=request.ray_send != "all")
            ray_cluster.check_nodes(self._demands)
            self._look()
            if not self._slots:
                share = f"{self.threads} cores" + (f" and {request.gpus:g} GPUs" if request.gpus else "")
                raise UsageError(
                    f"no node of the Ray cluster has {share} for a cell; ask for less by --cores and --gpus."
                )
        except BaseException:
            self._leave()
            raise
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        actor: Any = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Board)
        self._board = actor.options(scheduling_strategy=here).remote()
        self._task: Any = ray.remote(
            num_cpus=self.threads,
            num_gpus=request.gpus,
            max_retries=0,  # the campaign counts the attempts
            max_calls=1 if request.gpus else CELLS_PER_PROCESS,
        )(compute_on_node)
        self.where = f"on Ray at {address} ({', '.join(self._names.values())})"

    @property
    def capacity(self) -> int:
        self._look()
        # At least one is handed in, even while there is no node: a cluster that grows by itself grows by demand.
        return self.request.workers or max(1, self._slots)

    def has(self, cell: Cell) -> bool:
        return False  # Ray ends what a driver began when the driver ends

    def submit(self, cell: Cell) -> None:
        claim = contextlib.ExitStack()
        claim.enter_context(self.ledger.workspace.claim(cell))
        try:
            folder = str(self.ledger.folder.resolve())
            keep = self.request.keep_probabilities
            order = Order(cell.to_dict(), folder, self.ledger.workspace.identity(), self.threads, keep, self._demands)
            options = {"runtime_env": {"env_vars": self._environment(cell)}, "name": cell.label}
            ref = self._task.options(**options).remote(order, self._data_of(cell), self._board)
            self._under_way[ref] = _UnderWay(cell, claim)
        except Exception as error:  # its data cannot be read, say: the cell fails here as it would on the node
            self._ended.append((_UnderWay(cell, claim), outcome_of(error)))

    def finished(self) -> Iterator[tuple[Cell, Outcome]]:
        self._collect(0.0)
        while self._ended:
            one, outcome = self._ended.pop(0)
            with one.claim:  # until the outcome has been taken, and filed
                yield one.cell, outcome

    def running(self) -> Mapping[Cell, Progress]:
        self._look()
        queued = Progress(queued=True)
        return {one.cell: self._states.get(one.cell.digest, queued) for one in self._under_way.values()}

    def stop(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        with contextlib.suppress(ray.exceptions.RayError):
            if self._under_way:
                self._cancel_queued()
                ray.get(self._board.stop.remote(), timeout=patience)
            while self._under_way and time.monotonic() < deadline:
                self._collect(1.0)
            for ref in self._under_way:
                ray.cancel(ref, force=True)
            self._collect(LAST_PATIENCE)
        for one in self._under_way.values():
            one.claim.close()
        self._under_way.clear()
        self._leave()

    def _cancel_queued(self) -> None:
        """What waits for room would begin now only to be told to stop."""
        self._look(at_once=True)
        for ref, one in self._under_way.items():
            if one.cell.digest not in self._states:
                ray.cancel(ref)

    def _collect(self, timeout: float) -> None:
        """Take in the tasks that have ended, after waiting for the last of them so long at most."""
        refs = list(self._under_way)
        for ref in ray.wait(refs, num_returns=len(refs), timeout=timeout)[0] if refs else ():
            one = self._under_way.pop(ref)
            self._states.pop(one.cell.digest, None)
            self._board.forget.remote(one.cell.digest)  # another attempt begins anew
            self._ended.append((one, self._outcome(ref)))

    def _outcome(self, ref: Any) -> Outcome:
        try:
            outcome: Outcome = ray.get(ref)
            return outcome
        except ray.exceptions.TaskCancelledError:
            return Outcome(Status.STOPPED)
        except ray.exceptions.NodeDiedError as error:
            return Outcome(Status.TRANSIENT, f"the node was lost ({_first_sentence(error)})")
        except ray.exceptions.OutOfMemoryError:
            return Outcome(Status.TRANSIENT, "the node ran out of memory; --cores 2 would put fewer cells on each")
        except ray.exceptions.WorkerCrashedError:
            return Outcome(Status.TRANSIENT, "the worker was killed, perhaps for want of memory")
        except ray.exceptions.RayError as error:
            return Outcome(Status.TRANSIENT, f"Ray: {_first_sentence(error)}")

    def _environment(self, cell: Cell) -> dict[str, str]:
        """Of the worker; Ray gives each environment processes of its own, so no cell inherits another's threads."""
        runtime = cell.config.runtime
        threads = str(runtime.threads or self.threads)
        own = {"TF_CPP_MIN_LOG_LEVEL": "3", "GPCNOISE_WORKER_FOR": f"{runtime.device} {threads}"}
        no_gpu = {} if self.request.gpus else {"CUDA_VISIBLE_DEVICES": "-1"}
        return {**dict.fromkeys(THREAD_VARIABLES, threads), **own, **no_gpu}

    def _data_of(self, cell: Cell) -> Any:
        """The arrays of the cell's split in Ray's store; cells of one split that follow each other share them."""
        if self.request.ray_send == "nothing":
            return None
        key = (cell.config.dataset, cell.config.protocol, cell.config.split, cell.config.class_weight)
        if self._data[0] != key:
            self._data = (key, ray.put(load_data(cell.config)))
        return self._data[1]

    def _look(self, at_once: bool = False) -> None:
        """Which nodes there are, and what the cells say; now and then."""
        if time.monotonic() - self._looked < LOOK_SECONDS and not at_once:
            return
        with contextlib.suppress(ray.exceptions.RayError):
            before, self._names = self._names, ray_cluster.node_names()
            for node in before.keys() - self._names.keys():
                self._say(f"the node {before[node]} is lost; {len(self._names)} left.")
            for node in self._names.keys() - before.keys() if before else ():
                self._say(f"the node {self._names[node]} has joined.")
            self._slots = ray_cluster.slots(self.threads, self.request.gpus)
            if self._under_way:
                said: dict[str, Progress] = ray.get(self._board.read.remote(), timeout=LAST_PATIENCE)
                ours = {one.cell.digest for one in self._under_way.values()}
                self._states = {
                    digest: replace(progress, place=self._names.get(progress.place, "a lost node"))
                    for digest, progress in said.items()
                    if digest in ours
                }
        self._looked = time.monotonic()

    def _leave(self) -> None:
        if self._ours:
            ray.shutdown()
        self._quiet.close()


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).partition(". ")[0][:200]
