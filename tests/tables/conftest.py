"""Measured figures to make tables of: the published ones, as if they had been measured here."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import METRICS, published_figures
from gpcnoise_cli.tables.uci_figures import paper_methods

Make = Callable[..., Measured]
ERROR = 0.0123


@pytest.fixture
def as_published() -> Make:
    def make(kernel: str = "rbf", *, splits: int = 10, without: tuple[str, ...] = (), shift: float = 0.0) -> Measured:
        figures = {
            (metric, dataset, method): _over(splits, value + shift)
            for metric in METRICS
            for (dataset, method), value in published_figures(metric, kernel).items()
            if method in paper_methods() and dataset not in without
        }
        return Measured("paper", kernel, figures, ("preset paper, 10000 steps, m = 300, batch 1024",), ())

    return make


def _over(splits: int, value: float) -> Figure:
    """A mean over so many splits, with a standard error of `ERROR`."""
    steps = [split - (splits - 1) / 2 for split in range(splits)]
    spread = math.sqrt(sum(step**2 for step in steps) / max(splits - 1, 1)) or 1.0
    return Figure.of_splits(
        {split: value + ERROR * math.sqrt(splits) * step / spread for split, step in enumerate(steps)}
    )
