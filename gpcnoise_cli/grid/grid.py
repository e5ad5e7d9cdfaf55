"""A grid: the product of sets, likelihoods and splits as cells, the cheapest first within each split.

The order depends on nothing but the grid, so that shards on different machines divide it without talking to each other.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.registry import get_spec
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.cell import Cell, differences
from gpcnoise_cli.grid.cost import flops_of
from gpcnoise_cli.likelihoods.registry import likelihood_spec

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Grid:
    """What `reproduce uci` is asked for; `overrides` are further settings, the same for all cells."""

    preset: str
    protocol: str
    kernel: str
    datasets: tuple[str, ...]
    likelihoods: tuple[str, ...]
    splits: tuple[int, ...]
    overrides: tuple[str, ...] = ()
    all_likelihoods: bool = False

    def cells(self) -> list[Cell]:
        # One composition per likelihood: the other coordinates are single values that need none (and a test of that).
        departures = self.departures()
        bases = {likelihood: self._compose(likelihood, self.overrides) for likelihood in self.likelihoods}
        cells = [
            self._cell(bases[likelihood], dataset, likelihood, split, departures)
            for split in self.splits
            for dataset in self.datasets
            for likelihood in self.likelihoods
            if self.all_likelihoods or applies(likelihood, dataset)
        ]
        return sorted(cells, key=lambda cell: (cell.config.split, flops_of(cell.config)))

    def departures(self) -> dict[str, Any]:
        """The settings in which this grid differs from its preset: empty for one whose results count."""
        if not self.overrides:
            return {}
        # An override says the same to every likelihood, so one of them shows it.
        likelihood = self.likelihoods[0]
        return differences(self._compose(likelihood, self.overrides), self._compose(likelihood, ()))

    def _compose(self, likelihood: str, overrides: Sequence[str]) -> TrainConfig:
        coordinates = {
            "experiment": self.preset,
            "dataset": self.datasets[0],
            "likelihood": likelihood,
            "kernel": self.kernel,
            "protocol": self.protocol,
        }
        return compose([*(assign(key, value) for key, value in coordinates.items()), *overrides])

    def _cell(
        self, base: TrainConfig, dataset: str, likelihood: str, split: int, departures: Mapping[str, Any]
    ) -> Cell:
        config = dataclasses.replace(base, dataset=dataclasses.replace(base.dataset, name=dataset), split=split)
        name = f"{self.protocol}/{self.kernel}/{dataset}/{likelihood}/split-{split:02d}"
        return Cell.of(name, config, departures)


def applies(likelihood: str, dataset: str) -> bool:
    """Whether the paper has a figure for the pair: its softmax is for more than two classes."""
    return likelihood_spec(likelihood).binary_published or get_spec(dataset).num_classes != 2


def parse_numbers(text: str, what: str) -> tuple[int, ...]:
    """`0-9`, `3` or `0,2,5-7` as numbers in order, each once."""
    numbers: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part)
        if found is None or (found[2] is not None and int(found[2]) < int(found[1])):
            raise UsageError(f"{what} {text!r} cannot be read; write numbers and ranges such as 0-9 or 0,2,5-7.")
        numbers |= set(range(int(found[1]), int(found[2] or found[1]) + 1))
    return tuple(sorted(numbers))


def parse_names(text: str) -> tuple[str, ...]:
    """Names between commas, each once, in the order given."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def take_shard(items: Sequence[_Item], shard: str | None) -> list[_Item]:
    """Part I of N: every N-th item from the I-th on, so that each part gets cheap and dear ones alike."""
    if shard is None:
        return list(items)
    found = re.fullmatch(r"(\d+)/(\d+)", shard)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise UsageError(f"--shard {shard!r} cannot be read; write I/N with 1 ≤ I ≤ N, such as 1/4.")
    return list(items[part - 1 :: parts])
