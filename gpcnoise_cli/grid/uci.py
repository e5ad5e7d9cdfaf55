"""The paper's UCI benchmark (Tables II to V): its cells, and where its results are filed.

The cells are the product of sets, splits and what is compared: each likelihood of the SVGP, and each further method.
The cheapest come first within each split, in an order that depends on nothing but the grid, so that shards on different
machines divide it without talking to each other.

Full settings of a preset are filed under `uci` (paper) or `uci-<preset>`. A grid that departs from its preset, say by
fewer steps, is filed under a name that says so, unless the user names a folder of their own for it.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gpcnoise_cli.config.compare import differences
from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.config.schema import SVGP, TrainConfig
from gpcnoise_cli.config.validate import validate
from gpcnoise_cli.data.registry import DATASETS, UCI_NAMES, get_spec
from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.cost import flops_of
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.request import check_size
from gpcnoise_cli.likelihoods.registry import likelihood_spec
from gpcnoise_cli.methods.registry import method_spec

RESULTS = Path("results")


@dataclass(frozen=True)
class Column:
    """What is compared on every set: `likelihood` or `method`, and its name."""

    key: str
    name: str


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
    methods: tuple[str, ...] = (SVGP,)

    @property
    def columns(self) -> list[Column]:
        """The SVGP has a column for each likelihood, every other method one."""
        of_svgp = [Column("likelihood", name) for name in self.likelihoods]
        return [one for name in self.methods for one in (of_svgp if name == SVGP else [Column("method", name)])]

    def cells(self) -> list[Cell]:
        check_size(len(self.splits) * len(self.datasets) * len(self.columns))
        cells = [
            self._cell(column, dataset, split)
            for split in self.splits
            for dataset in self.datasets
            for column in self.columns
            if self._has(column, dataset)
        ]
        return sorted(cells, key=lambda cell: (cell.config.split, flops_of(cell.config)))

    def unfit(self) -> dict[str, list[str]]:
        """The sets that a column is left out on because it is for another number of classes."""
        found = {column.name: [name for name in self.datasets if not fits(column, name)] for column in self.columns}
        return {name: sets for name, sets in found.items() if sets}

    def departures(self) -> dict[str, Any]:
        """The settings in which any of its columns differs from the preset: empty for a grid whose results count."""
        return {key: value for column in self.columns for key, value in self._departures[column].items()}

    @cached_property
    def _bases(self) -> dict[Column, TrainConfig]:
        # One composition per column: the other coordinates are single values that need none (and a test of that).
        return {column: self._compose(column, self.overrides) for column in self.columns}

    @cached_property
    def _departures(self) -> dict[Column, dict[str, Any]]:
        # Each column by itself: an override may repeat what the preset says of one likelihood, but not of another.
        return {
            column: differences(base, self._compose(column, ())) if self.overrides else {}
            for column, base in self._bases.items()
        }

    def _compose(self, column: Column, overrides: Sequence[str]) -> TrainConfig:
        coordinates = {
            "preset": self.preset,
            "dataset": self.datasets[0],
            "kernel": self.kernel,
            "protocol": self.protocol,
            column.key: column.name,
        }
        return compose([*(assign(key, value) for key, value in coordinates.items()), *overrides])

    def _cell(self, column: Column, dataset: str, split: int) -> Cell:
        base = self._bases[column]
        config = dataclasses.replace(base, dataset=dataclasses.replace(base.dataset, name=dataset), split=split)
        validate(config)
        name = f"{self.protocol}/{self.kernel}/{dataset}/{column.name}/split-{split:02d}"
        return Cell.of(name, config, self._departures[column])

    def _has(self, column: Column, dataset: str) -> bool:
        wanted = column.key == "method" or self.all_likelihoods or applies(column.name, dataset)
        return wanted and fits(column, dataset)


def applies(likelihood: str, dataset: str) -> bool:
    """Whether the pair has a place in the paper's tables: its softmax is for more than two classes."""
    return likelihood_spec(likelihood).binary_published or get_spec(dataset).num_classes != 2


def fits(column: Column, dataset: str) -> bool:
    """Whether it is for as many classes as the set has."""
    spec = likelihood_spec(column.name) if column.key == "likelihood" else method_spec(column.name)
    return spec.fits(get_spec(dataset).num_classes or 2)


def folder_name(preset: str, departures: Mapping[str, Any]) -> str:
    """`uci`, `uci-fast`, `uci-iterations-200`, ..."""
    parts = ["uci", *([] if preset == "paper" else [preset])]
    parts += [f"{key.rpartition('.')[2]}-{value}" for key, value in sorted(departures.items())]
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", "-".join(parts))


def ledger_for(grid: Grid, results: Path | None) -> Ledger:
    """Where the grid is filed. A folder of the user's own gets the plain name: its owner knows what it holds."""
    own = results is not None and os.path.realpath(results) != os.path.realpath(RESULTS)
    return Ledger((results or RESULTS) / folder_name(grid.preset, {} if own else grid.departures()))


def check_sets(names: Sequence[str]) -> None:
    if not names:
        raise UsageError(f"name at least one set; choose from: {', '.join(UCI_NAMES)}.")
    for name in names:
        if name in DATASETS and name not in UCI_NAMES:
            raise UsageError(f"{name!r} is not one of the paper's UCI sets; choose from: {', '.join(UCI_NAMES)}.")
        if name not in UCI_NAMES:
            raise unknown_choice("dataset", name, UCI_NAMES)
