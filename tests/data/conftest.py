"""Data files for the tests of this floor: the real ones, and small made ones of the archive's form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def real_data(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real files as the data folder."""
    monkeypatch.setenv("GPCNOISE_DATA_DIR", str(shared_data))
    return shared_data


def write_archive_file(path: Path, n: int, d: int, num_classes: int, seed: int = 0) -> np.ndarray:
    """A file of the archive's form, sorted by class as miniboone is; returns its matrix."""
    random = np.random.RandomState(seed)
    y = np.sort(random.randint(0, num_classes, size=n))
    X = random.standard_normal((n, d)).round(5)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t" + "\t".join(f"f{j + 1}" for j in range(d)) + "\tclase"]
    lines += [f"{i + 1}\t" + "\t".join(repr(float(x)) for x in X[i]) + f"\t{y[i]}" for i in range(n)]
    path.write_text("\n".join(lines) + "\n")
    return np.column_stack([np.arange(1.0, n + 1), X, y])
