"""Data sets that need no file: Breiman's four recipes and the three-class sample from a GP prior.

The recipes are those behind the archive's own waveform, waveform-noise, ringnorm and twonorm files, with as many rows
and a fixed seed. `RandomState` streams are frozen by NumPy, so the same rows come out on every machine and version.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.split import Table

Sample = tuple[NDArray[np.float64], NDArray[np.int64]]


def sample_waveform(n: int = 5000, seed: int = 1, num_noise: int = 0) -> Sample:
    """Random convex mixtures of two of three triangular waves on 21 points, plus unit noise (CART, pp. 49–55)."""
    random = np.random.RandomState(seed)
    t = np.arange(1, 22)
    waves = np.maximum(6.0 - np.abs(t - np.array([[11], [15], [7]])), 0.0)
    pairs = np.array([[1, 2], [0, 2], [0, 1]])  # classes numbered as in the archive's file
    y = random.randint(0, 3, size=n)
    u = random.uniform(size=(n, 1))
    mixture = u * waves[pairs[y, 0]] + (1.0 - u) * waves[pairs[y, 1]]
    X = mixture + random.standard_normal((n, 21))
    if num_noise:
        X = np.hstack([X, random.standard_normal((n, num_noise))])
    return X, y.astype(np.int64)


def sample_waveform_noise(n: int = 5000, seed: int = 2) -> Sample:
    """Waveform with 19 further columns of pure noise."""
    return sample_waveform(n, seed, num_noise=19)


def sample_twonorm(n: int = 7400, seed: int = 3, d: int = 20) -> Sample:
    """Two unit normals with means ±2/√d (1, …, 1)."""
    random = np.random.RandomState(seed)
    y = random.randint(0, 2, size=n)
    a = 2.0 / np.sqrt(d)
    X = random.standard_normal((n, d)) + np.where(y == 0, a, -a)[:, None]
    return X, y.astype(np.int64)


def sample_ringnorm(n: int = 7400, seed: int = 4, d: int = 20) -> Sample:
    """A wide normal N(0, 4I) around a narrow one, N(a (1, …, 1), I); a = 2/√d, as measured in the archive's file."""
    random = np.random.RandomState(seed)
    y = random.randint(0, 2, size=n)
    a = 2.0 / np.sqrt(d)
    noise = random.standard_normal((n, d))
    X = np.where(y[:, None] == 0, 2.0 * noise, noise + a)
    return X, y.astype(np.int64)


def sample_three_class(n: int = 400, seed: int = 5, lengthscale: float = 0.2) -> Sample:
    """The argmax of three draws from a GP prior with an RBF kernel, at uniform points on the unit square."""
    random = np.random.RandomState(seed)
    X = random.uniform(size=(n, 2))
    squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(-1)
    # The jitter only makes the factorisation possible: its standard deviation is a thousandth of the prior's.
    L = np.linalg.cholesky(np.exp(-0.5 * squared / lengthscale**2) + 1e-6 * np.eye(n))
    return X, (L @ random.standard_normal((n, 3))).argmax(axis=1).astype(np.int64)


GENERATORS: dict[str, Callable[[], Sample]] = {
    "waveform": sample_waveform,
    "waveform-noise": sample_waveform_noise,
    "twonorm": sample_twonorm,
    "ringnorm": sample_ringnorm,
    "three-class": sample_three_class,
}


def generate(name: str, *, row_number: bool = False) -> Table:
    """The generated set `name`; with `row_number`, a first column numbers its rows as in the archive's files."""
    X, y = GENERATORS[name]()
    features = tuple(f"f{j + 1}" for j in range(X.shape[1]))
    if row_number:
        X = np.hstack([np.arange(1.0, len(X) + 1.0)[:, None], X])
        features = ("row", *features)
    return Table(X, y, tuple(range(int(y.max()) + 1)), features, source="generated")
