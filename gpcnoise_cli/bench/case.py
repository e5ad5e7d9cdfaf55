"""A case: the sizes one training step is timed at, and synthetic rows of that shape.

C counts latent functions, as in the paper's cost m²BC: one for two classes under the probit, one per class under the
softmax. The lengthscale starts at √d, so that no kernel value is so small that it becomes a denormal number, which
some processors handle many times slower than the rest. What the kernel is stands in the case and not in a preset, so
that a change of presets does not change what is measured.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.schema import TrainConfig


@dataclass(frozen=True)
class Case:
    """One problem size; `rows` is n, `inducing` m and `batch_size` B."""

    C: int
    d: int
    inducing: int = 300
    batch_size: int = 1024
    rows: int = 20_000
    likelihood: str = "softmax"
    ard: bool = False
    shared: bool = True  # one kernel for all latent functions, or one for each

    @property
    def label(self) -> str:
        return f"C = {self.C}, d = {self.d}" + ("" if self.shared else ", one kernel per class")

    @property
    def num_classes(self) -> int:
        return max(self.C, 2)

    @property
    def lengthscale(self) -> float:
        return float(np.sqrt(self.d))

    @property
    def gemm_flops(self) -> float:
        """4 m² B C: P_c A for every class on the way forward, A diag(g_c) Aᵀ on the way back."""
        return 4.0 * self.inducing**2 * min(self.batch_size, self.rows) * self.C

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def config(self, optimizer: str = "adam", precision: str = "float64") -> TrainConfig:
        """The paper's settings at this size."""
        return compose(
            [
                "preset=paper",
                f"likelihood={self.likelihood}",
                f"kernel.ard={self.ard}",
                f"kernel.shared={self.shared}",
                f"optimizer={optimizer}",
                f"runtime.precision={precision}",
                f"inducing={self.inducing}",
                f"batch_size={self.batch_size}",
            ]
        )


# The sizes at which speed is claimed: one latent function, a few, and many; then a kernel for each of them.
STANDARD_CASES = (
    Case(C=1, d=21, likelihood="probit"),
    Case(C=3, d=41),
    Case(C=26, d=17),
    Case(C=3, d=41, ard=True, shared=False),
    Case(C=26, d=17, ard=True, shared=False),
)


@dataclass(frozen=True)
class Problem:
    """A case with its rows and the inducing points every system starts from."""

    case: Case
    X: NDArray[np.floating]
    y: NDArray[np.int32]
    Z: NDArray[np.float64]


def synthetic(case: Case, dtype: type[np.floating] = np.float64, seed: int = 0) -> Problem:
    """Normal inputs; the label is the largest of some noisy linear scores."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((case.rows, case.d), dtype=np.float32)
    scores = X @ random.standard_normal((case.d, case.num_classes), dtype=np.float32)
    scores += random.standard_normal(scores.shape, dtype=np.float32)
    y = scores.argmax(axis=1).astype(np.int32)
    return Problem(case, X.astype(dtype, copy=False), y, X[: case.inducing].astype(np.float64))
