"""The time of a training step as a sum of few terms, each a count of operations times a constant that was fitted.

The counts are those of the fused conditional (docs/engine.md) for C latent functions, G kernels, m inducing points and
B rows with d features. The constants are fitted to measured times (`fit`) and kept, with where they come from, in
constants.json. A step of another optimizer or precision takes a fitted multiple of the first one's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.errors import UsageError

KEPT = Path(__file__).with_name("constants.json")
# What does not become less when several devices share the rows of a minibatch, or none of it is rows.
UNSHARED = ("step", "class factors", "kernel factors")
# Done in float64 under mixed precision.
EXACT = ("class factors", "kernel factors")


@dataclass(frozen=True)
class Sizes:
    """What the time of a step depends on."""

    latent: int
    kernels: int
    inducing: int
    batch: int
    features: int

    def counts(self) -> dict[str, float]:
        """Operations by term; `step` is what every step costs whatever its size."""
        C, G, m, B, d = map(float, (self.latent, self.kernels, self.inducing, self.batch, self.features))
        return {
            "step": 1.0,
            "class products": 4 * C * m * m * B,  # P_c A and A diag(g_c) Aᵀ
            "class factors": 2 * C * m**3,
            "kernel factors": 4 * G * m**3,
            "distances": 2 * G * m * B * d,
            "kernel values": G * m * B,
        }


@dataclass(frozen=True)
class StepCost:
    """The fitted constants, and what they were fitted to."""

    seconds: Mapping[str, float]
    """Per operation, by term: Adam in mixed precision."""
    factors: Mapping[str, float]
    """How many times as long a step takes: float64, float32, natgrad."""
    product_gflops: float
    """Of one large float32 product on the machine of the measurements."""
    machine: str
    points: int
    median_error: float
    largest_error: float
    command: str

    def terms(self, sizes: Sizes, optimizer: str = "adam", precision: str = "mixed") -> dict[str, float]:
        """Seconds of a step, by term."""
        factor = self.factors.get(optimizer, 1.0) * self.factors.get(precision, 1.0)
        return {term: factor * self.seconds[term] * count for term, count in sizes.counts().items()}

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, path: Path = KEPT) -> StepCost:
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"{path} holds no constants ({error}); `gpcnoise bench fit` makes such a file.") from error
