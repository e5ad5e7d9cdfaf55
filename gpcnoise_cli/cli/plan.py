"""`gpcnoise plan`: what a run or a grid would take, before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.console import counted, emit_json, print_table, say
from gpcnoise_cli.cli.options import Json, with_train_options
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    from gpcnoise_cli.scale.forecast import Forecast, Job

# Of an NVIDIA A100 with 40 GB, its maker's figures.
A100_TFLOPS, A100_FLOAT64_PART, A100_GB = 19.5, 0.5, 40.0
_DATA, _GRID, _ASSUMED = "Size of the data", "Grid", "Assumptions"


@with_train_options
def plan(
    overrides: list[str],
    rows: Annotated[int | None, typer.Option(help="Rows, test rows included.", rich_help_panel=_DATA)] = None,
    features: Annotated[int | None, typer.Option(help="Features.", rich_help_panel=_DATA)] = None,
    classes: Annotated[int | None, typer.Option(help="Classes.", rich_help_panel=_DATA)] = None,
    store: Annotated[
        bool,
        typer.Option(
            "--store", help="The training rows stay on disk; so says dataset.storage=disk.", rich_help_panel=_DATA
        ),
    ] = False,
    cells: Annotated[int, typer.Option(help="Runs of this kind in all.", rich_help_panel=_GRID)] = 1,
    workers: Annotated[int, typer.Option(help="How many of them at a time.", rich_help_panel=_GRID)] = 1,
    tflops: Annotated[
        float, typer.Option(help="With --device gpu: its float32 speed; A100.", rich_help_panel=_ASSUMED)
    ] = A100_TFLOPS,
    float64_part: Annotated[
        float,
        typer.Option(help="With --device gpu: its float64 speed as a part of that; A100.", rich_help_panel=_ASSUMED),
    ] = A100_FLOAT64_PART,
    memory_gb: Annotated[
        float | None,
        typer.Option(help="Memory of a device. Default: an A100's 40, or this machine's.", rich_help_panel=_ASSUMED),
    ] = None,
    host_memory_gb: Annotated[
        float | None, typer.Option(help="Memory of a host. Default: this machine's.", rich_help_panel=_ASSUMED)
    ] = None,
    network_gbits: Annotated[float, typer.Option(help="Between devices.", rich_help_panel=_ASSUMED)] = 10.0,
    disk_gb_per_second: Annotated[float, typer.Option(help="Of a store.", rich_help_panel=_ASSUMED)] = 1.0,
    constants: Annotated[
        Path | None,
        typer.Option(
            help="Constants fitted to this machine by `gpcnoise bench fit`.", metavar="FILE", rich_help_panel=_ASSUMED
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Say what training would take: time, memory, network, and what breaks first. Computes nothing.

    The options of `gpcnoise train` describe the run; docs/scale.md says where the figures come from.

    Example: gpcnoise plan --rows 1000000000 --features 30 --classes 3 --device gpu --devices 8
    """
    from gpcnoise_cli.config.compose import compose
    from gpcnoise_cli.config.schema import SVGP
    from gpcnoise_cli.scale.forecast import Job, Machine, forecast
    from gpcnoise_cli.scale.step_cost import KEPT, StepCost

    config = compose(overrides)
    if config.method.name != SVGP:
        raise UsageError(f"plan knows what method={SVGP} costs, not {config.method.name}; omit --method.")
    gpu = config.runtime.device == "gpu"
    n, d, num_classes = _sizes(config, rows, features, classes)
    store = store or config.dataset.storage == "disk"
    job = Job(config, n, d, num_classes, _devices(config), cells, workers, store)
    host = _memory_here() if host_memory_gb is None else host_memory_gb
    memory = memory_gb if memory_gb is not None else A100_GB if gpu else host
    machine = Machine(tflops if gpu else None, float64_part, memory, host, network_gbits, disk_gb_per_second)
    cost = StepCost.read(constants or KEPT)
    found = forecast(job, machine, cost)
    if json:
        asked = {"rows": job.rows, "features": job.features, "classes": job.classes, "inducing": config.inducing}
        asked |= {
            "batch_size": job.batch,
            "iterations": config.iterations,
            "devices": job.devices,
            "cells": cells,
            "store": store,
        }
        assumed = {**vars(machine), "measured_on": cost.machine, "median_error": cost.median_error}
        emit_json({**asked, "workers": workers, **found.to_dict(), "assumed": assumed})
        return
    _show(job, found)
    speed = f"{machine.tflops:g} TFLOP/s, reached as far as on the measured processor" if gpu else "as measured"
    say(
        f"step times fitted to {cost.points} measurements on {cost.machine} (median error "
        f"{100 * cost.median_error:.0f}%); {'assumed of a GPU: ' if gpu else 'speed: '}{speed}; "
        f"network {machine.network_gbits:g} Gbit/s, disk {machine.disk_gb_per_second:g} GB/s, both assumed."
    )


