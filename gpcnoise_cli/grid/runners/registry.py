"""The backends that a campaign can be computed by, the package that each needs, and the way to its runner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.cost import Estimator
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.runners.base import Runner
from gpcnoise_cli.grid.runners.request import Request

Say = Callable[[str], None]
Open = Callable[[Request, Sequence[Cell], Ledger, Estimator, Say], Runner]


@dataclass(frozen=True)
class Backend:
    """`package` is what it needs beyond this program, which the extra of the backend's name installs."""

    name: str
    package: str | None
    open: Open

    def version(self) -> str | None:
        """Of its package; None where that is not installed."""
        if self.package is None or find_spec(self.package) is None:
            return None
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    @property
    def available(self) -> bool:
        return self.package is None or self.version() is not None

    @property
    def how_to_get(self) -> str:
        return f"pip install 'gpcnoise[{self.name}]'"


def _local(request: Request, cells: Sequence[Cell], ledger: Ledger, estimator: Estimator, say: Say) -> Runner:
    from gpcnoise_cli.grid.runners.local import LocalRunner, default_workers

    workers = request.workers or default_workers(len(cells))
    keep = request.keep_probabilities
    return LocalRunner(ledger, workers, threads=request.cores, keep_probabilities=keep, say=say)


def _ray(request: Request, cells: Sequence[Cell], ledger: Ledger, estimator: Estimator, say: Say) -> Runner:
    check_rows_travel(request, cells)
    from gpcnoise_cli.grid.runners.ray import RayRunner

    return RayRunner(ledger, request, cells, say)


def _slurm(request: Request, cells: Sequence[Cell], ledger: Ledger, estimator: Estimator, say: Say) -> Runner:
    from gpcnoise_cli.grid.runners.slurm import SlurmRunner

    return SlurmRunner(ledger, request, estimator, say)


BACKENDS = {
    backend.name: backend
    for backend in (Backend("local", None, _local), Backend("ray", "ray", _ray), Backend("slurm", "submitit", _slurm))
}


def check_rows_travel(request: Request, cells: Sequence[Cell]) -> None:
    """Refuse to send rows that are on a disk to machines that do not have it."""
    sends = request.backend == "ray" and request.ray_send != "nothing"
    if sends and any(cell.config.dataset.storage == "disk" for cell in cells):
        raise UsageError(
            "dataset.storage=disk keeps training rows on the disk of one machine, and --backend ray sends them to "
            "others; add --ray-send nothing, so that each reads the data itself, or take dataset.storage=memory."
        )


def backend_of(request: Request) -> Backend:
    """The backend that is asked for, or a sentence that says what to install."""
    if request.backend not in BACKENDS:
        raise unknown_choice("backend", request.backend, BACKENDS)
    backend = BACKENDS[request.backend]
    if not backend.available:
        raise UsageError(
            f"--backend {backend.name} needs the package {backend.package}, which is not installed: "
            f"{backend.how_to_get}, or omit it to compute on this machine."
        )
    return backend
