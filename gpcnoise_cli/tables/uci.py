"""All tables of the UCI benchmark that were asked for, from the cells of a results folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.uci import RESULTS, folder_name
from gpcnoise_cli.tables.measured import Measured, collect
from gpcnoise_cli.tables.published import METRICS, SUM_KERNEL
from gpcnoise_cli.tables.statistics import Comparison
from gpcnoise_cli.tables.table import Table
from gpcnoise_cli.tables.uci_comparisons import against_table, presets_table, protocols_table
from gpcnoise_cli.tables.uci_ranks import comparisons, pair_table, rank_table
from gpcnoise_cli.tables.uci_tables import averages_table, kernel_table, metric_table

PRESETS = ("paper", "fast")
PROTOCOLS = ("paper", "clean")
KINDS = ("acc", "nll", "averages", "kernel", "ranks")


@dataclass(frozen=True)
class Request:
    """Which tables, of which results; `against` puts the published figures of the same methods beside them."""

    kinds: Sequence[str] = KINDS
    kernel: str = "rbf"
    presets: Sequence[str] = PRESETS[:1]
    protocols: Sequence[str] = PROTOCOLS[:1]
    against: bool = False

    @property
    def metrics(self) -> list[str]:
        return [metric for metric in METRICS if metric in self.kinds]


@dataclass(frozen=True)
class UciTables:
    """The tables, and the statistics behind the ranks by protocol, metric and kind of sets."""

    folder: Path
    tables: Sequence[Table]
    comparisons: dict[tuple[str, str, str], Comparison]


def uci_tables(request: Request, base: Path) -> UciTables:
    """The tables from `base`: a folder of ledgers, or the ledger itself; refused where there is nothing to show."""
    if len(request.presets) > 1:
        return UciTables(base, _presets_beside(request, base), {})
    (preset,) = request.presets
    # The ledger may be named itself: then it holds protocols.
    is_ledger = any((base / name).is_dir() for name in request.protocols)
    folder = base if is_ledger else base / folder_name(preset, {})
    measured = [one for name in request.protocols if (one := collect(folder, name, request.kernel))]
    with_sums = request.protocols if "kernel" in request.kinds else ()
    sums = [one for name in with_sums if (one := collect(folder, name, SUM_KERNEL))]
    if not measured and not sums:
        raise UsageError(
            f"{folder} has no results for kernel {request.kernel} and protocol {' or '.join(request.protocols)}; "
            f"compute some by: {_command(request, preset, base)}."
        )
    compared = {
        (one.protocol, metric, kind): comparison
        for one in measured
        for metric in METRICS
        for kind, comparison in comparisons(metric, one).items()
    }
    return UciTables(folder, _tables(request, measured, sums, compared), compared)


def _command(request: Request, preset: str, base: Path) -> str:
    """What computes the cells that were asked for."""
    words = ["--preset", preset, "--protocol", request.protocols[0], "--kernel", request.kernel]
    return shlex.join(["gpcnoise", "reproduce", "uci", *words, *(["--results", str(base)] if base != RESULTS else [])])


def _tables(
    request: Request,
    measured: Sequence[Measured],
    sums: Sequence[Measured],
    compared: dict[tuple[str, str, str], Comparison],
) -> list[Table]:
    several = len({one.protocol for one in (*measured, *sums)}) > 1
    tables: list[Table] = []
    for one in measured:
        found = [(against_table if request.against else metric_table)(metric, one) for metric in request.metrics]
        found += [averages_table(one)] if "averages" in request.kinds else []
        if "ranks" in request.kinds:
            for (protocol, metric, kind), comparison in compared.items():
                if protocol == one.protocol:
                    found += [make(metric, kind, comparison, one) for make in (rank_table, pair_table)]
        tables += _named(found, one.protocol) if several else found
    for one in sums:
        tables += _named([kernel_table(one)], one.protocol) if several else [kernel_table(one)]
    by_protocol = {one.protocol: one for one in measured}
    if len(by_protocol) == 2:
        paper, clean = (by_protocol[name] for name in PROTOCOLS)
        tables += [protocols_table(metric, paper, clean) for metric in request.metrics]
    return tables


def _presets_beside(request: Request, base: Path) -> list[Table]:
    """The figures of both presets, for each protocol that has any of both."""
    tables: list[Table] = []
    lacking = PRESETS[0]
    for protocol in request.protocols:
        paper, fast = (collect(base / folder_name(preset, {}), protocol, request.kernel) for preset in PRESETS)
        lacking = "fast" if paper else "paper"
        if paper and fast:
            tables += _named([presets_table(metric, paper, fast) for metric in request.metrics], protocol)
    if not tables:
        raise UsageError(
            f"{base} has no results of both presets for kernel {request.kernel} and protocol "
            f"{' or '.join(request.protocols)}; compute some by: {_command(request, lacking, base)}."
        )
    return tables


def _named(tables: Sequence[Table], protocol: str) -> list[Table]:
    return [replace(table, name=f"{table.name}-{protocol}") for table in tables]
