"""The benchmark's numbers as tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import compress
from typing import Any

from gpcnoise_cli.tables.measured import Figure
from gpcnoise_cli.tables.table import NOT_COMPUTED, Column, Row, Table, Value, figure, optional_figure, table_of

SYSTEM_NAMES = {
    "mixed": "gpcnoise, mixed (default)",
    "float64": "gpcnoise, float64",
    "float32": "gpcnoise, float32",
    "natgrad": "gpcnoise, mixed, natgrad",
    "shared": "gpcnoise, mixed, one kernel",
    "stock": "stock GPflow, float64",
    "gpytorch": "GPyTorch, float32",
    "gemm": "floor: the products alone",
}
TABLE_SYSTEMS = {
    "gpcnoise": "gpcnoise",
    "auto": "--auto",
    "boosting": "boosting",
    "forest": "forest",
    "logistic": "logistic",
}
NEAR = 0.02  # nats: no difference that a user would act on
COMMAND_NAMES = {
    "gpcnoise": "gpcnoise train",
    "gpflow": "script, GPflow SVGP",
    "gpytorch": "script, GPyTorch SVGP",
    "boosting": "script, HistGradientBoosting",
    "logistic": "script, LogisticRegression",
}


def bench_tables(part: str, content: Any) -> list[Table]:
    """What a benchmark found, as `gpcnoise bench <part>` measures and files it."""
    return _TABLES[part](content)


def machines_of(content: Mapping[str, Any]) -> Iterator[str]:
    """The machines named anywhere in what was filed, each in one line."""
    if isinstance(content.get("machine"), Mapping):
        yield machine_line(content["machine"])
    else:
        for one in content.values():
            yield from machines_of(one) if isinstance(one, Mapping) else ()


def machine_line(machine: Mapping[str, Any]) -> str:
    """The machine in one line."""
    versions = machine["versions"]
    packages = ("gpcnoise", "tensorflow", "gpflow", "torch", "gpytorch")
    named = ", ".join(f"{package} {versions[package]}" for package in packages if package in versions)
    load = "unknown" if machine["load_average"] is None else f"{machine['load_average']:.2f}"
    return f"{machine['cpu']}, {machine['cores']} cores, load {load} at the start; {named}"


def steps_table(record: Mapping[str, Any]) -> Table:
    """One case: milliseconds per step, how many times as fast as the others, and how far above the floor."""
    rows = [
        {
            "system": SYSTEM_NAMES[name],
            "ms": figure(1e3 * taken["median"], 2),
            "quartiles": f"{1e3 * taken['q1']:.2f} … {1e3 * taken['q3']:.2f}",
            "stock ÷ this": _ratio(record["speedup"].get(name, {}).get("stock")),
            "GPyTorch ÷ this": _ratio(record["speedup"].get(name, {}).get("gpytorch")),
            "this ÷ floor": _ratio(record["over_floor"].get(name)),
        }
        for name, taken in record["seconds_per_step"].items()
    ]
    title = (
        f"C = {record['C']} ({record['likelihood']}), d = {record['d']}, {_kernels(record)}m = {record['inducing']}, "
        f"B = {record['batch_size']}, n = {record['rows']}: one training step; "
        f"float32 products at {record['floor']['gflops_per_second']:.0f} Gflop/s"
    )
    return table_of("bench-steps", title, rows)


def aims_table(records: Iterable[Mapping[str, Any]]) -> Table:
    """The ratios that have a name in every case, with what they are to be where that is said."""
    rows = [
        {
            "case": f"C = {record['C']}, {_kernels(record)}d = {record['d']}",
            "time of one step ÷ another": f"{SYSTEM_NAMES[one['over']]} ÷ {SYSTEM_NAMES[one['under']]}",
            "ratio": _ratio(one),
            "quartiles of the rounds": f"{one['per_round']['q1']:.2f} … {one['per_round']['q3']:.2f}",
            "aim": NOT_COMPUTED if one["aim"] is None else f"{one['sense']} {one['aim']:g}",
            "outcome": {True: "reached", False: "missed", None: NOT_COMPUTED}[one["reached"]],
        }
        for record in records
        for one in record.get("compared", ())  # files of earlier versions have none
    ]
    return table_of("bench-aims", "Ratios and their aims", rows)


def _kernels(record: Mapping[str, Any]) -> str:
    """What is unusual about the kernels of a case, ready to stand before the next word."""
    per_class = "" if record.get("shared", True) else "one kernel per class, "
    return per_class + ("ARD, " if record.get("ard", False) else "")


def growth_table(points: Iterable[Mapping[str, Any]]) -> Table:
    """Milliseconds per step along every axis."""
    rows = []
    for one in points:
        mixed, stock = (one["seconds_per_step"][name]["median"] for name in ("mixed", "stock"))
        rows.append(
            {
                "size": one["axis"],
                "value": one["value"],
                "gpcnoise ms": figure(1e3 * mixed, 2),
                "stock GPflow ms": figure(1e3 * stock, 2),
                "stock ÷ gpcnoise": figure(stock / mixed, 2),
            }
        )
    return table_of("bench-growth", "Growth of one training step, one size at a time", rows)


def growth_rows(points: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points as flat rows for CSV."""
    return [
        {
            **{key: value for key, value in one.items() if key != "seconds_per_step"},
            **{
                f"{name}_{part}_seconds": seconds
                for name, taken in one["seconds_per_step"].items()
                for part, seconds in taken.items()
            },
        }
        for one in points
    ]


