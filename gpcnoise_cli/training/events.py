"""What a run tells the outside while it is under way. The trainer calls; the command line shows; tests listen."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gpcnoise_cli.evaluation.metrics import Metrics


@dataclass(frozen=True)
class CurvePoint:
    """The state of a run at one step."""

    step: int
    seconds: float  # of training, evaluation not counted
    elbo: float | None  # mean over the latest steps; of the objective, if that is another; None where there is none
    acc: float
    nll: float
    delta: float | None

    @classmethod
    def at(cls, step: int, seconds: float, elbo: float | None, metrics: Metrics, delta: float | None) -> CurvePoint:
        return cls(step, seconds, elbo, metrics.acc, metrics.nll, delta)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class TrainingEvents:
    """A listener that ignores everything; override what is wanted."""

    def started(self, step: int, iterations: int) -> None:
        """Training begins at `step` and is planned to end at `iterations`."""

    def progressed(self, step: int, iterations: int, loss: float) -> None:
        """Steps up to `step` are done; `loss` is the last one; `iterations` is the end as planned now."""

    def measured(self, point: CurvePoint) -> None:
        """The test metrics were taken."""

    def message(self, text: str) -> None:
        """Something worth knowing happened: jitter was raised, the run stops early, a checkpoint was written."""
