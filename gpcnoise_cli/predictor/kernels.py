"""The kernels of `models.kernels` in NumPy: K = σ² φ(|x − z|²) for rows divided by their lengthscales, or sums of such.

Parameters of G kernels are stacked, one kernel for all latent functions or one for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpcnoise_cli.predictor.nodes import Array

# −½|x − z|² beyond which no kernel differs from zero; without it a Matérn kernel would meet ∞ · 0.
FARTHEST = -1e7


# σ²φ from −½|x − z|² and log σ². The variance is no factor of its own: ONNX Runtime would move it into the product that
# comes next, and round it to float32 there.
def _gaussian(half: Array, log_variance: float) -> Array:
    return np.exp(half + log_variance)


def _matern32(half: Array, log_variance: float) -> Array:
    t = np.sqrt(np.maximum(-6.0 * half, 1e-36))  # √3 |x − z|
    return (1.0 + t) * np.exp(log_variance - t)


def _matern52(half: Array, log_variance: float) -> Array:
    t = np.sqrt(np.maximum(-10.0 * half, 1e-36))  # √5 |x − z|
    return (1.0 + t + t * t / 3.0) * np.exp(log_variance - t)


PROFILES: dict[str, Callable[[Array, float], Array]] = {"rbf": _gaussian, "matern32": _matern32, "matern52": _matern52}
PARTS = {**{name: (name,) for name in PROFILES}, "matern52+rbf": ("matern52", "rbf")}
"""Of which profiles each kernel is the sum."""


@dataclass(frozen=True)
class Part:
    """One term of the sum."""

    profile: str
    lengthscales: Array  # [G, d] or [G, 1]
    variance: Array  # [G]

    def between(self, X: Array, Z: Array, g: int) -> Array:
        x, z = X / self.lengthscales[g], Z / self.lengthscales[g]
        left = np.concatenate([x, np.sum(x * x, axis=1, keepdims=True)], axis=1)
        right = np.concatenate([z, np.full((len(z), 1), -0.5)], axis=1)
        half = left @ right.T - 0.5 * np.sum(z * z, axis=1)
        return PROFILES[self.profile](np.maximum(half, FARTHEST), math.log(self.variance[g]))


@dataclass(frozen=True)
class Kernels:
    """G kernels on the same inputs."""

    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return len(self.parts[0].variance)

    def between(self, X: Array, Z: Array, g: int) -> Array:
        """K of kernel g, [n, m]."""
        K = self.parts[0].between(X, Z, g)
        for part in self.parts[1:]:
            K = K + part.between(X, Z, g)
        return K

    def variance(self, g: int) -> float:
        """k(x, x), the same at every x."""
        return float(sum(part.variance[g] for part in self.parts))


def read_kernels(config: Mapping[str, Any], arrays: Mapping[str, Array], d: int, num_latent: int) -> Kernels | None:
    """From the stored, unconstrained parameters; None for a kernel that is not known here."""
    name, ard = config["name"], config["ard"]
    if name not in PARTS:
        return None
    positive = np.exp if config["log_scale"] else softplus
    stack = "stack." if any(key.startswith("kernel.stack.") for key in arrays) else ""
    G = num_latent if stack else 1
    parts = []
    for number, profile in enumerate(PARTS[name]):
        at = f"kernel.{stack}" + (f"kernels[{number}]." if len(PARTS[name]) > 1 else "")
        lengthscales, variance = (positive(wide(arrays[at + key])) for key in ("lengthscales", "variance"))
        front = (G,) if stack else ()
        if (lengthscales.shape, variance.shape) != ((*front, d) if ard else front, front):
            raise ValueError("the parameters are not those of the configuration")
        parts.append(Part(profile, lengthscales.reshape(G, -1), variance.reshape(G)))
    return Kernels(tuple(parts))


def softplus(x: Array) -> Array:
    return np.logaddexp(0.0, x)


def wide(values: Any) -> Array:
    """In float64, whatever they are stored in."""
    return np.asarray(values, dtype=np.float64)