def quality_table(records: Iterable[Mapping[str, Any]]) -> Table:
    """Seconds to the quality at which the paper's settings end."""
    rows = [
        {
            "data set": one["dataset"],
            "mark": figure(one["mark_nll"], 4),
            **{f"{name} s": optional_figure(one[name]["seconds"], 1, "never") for name in ("stock", "paper", "fast")},
            **{f"stock ÷ {name}": optional_figure(one["speedup_over_stock"][name], 1) for name in ("paper", "fast")},
            **{f"nll {name}": figure(one[name]["nll"], 4) for name in ("paper", "fast")},
            "fast − paper": figure(one["nll_fast_minus_paper"], 4, sign=True),
        }
        for one in records
    ]
    title = "Seconds of training until the test nll is within 0.005 of where the paper's settings end"
    return table_of("bench-quality", title, rows)


def classifiers_table(records: Mapping[str, Mapping[str, Any]]) -> Table:
    """Accuracy and nll of each classifier on each set, and where it stands among them; all folds or none."""
    rows = []
    for dataset, measured in records.items():
        by_classifier = {name: one for name, one in measured.items() if len(one["acc"]) == one["settings"]["folds"]}
        acc, nll = ({name: Figure.of(one[key]) for name, one in by_classifier.items()} for key in ("acc", "nll"))
        best, order = max((one.mean for one in acc.values()), default=0.0), sorted(nll, key=lambda name: nll[name].mean)
        rows += [
            {
                "data set": dataset,
                "classifier": name,
                "acc %": figure(acc[name].mean, 2, acc[name].error),
                "acc − best": figure(acc[name].mean - best, 2, sign=True),
                "nll": figure(nll[name].mean, 4, nll[name].error),
                "nll rank": order.index(name) + 1,
                "fit s": figure(statistics.mean(record["fit_seconds"]), 1),
            }
            for name, record in by_classifier.items()
        ]
    folds = {record["settings"]["folds"] for one in records.values() for record in one.values()}
    title = f"{' and '.join(str(number) for number in sorted(folds))}-fold cross-validation, mean ± standard error"
    return table_of("bench-classifiers", title, rows)


def _by_metric(table: Table) -> list[Table]:
    """Accuracy and nll apart: side by side they are wider than a page."""
    of_nll = [column.group == "nll" or column.name == table.columns[-1].name for column in table.columns]
    both = [not column.group and not nll for column, nll in zip(table.columns, of_nll, strict=True)]

    def part(wanted: str, notes: tuple[str, ...]) -> Table:
        kept = [every or (nll == (wanted == "nll")) for every, nll in zip(both, of_nll, strict=True)]
        columns = tuple(compress(table.columns, kept))
        rows = tuple(replace(row, values=tuple(compress(row.values, kept))) for row in table.rows)
        return replace(table, columns=columns, rows=rows, notes=notes)

    return [part("acc", ()), part("nll", table.notes)]


def real_tables_table(records: Mapping[str, Mapping[str, Any]]) -> Table:
    """One row a table, on the splits that all systems have; that of settings chosen by trials may be missing."""
    rows, gaps = [], []
    auto = any("auto" in measured for measured in records.values())
    systems = [name for name in TABLE_SYSTEMS if auto or name != "auto"]
    for name, measured in records.items():
        splits = min(len(measured.get(system, {}).get("nll", ())) for system in systems if system != "auto")
        if not splits:
            continue
        by_metric = {
            key: {
                system: Figure.of(measured[system][key][:splits])
                for system in systems
                if len(measured.get(system, {}).get(key, ())) >= splits
            }
            for key in ("acc", "nll")
        }
        acc, nll = by_metric["acc"], by_metric["nll"]
        best = {"acc": max(one.mean for one in acc.values()), "nll": min(one.mean for one in nll.values())}
        others = min(one.mean for system, one in nll.items() if system not in ("gpcnoise", "auto"))
        gaps.append(nll["gpcnoise"].mean - others)
        shape = [measured["gpcnoise"][key] for key in ("n", "d", "classes")]
        figures = [
            Value(NOT_COMPUTED) if one is None else figure(one.mean, digits, one.error, best=one.mean == best[key])
            for key, digits in (("acc", 1), ("nll", 3))
            for one in map(by_metric[key].get, systems)
        ]
        rows.append(
            Row((Value(name), *(figure(one, 0) for one in (*shape, splits)), *figures, figure(gaps[-1], 3, sign=True)))
        )
    columns = (
        Column("table", left=True),
        *(Column(word, optional=True) for word in ("rows", "d", "C", "splits")),
        *(Column(TABLE_SYSTEMS[system], group) for group in ("acc %", "nll") for system in systems),
        Column("nll − others"),
    )
    fits = [one for measured in records.values() for one in measured.values()]
    packages = sorted({one["package"] for one in fits if one.get("package")})
    notes = (
        f"the last column is our nll beyond the best of the others: at most {NEAR:g} on "
        f"{sum(gap <= NEAR for gap in gaps)} of {len(gaps)} tables, lower on {sum(gap < 0 for gap in gaps)}.",
        "boosting: HistGradientBoosting with its own treatment of gaps and categories, stopping early; forest: "
        "RandomForest, 500 trees, leaves of three rows at least; logistic: LogisticRegression; on the same columns.",
        f"tables from {', '.join(packages)}." if packages else "tables from a folder.",
    )
    title = "Real tables without preparation: the same test rows for all, mean ± standard error over splits"
    return Table("bench-tables", title, columns, tuple(rows), notes)