def _sizes(config: Any, *given: int | None) -> list[int]:
    from gpcnoise_cli.data.registry import DATASETS

    spec = DATASETS[config.dataset.name]
    known = (spec.n, spec.num_features(config.protocol), spec.num_classes)
    sizes = [mine if mine is not None else theirs for mine, theirs in zip(given, known, strict=True)]
    lacking = [name for name, size in zip(("--rows", "--features", "--classes"), sizes, strict=True) if size is None]
    if lacking:
        raise UsageError(f"how large {config.dataset.name} is cannot be known beforehand; give {', '.join(lacking)}.")
    return [size for size in sizes if size is not None]


def _devices(config: Any) -> int:
    if config.runtime.devices == "all":
        raise UsageError("--devices all is known on the machine itself only; give a number.")
    return int(config.runtime.devices)


def _memory_here() -> float:
    import os

    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def _show(job: Job, found: Forecast) -> None:
    config = job.config
    title = (
        f"{config.likelihood.name}, {config.optimizer.name}, {config.runtime.precision}: {job.rows:,} rows of "
        f"{counted(job.features, 'feature')}, {job.classes} classes, m = {config.inducing}, B = {job.batch}, "
        f"{counted(config.iterations, 'step')}, {counted(job.devices, 'device')}, {counted(job.cells, 'cell')}"
    )
    speedup = found.one_device_step_seconds / found.step_seconds
    lines = [
        ("a step", _duration(found.step_seconds), f"{_duration(found.network_seconds)} of it on the network"),
        ("training", _duration(found.train_seconds), f"{found.passes:.3g} passes over the training rows"),
        ("scoring", _duration(found.score_seconds), f"{job.measurements} times the test rows"),
        ("all of it", _duration(found.total_seconds), f"with {found.start_seconds:g} s to start{_at_a_time(job)}"),
        ("memory of a device", _size(found.device_gb), f"{_size(found.device_rows_gb)} of it training rows"),
        ("memory of a host", _size(found.host_gb), "TensorFlow's own and the rows included"),
        ("a store on disk", _size(found.store_gb), "the rows in float32"),
    ]
    if job.devices > 1:
        sums = f"a step, for sums of {found.numbers_per_step:,.0f} numbers"
        apart = f"one device a cell, {job.workers * job.devices} cells at a time"
        lines[1:1] = [
            ("speed-up by devices", f"{speedup:.2f}", f"{_duration(found.one_device_step_seconds)} on one of them"),
            ("sent by a device", _size(found.bytes_per_step / 1e9), sums),
        ]
        if job.cells > 1:
            lines.append(("all of it, apart", _duration(found.apart_seconds), apart))
    print_table(("what", "how much", "of which"), lines, title=title)
    print_table(
        ("limit", "used %", "that is", "what helps"),
        [(one.what, f"{100 * one.part:.3g}", one.says, one.remedy if one.met else None) for one in found.limits],
    )
    first, wasted = found.breaks_first, found.wasted_on
    say(f"breaks first: {first.what}; {first.remedy}." if first else "nothing breaks.")
    if wasted is not None:
        say(f"most of the time goes to: {wasted.what}; {wasted.remedy}.")


def _at_a_time(job: Job) -> str:
    return f" each of {counted(job.cells, 'cell')}, {job.workers} at a time" if job.cells > 1 else ""


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    size, unit = next(
        (size, unit)
        for size, unit in ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"))
        if seconds >= 2 * size or size == 1
    )
    return f"{seconds / size:.3g} {unit}"


def _size(gigabytes: float) -> str:
    for size, unit in ((1e3, "TB"), (1.0, "GB"), (1e-3, "MB")):
        if gigabytes >= size:
            return f"{gigabytes / size:.3g} {unit}"
    return f"{1e6 * gigabytes:.3g} kB"
