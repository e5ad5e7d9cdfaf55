"""The options of every command that computes many cells; apart from what runs them, so that help stays quick."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def _work(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Work", **more)


Workers = Annotated[
    int | None, _work("--workers", help="Cells computed at a time. Default: one per core.", metavar="N")
]
DryRun = Annotated[bool, _work("--dry-run", help="Say what is done, what is left, and how long it will take.")]
RetryFailed = Annotated[bool, _work("--retry-failed", help="Try again the cells that are recorded as failed.")]
Shard = Annotated[str | None, _work("--shard", help="Compute only part I of N, for several machines.", metavar="I/N")]
KeepProbabilities = Annotated[
    bool, _work("--keep-probabilities", help="Keep the test-set probabilities beside each result (npz).")
]
