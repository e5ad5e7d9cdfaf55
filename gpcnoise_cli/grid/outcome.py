"""How the computing of a cell ended, as a runner reports it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

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
    """`record` is the result where the runner brings it back as a value; None where it is already in the ledger.

    The probabilities come with it where they were asked for.
    """

    status: Status
    reason: str = ""
    record: dict[str, Any] | None = None
    probabilities: dict[str, np.ndarray] | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """For a worker's line of JSON; such a worker files the result itself."""
        return {"status": self.status.value, "reason": self.reason}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Outcome:
        return cls(Status(stored["status"]), stored["reason"])


@dataclass(frozen=True)
class Progress:
    """How far a cell has come; `step` is None while it is being prepared, `place` says where if that is elsewhere."""

    step: int | None = None
    iterations: int | None = None
    acc: float | None = None
    nll: float | None = None
    place: str = ""
    queued: bool = False  # handed in, but not begun


def outcome_of(error: BaseException) -> Outcome:
    """What an exception means for the cell: the machine's trouble passes, the request's does not."""
    if any(isinstance(one, OSError) and one.errno in _FULL for one in _chain(error)):
        return Outcome(Status.FULL, _sentence(error))
    machine = any(isinstance(one, OSError | MemoryError) for one in (error, error.__cause__))
    if machine or type(error).__name__ == "ResourceExhaustedError":
        return Outcome(Status.TRANSIENT, _sentence(error))
    return Outcome(Status.FAILED, _sentence(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from; a zip file closed on a full disk complains of something else instead."""
    while True:
        yield error
        earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if earlier is None:
            return
        error = earlier


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split())[:500]
    return text if isinstance(error, GpcnoiseError) else f"{type(error).__name__}: {text}"
