"""How the computing of a cell ended, as a runner reports it."""

from __future__ import annotations

import errno
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from gpcnoise_cli.errors import GpcnoiseError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Status(str, Enum):
    DONE = "done"  # the result is filed, or comes with the outcome
    FAILED = "failed"  # and would fail again
    TRANSIENT = "transient"  # worth another attempt
    FULL = "full"  # no space for results: no cell can be filed
    BUSY = "busy"  # another process computes it
    STOPPED = "stopped"  # asked to stop; the checkpoint is kept


@dataclass(frozen=True)
class Outcome:
    """`record` is the result where the runner brings it back as a value; None where it is already in the ledger."""

    status: Status
    reason: str = ""
    record: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Outcome:
        return cls(Status(stored["status"]), stored["reason"], stored["record"])


@dataclass(frozen=True)
class Progress:
    """How far a cell has come; `step` is None while it is being prepared."""

    step: int | None = None
    iterations: int | None = None
    acc: float | None = None
    nll: float | None = None


def outcome_of(error: BaseException) -> Outcome:
    """What an exception means for the cell: the machine's trouble passes, the request's does not."""
    causes = [error, error.__cause__]
    troubles = [cause for cause in causes if isinstance(cause, OSError)]
    if any(trouble.errno in _FULL for trouble in troubles):
        return Outcome(Status.FULL, _sentence(error))
    if troubles or isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return Outcome(Status.TRANSIENT, _sentence(error))
    return Outcome(Status.FAILED, _sentence(error))


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split())[:500]
    return text if isinstance(error, GpcnoiseError) else f"{type(error).__name__}: {text}"
