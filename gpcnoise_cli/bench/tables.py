"""The benchmark's numbers as tables: a title, columns, and rows of text."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpcnoise_cli.tables.measured import Figure


class BenchTable(NamedTuple):
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


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
ABSENT = "–"


def steps_table(record: Mapping[str, Any]) -> BenchTable:
    """One case: milliseconds per step, how many times as fast as the others, and how far above the floor."""
    rows = []
    for name, taken in record["seconds_per_step"].items():
        faster = record["speedup"].get(name, {})
        over = record["over_floor"].get(name)
        rows.append(
            [
                SYSTEM_NAMES[name],
                _milliseconds(taken["median"]),
                f"{_milliseconds(taken['q1'])} … {_milliseconds(taken['q3'])}",
                *(_ratio(faster.get(other)) for other in ("stock", "gpytorch")),
                _ratio(over),
            ]
        )
    title = (
        f"C = {record['C']} ({record['likelihood']}), d = {record['d']}, {_kernels(record)}m = {record['inducing']}, "
        f"B = {record['batch_size']}, n = {record['rows']}: one training step; "
        f"float32 products at {record['floor']['gflops_per_second']:.0f} Gflop/s"
    )
    columns = ("system", "ms", "quartiles", "stock ÷ this", "GPyTorch ÷ this", "this ÷ floor")
    return BenchTable(title, columns, rows)


def aims_table(records: Iterable[Mapping[str, Any]]) -> BenchTable:
    """The ratios that have a name in every case, with what they are to be where that is said."""
    rows = []
    for record in records:
        for one in record.get("compared", ()):  # files of earlier versions have none
            aim = one["aim"]
            rows.append(
                [
                    f"C = {record['C']}, {_kernels(record)}d = {record['d']}",
                    f"{SYSTEM_NAMES[one['over']]} ÷ {SYSTEM_NAMES[one['under']]}",
                    _ratio(one),
                    f"{one['per_round']['q1']:.2f} … {one['per_round']['q3']:.2f}",
                    ABSENT if aim is None else f"{one['sense']} {aim:g}",
                    {True: "reached", False: "missed", None: ABSENT}[one["reached"]],
                ]
            )
    columns = ("case", "time of one step ÷ another", "ratio", "quartiles of the rounds", "aim", "")
    return BenchTable("Ratios and their aims", columns, rows)


def _kernels(record: Mapping[str, Any]) -> str:
    """What is unusual about the kernels of a case, ready to stand before the next word."""
    per_class = "" if record.get("shared", True) else "one kernel per class, "
    return per_class + ("ARD, " if record.get("ard", False) else "")


def growth_table(points: Iterable[Mapping[str, Any]]) -> BenchTable:
    """Milliseconds per step along every axis."""
    rows = []
    for one in points:
        mixed, stock = (one["seconds_per_step"][name]["median"] for name in ("mixed", "stock"))
        rows.append(
            [one["axis"], str(one["value"]), _milliseconds(mixed), _milliseconds(stock), f"{stock / mixed:.2f}"]
        )
    title = "Growth of one training step, one size at a time"
    return BenchTable(title, ("size", "value", "gpcnoise ms", "stock GPflow ms", "stock ÷ gpcnoise"), rows)


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


def quality_table(records: Iterable[Mapping[str, Any]]) -> BenchTable:
    """Seconds to the quality at which the paper's settings end."""
    rows = []
    for one in records:
        paper, fast, speedup = one["paper"], one["fast"], one["speedup_over_stock"]
        rows.append(
            [
                one["dataset"],
                f"{one['mark_nll']:.4f}",
                _seconds(one["stock"]["seconds"]),
                _seconds(paper["seconds"]),
                _seconds(fast["seconds"]),
                _times(speedup["paper"]),
                _times(speedup["fast"]),
                f"{paper['nll']:.4f}",
                f"{fast['nll']:.4f}",
                f"{one['nll_fast_minus_paper']:+.4f}",
            ]
        )
    title = "Seconds of training until the test nll is within 0.005 of where the paper's settings end"
    columns = ("data set", "mark", "stock s", "paper s", "fast s", "stock ÷ paper", "stock ÷ fast", "nll paper")
    return BenchTable(title, (*columns, "nll fast", "fast − paper"), rows)


def classifiers_table(records: Mapping[str, Mapping[str, Any]]) -> BenchTable:
    """Accuracy and nll of each classifier on each set, and where it stands among them; all folds or none."""
    rows = []
    for dataset, measured in records.items():
        by_classifier = {name: one for name, one in measured.items() if len(one["acc"]) == one["settings"]["folds"]}
        acc = {name: Figure.of(record["acc"]) for name, record in by_classifier.items()}
        nll = {name: Figure.of(record["nll"]) for name, record in by_classifier.items()}
        best, order = max((one.mean for one in acc.values()), default=0.0), sorted(nll, key=lambda name: nll[name].mean)
        for name, record in by_classifier.items():
            rows.append(
                [
                    dataset,
                    name,
                    _mean_and_error(acc[name], 2),
                    f"{acc[name].mean - best:+.2f}",
                    _mean_and_error(nll[name], 4),
                    str(order.index(name) + 1),
                    f"{Figure.of(record['fit_seconds']).mean:.1f}",
                ]
            )
    folds = {record["settings"]["folds"] for one in records.values() for record in one.values()}
    title = f"{' and '.join(str(number) for number in sorted(folds))}-fold cross-validation, mean ± standard error"
    columns = ("data set", "classifier", "acc %", "acc − best", "nll", "nll rank", "fit s")
    return BenchTable(title, columns, rows)


