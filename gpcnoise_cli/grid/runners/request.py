"""What a user asks of a backend, checked; it imports nothing heavy, because the options of commands are made of it."""

from __future__ import annotations

from dataclasses import dataclass

from gpcnoise_cli.errors import UsageError, unknown_choice

SENT = ("nothing", "data", "all")
EXECUTORS = ("slurm", "local", "debug")


@dataclass(frozen=True)
class Request:
    """Where a campaign is to be computed and what each cell may use, as asked for by the user; None: by default."""

    backend: str = "local"
    workers: int | None = None
    cores: int | None = None
    gpus: float = 0.0
    keep_probabilities: bool = False
    ray_address: str | None = None
    ray_send: str = "data"
    slurm_partition: str | None = None
    slurm_account: str | None = None
    slurm_time: int | None = None
    slurm_mem: str | None = None
    slurm_option: tuple[str, ...] = ()
    slurm_executor: str = "slurm"
    detach: bool = False

    def __post_init__(self) -> None:
        for name, number in (("--workers", self.workers), ("--cores", self.cores), ("--slurm-time", self.slurm_time)):
            if number is not None and number < 1:
                raise UsageError(f"{name} must be at least 1, not {number}.")
        if self.ray_send not in SENT:
            raise unknown_choice("--ray-send", self.ray_send, SENT)
        if self.slurm_executor not in EXECUTORS:
            raise unknown_choice("--slurm-executor", self.slurm_executor, EXECUTORS)
        if not 0 <= self.gpus < float("inf"):
            raise UsageError(f"--gpus must be 0 or more, not {self.gpus}.")
        if self.gpus and self.backend == "local":
            raise UsageError("--gpus is a share of a cluster's GPUs, for --backend ray or slurm; here see --device.")
        for backend in ("ray", "slurm"):
            given = [name for name in vars(self) if name.startswith(f"{backend}_") and self._departs(name)]
            if given and backend != self.backend:
                option = "--" + given[0].replace("_", "-")
                raise UsageError(f"{option} belongs to --backend {backend}, not to --backend {self.backend}.")
        if self.detach and self.backend != "slurm":
            raise UsageError("--detach belongs to --backend slurm: elsewhere nothing goes on when the command ends.")

    def _departs(self, name: str) -> bool:
        return bool(getattr(self, name) != getattr(type(self), name))
