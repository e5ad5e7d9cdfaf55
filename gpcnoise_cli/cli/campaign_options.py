"""The options of every command that computes many cells; apart from what runs them, so that help stays quick."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_type_hints

import typer

from gpcnoise_cli.grid.runners.request import EXECUTORS, SENT, Request


def _option(panel: str, *names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


_work = functools.partial(_option, "Work")
_elsewhere = functools.partial(_option, "Elsewhere")

DryRun = Annotated[bool, _work("--dry-run", help="Say what is done, what is left, and how long it will take.")]
RetryFailed = Annotated[bool, _work("--retry-failed", help="Try again the cells that are recorded as failed.")]
Shard = Annotated[str | None, _work("--shard", help="Compute only part I of N, for several machines.", metavar="I/N")]

# For each field of a request.
_OPTIONS = {
    "workers": _work("--workers", help="Cells computed at a time. Default: all there is room for.", metavar="N"),
    "keep_probabilities": _work("--keep-probabilities", help="Keep the test-set probabilities with each result (npz)."),
    "backend": _elsewhere("--backend", help="local (processes here), ray or slurm; see docs/scale.md."),
    "cores": _elsewhere(
        "--cores",
        help="Threads of each cell. Default: its share of the cores; on a cluster, 1.",
        metavar="N",
    ),
    "gpus": _elsewhere("--gpus", help="GPUs of each cell on a cluster; Ray takes fractions.", metavar="N"),
    "ray_address": _elsewhere(
        "--ray-address", help="HOST:PORT or auto. Default: RAY_ADDRESS, else Ray is started here.", metavar="ADDRESS"
    ),
    "ray_send": _elsewhere("--ray-send", help=f"What nodes get with a cell: {', '.join(SENT)} (data and this code)."),
    "slurm_partition": _elsewhere("--slurm-partition", help="As for sbatch.", metavar="NAME"),
    "slurm_account": _elsewhere("--slurm-account", help="As for sbatch.", metavar="NAME"),
    "slurm_time": _elsewhere("--slurm-time", help="Wall time of a job. Default: by estimate.", metavar="MINUTES"),
    "slurm_mem": _elsewhere("--slurm-mem", help="Memory of a job, such as 8GB.", metavar="SIZE"),
    "slurm_option": _elsewhere("--slurm-option", help="Any other option of sbatch; repeatable.", metavar="KEY=VALUE"),
    "slurm_executor": _elsewhere("--slurm-executor", help=f"submitit's: {', '.join(EXECUTORS)}; the others to try."),
    "detach": _elsewhere("--detach", help="Submit to SLURM and return; the same command collects later."),
}


def with_backend_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give `command(request: Request, ...)` the options that make the request; its other parameters stay its own."""
    own = dict(inspect.signature(command, eval_str=True).parameters)
    del own["request"]

    @functools.wraps(command)
    def with_request(**given: Any) -> Any:
        asked = {name: given.pop(name) for name in _OPTIONS if name in given}
        asked["slurm_option"] = tuple(asked.get("slurm_option") or ())
        return command(request=Request(**asked), **given)

    keyword, types = inspect.Parameter.KEYWORD_ONLY, get_type_hints(Request)
    made = []
    for field in fields(Request):
        many = field.name == "slurm_option"
        kind, default = (list[str] | None, None) if many else (types[field.name], field.default)
        assert default is not MISSING
        made.append(
            inspect.Parameter(field.name, keyword, default=default, annotation=Annotated[kind, _OPTIONS[field.name]])
        )
    parameters = [*(one.replace(kind=keyword) for one in own.values()), *made]
    with_request.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_request.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_request