def _mean_and_error(figure: Figure, digits: int) -> str:
    error = "" if figure.error is None else f" ± {figure.error:.{digits}f}"
    return f"{figure.mean:.{digits}f}{error}"


def memory_table(record: Mapping[str, Any]) -> BenchTable:
    """One fit: its size, its peak memory, its time."""
    title = f"A fit of {record['rows']} rows by {record['columns']} columns, {record['classes']} classes"
    row = [
        f"{record['peak_mb']:.0f}",
        f"{record['fit_seconds']:.1f}",
        str(record["steps"]),
        str(record["inducing"]),
        f"{record['train_acc']:.2f}",
    ]
    return BenchTable(title, ("peak MB", "fit s", "steps", "m", "acc on the training rows %"), [row])


COMMAND_NAMES = {
    "gpcnoise": "gpcnoise train",
    "gpflow": "script, GPflow SVGP",
    "gpytorch": "script, GPyTorch SVGP",
    "boosting": "script, HistGradientBoosting",
    "logistic": "script, LogisticRegression",
}


def command_table(records: Mapping[str, Mapping[str, Any]]) -> BenchTable:
    """Wall clock of whole processes beside the quality they reach; medians where there are several runs."""
    rows = []
    for dataset, measured in records.items():
        ours = _median(measured.get("gpcnoise", {}), "seconds")
        for system, record in measured.items():
            seconds = _median(record, "seconds")
            if seconds is None:
                rows.append([dataset, COMMAND_NAMES[system], "not installed", *[ABSENT] * 7])
                continue
            steps = record["runs"][-1].get("steps")
            rows.append(
                [
                    dataset,
                    COMMAND_NAMES[system],
                    record["settings"].get("package", record["machine"]["versions"].get("gpcnoise", ABSENT)),
                    f"{seconds:.1f}",
                    _times(seconds / ours if ours else None),
                    f"{_median(record, 'processor_seconds'):.1f}",
                    f"{_median(record, 'acc'):.2f}",
                    f"{_median(record, 'nll'):.4f}",
                    ABSENT if steps is None else str(steps),
                    str(len(record["runs"])),
                ]
            )
    title = "From the shell command to the saved model: a fresh process on split 0 of protocol clean"
    columns = (
        "data set",
        "command",
        "version",
        "seconds",
        "÷ gpcnoise",
        "processor s",
        "acc %",
        "nll",
        "steps",
        "runs",
    )
    return BenchTable(title, columns, rows)


def _median(record: Mapping[str, Any], key: str) -> float | None:
    values = [run[key] for run in record.get("runs", ())]
    return statistics.median(values) if values else None


def grid_table(records: Iterable[Mapping[str, Any]]) -> BenchTable:
    """How fast whole grids are computed."""
    rows = [
        [
            one["command"],
            str(len(one["cells"])),
            str(len(one["failed"])),
            f"{one['seconds'] / 60:.1f}",
            f"{one['cells_per_hour']:.0f}",
            f"{one['processor_seconds_per_cell']:.1f}",
            f"{one['train_seconds'] / len(one['cells']):.1f}",
        ]
        for one in records
    ]
    columns = ("command", "cells", "failed", "minutes", "cells an hour", "processor s a cell", "training s a cell")
    return BenchTable("Cells an hour, into a new results folder", columns, rows)


def slowest_cells_table(record: Mapping[str, Any], most: int = 8) -> BenchTable:
    """Where the time of a grid goes."""
    slowest = sorted(record["cells"], key=lambda cell: cell["train_seconds"], reverse=True)[:most]
    rows = [
        [
            cell["dataset"],
            cell["likelihood"],
            str(cell["split"]),
            f"{cell['train_seconds']:.1f}",
            str(cell["steps"]),
            f"{cell['nll']:.4f}",
        ]
        for cell in slowest
    ]
    title = f"The {len(rows)} slowest cells of `{record['command']}`"
    return BenchTable(title, ("set", "likelihood", "split", "training s", "steps", "nll"), rows)


def machine_line(machine: Mapping[str, Any]) -> str:
    """The machine in one line."""
    versions = machine["versions"]
    packages = ("gpcnoise", "tensorflow", "gpflow", "torch", "gpytorch")
    named = ", ".join(f"{package} {versions[package]}" for package in packages if package in versions)
    load = "unknown" if machine["load_average"] is None else f"{machine['load_average']:.2f}"
    return f"{machine['cpu']}, {machine['cores']} cores, load {load} at the start; {named}"


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.2f}"


def _seconds(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f}"


def _times(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.1f}"


def _ratio(value: Mapping[str, Any] | None) -> str:
    return ABSENT if value is None else f"{value['of_medians']:.2f}"
