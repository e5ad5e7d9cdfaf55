"""The settings of the self-normalising network, within their limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpcnoise_cli.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """Those of conf/method/selu.yaml, within their limits."""

    layers: int
    units: int
    conic: bool
    dropout: float
    learning_rate: float
    batch_size: int
    epochs: int
    validation: float
    patience: int

    def __post_init__(self) -> None:
        for key in ("layers", "units", "batch_size", "epochs", "patience"):
            self._check(key, getattr(self, key) >= 1, "at least 1")
        self._check("learning_rate", 0 < self.learning_rate < math.inf, "greater than 0")
        for key in ("dropout", "validation"):
            self._check(key, 0 <= getattr(self, key) < 1, "at least 0 and less than 1")

    def _check(self, key: str, holds: bool, words: str) -> None:
        if not holds:
            raise UsageError(f"method.settings.{key} must be {words}, not {getattr(self, key)!r}.")

    def widths(self, num_classes: int) -> list[int]:
        """The units of each hidden layer."""
        if not self.conic:
            return [self.units] * self.layers
        ratio = (num_classes / self.units) ** (1 / self.layers)
        return [max(1, round(self.units * ratio**layer)) for layer in range(self.layers)]