def memory_table(record: Mapping[str, Any]) -> Table:
    """One fit: its size, its peak memory, its time."""
    title = f"A fit of {record['rows']} rows by {record['columns']} columns, {record['classes']} classes"
    row = {
        "peak MB": figure(record["peak_mb"], 0),
        "fit s": figure(record["fit_seconds"], 1),
        "steps": record["steps"],
        "m": record["inducing"],
        "acc on the training rows %": figure(record["train_acc"], 2),
    }
    return table_of("bench-memory", title, [row])


def command_table(records: Mapping[str, Mapping[str, Any]]) -> Table:
    """Wall clock of whole processes beside the quality they reach; medians where there are several runs."""
    rows = []
    for dataset, measured in records.items():
        ours = _median(measured.get("gpcnoise", {}), "seconds")
        for system, record in measured.items():
            runs, seconds = record.get("runs", ()), _median(record, "seconds")
            versions = record.get("machine", {}).get("versions", {})
            version = record["settings"].get("package", versions.get("gpcnoise", NOT_COMPUTED))
            rows.append(
                {
                    "data set": dataset,
                    "command": COMMAND_NAMES[system],
                    "version": version if runs else "not installed",
                    "seconds": optional_figure(seconds, 1),
                    "÷ gpcnoise": optional_figure(seconds / ours if seconds and ours else None, 1),
                    "processor s": optional_figure(_median(record, "processor_seconds"), 1),
                    "acc %": optional_figure(_median(record, "acc"), 2),
                    "nll": optional_figure(_median(record, "nll"), 4),
                    "steps": optional_figure(runs[-1].get("steps") if runs else None, 0),
                    "runs": len(runs) or NOT_COMPUTED,
                }
            )
    title = "From the shell command to the saved model: a fresh process on split 0 of protocol clean"
    return table_of("bench-command", title, rows)


def _median(record: Mapping[str, Any], key: str) -> float | None:
    values = [run[key] for run in record.get("runs", ())]
    return statistics.median(values) if values else None


def grid_table(records: Iterable[Mapping[str, Any]]) -> Table:
    """How fast whole grids are computed."""
    rows = [
        {
            "command": one["command"],
            "cells": len(one["cells"]),
            "failed": len(one["failed"]),
            "minutes": figure(one["seconds"] / 60, 1),
            "cells an hour": figure(one["cells_per_hour"], 0),
            "processor s a cell": figure(one["processor_seconds_per_cell"], 1),
            "training s a cell": figure(one["train_seconds"] / len(one["cells"]), 1),
        }
        for one in records
    ]
    return table_of("bench-grid", "Cells an hour, into a new results folder", rows)


def slowest_cells_table(record: Mapping[str, Any], most: int = 8) -> Table:
    """Where the time of a grid goes."""
    slowest = sorted(record["cells"], key=lambda cell: cell["train_seconds"], reverse=True)[:most]
    rows = [
        {
            "set": cell["dataset"],
            "likelihood": cell["likelihood"],
            "split": cell["split"],
            "training s": figure(cell["train_seconds"], 1),
            "steps": cell["steps"],
            "nll": figure(cell["nll"], 4),
        }
        for cell in slowest
    ]
    return table_of("bench-cells", f"The {len(rows)} slowest cells of `{record['command']}`", rows)


def _ratio(value: Mapping[str, Any] | None) -> Value:
    return optional_figure(None if value is None else value["of_medians"], 2)


def _steps_tables(records: Iterable[Mapping[str, Any]]) -> list[Table]:
    aims = aims_table(records)
    return [*(steps_table(record) for record in records), *([aims] if aims.rows else [])]


def _grid_tables(found: Mapping[str, Any]) -> list[Table]:
    """One grid, or all that are filed by their commands."""
    records = {found["command"]: found} if "command" in found else found
    return [grid_table(records.values()), *(slowest_cells_table(one) for one in records.values())]


_TABLES: dict[str, Callable[[Any], list[Table]]] = {
    "steps": _steps_tables,
    "growth": lambda found: [growth_table(found["points"])],
    "quality": lambda records: [quality_table(records.values())],
    "classifiers": lambda records: [classifiers_table(records)],
    "command": lambda records: [command_table(records)],
    "grid": _grid_tables,
    "tables": lambda records: _by_metric(real_tables_table(records)),
    "memory": lambda record: [memory_table(record)],
}
