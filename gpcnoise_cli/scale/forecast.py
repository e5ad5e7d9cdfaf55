"""What a run, or a grid of them, takes: seconds, bytes and network, and which limit it meets first.

Times come from the fitted cost of a step. Those of a GPU are no measurements: a GPU is assumed to reach the same part
of its speed at large float32 products as the measured processor does, term by term. Memory is counted from the arrays
that a step holds. All limits are numbers of their own, so that the first to be met can be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.split import MOST_TEST_ROWS
from gpcnoise_cli.data.store import BLOCK_BYTES, block_rows
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.cost import MEASUREMENTS, START_SECONDS
from gpcnoise_cli.likelihoods.registry import num_latent_functions
from gpcnoise_cli.models.sharing import shares_kernel
from gpcnoise_cli.scale.step_cost import EXACT, UNSHARED, Sizes, StepCost

# Rows that minibatches can be drawn from (training/batches.py), and those of one block of prediction.
MOST_ROWS = 2**32
TEST_PART = 0.1
# TensorFlow, GPflow and Python before any array of ours: `gpcnoise bench memory --rows 100`.
PROGRAM_BYTES = 0.84e9
# Copies of a table in float64 besides the device's: five in all, by `gpcnoise bench memory` at 100000 and 400000 rows.
TABLES = 4
# Blocks of a store that a run holds besides the device's: being read, in order, and ready for the device.
BLOCKS_READ = 4
# Arrays of a step that are there at once: of C × m × B, and of C × m × m.
BLOCKS, SQUARES = 4, 8


@dataclass(frozen=True)
class Machine:
    """What the forecast assumes of the devices; `tflops` is None for the processor of the measurements."""

    tflops: float | None
    float64_part: float
    memory_gb: float
    host_memory_gb: float
    network_gbits: float
    disk_gb_per_second: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not value > 0:
                raise UsageError(f"--{name.replace('_', '-')} must be greater than 0, not {value:g}.")


@dataclass(frozen=True)
class Job:
    """What is asked for: one configuration on rows of this shape, as often as there are cells."""

    config: TrainConfig
    rows: int
    features: int
    classes: int
    devices: int = 1
    cells: int = 1
    workers: int = 1
    store: bool = False
    """Whether the training rows stay on disk and only blocks of them are in memory."""

    def __post_init__(self) -> None:
        least = {"rows": 2, "features": 1, "classes": 2, "devices": 1, "cells": 1, "workers": 1}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise UsageError(f"--{name} must be at least {low}, not {getattr(self, name)}.")
        if self.batch < self.devices:
            raise UsageError(f"a minibatch of {self.batch} rows cannot be shared by {self.devices} devices.")

    @property
    def latent(self) -> int:
        return num_latent_functions(self.config.likelihood.name, self.classes)

    @property
    def kernels(self) -> int:
        return 1 if shares_kernel(self.config, self.classes) else self.latent

    @property
    def training_rows(self) -> int:
        trained = round((1 - TEST_PART) * self.rows)
        return max(trained, self.rows - MOST_TEST_ROWS) if self.store else trained

    @property
    def batch(self) -> int:
        return min(self.config.batch_size, self.training_rows)

    @property
    def share(self) -> int:
        """Rows of a minibatch on the device that has most of them."""
        return -(-self.batch // self.devices)

    @property
    def measurements(self) -> int:
        """How often the test rows are scored: at the ends of cycles, or as often as was asked."""
        steps, cycle = self.config.iterations, self.config.optimizer.cycle
        if self.config.runtime.eval_every:
            return -(-steps // self.config.runtime.eval_every)
        if not cycle:
            return MEASUREMENTS
        count, start, length = 1, 0, cycle
        while steps - start >= 2 * length:  # as training/schedule.py has it
            count, start, length = count + 1, start + length, round(self.config.optimizer.cycle_growth * length)
        return count


@dataclass(frozen=True)
class Limit:
    """Something that a run may need too much of: `part` is what it takes of what there is.

    Beyond a hard limit nothing works; beyond another most of the time is spent on something else than training.
    """

    what: str
    hard: bool
    part: float
    says: str
    remedy: str

    @property
    def met(self) -> bool:
        return self.part > 1


@dataclass(frozen=True)
class Forecast:
    """The answer; a cell takes the seconds of start, train and score. Limits: the hard ones that are met first."""

    step_seconds: float
    network_seconds: float
    one_device_step_seconds: float
    start_seconds: float
    train_seconds: float
    score_seconds: float
    total_seconds: float
    apart_seconds: float
    """Of all cells, where each has one device and as many more are computed at a time."""
    passes: float
    numbers_per_step: float
    bytes_per_step: float
    device_gb: float
    device_rows_gb: float
    host_gb: float
    store_gb: float
    limits: tuple[Limit, ...]

    @property
    def breaks_first(self) -> Limit | None:
        return next((limit for limit in self.limits if limit.hard and limit.met), None)

    @property
    def wasted_on(self) -> Limit | None:
        """What takes more time than it should, most of all."""
        return next((limit for limit in self.limits if not limit.hard and limit.met), None)

    def to_dict(self) -> dict[str, Any]:
        first, wasted = self.breaks_first, self.wasted_on
        named = {"breaks_first": first and first.what, "wasted_on": wasted and wasted.what}
        return {**asdict(self), **named}


def forecast(job: Job, machine: Machine, cost: StepCost) -> Forecast:
    config = job.config
    shared = _seconds(job, job.share, machine, cost)
    alone = sum(_seconds(job, job.batch, machine, cost).values())
    numbers, sent = _traffic(job)
    network = sent * 8 / (machine.network_gbits * 1e9)
    step = sum(shared.values()) + network
    train = config.iterations * step
    score = job.measurements * _scoring(job, machine, cost)
    cell = START_SECONDS + train + score
    device, rows = _device_bytes(job)
    table = BLOCKS_READ * BLOCK_BYTES if job.store else TABLES * 8.0 * job.rows * job.features
    host = PROGRAM_BYTES + table + (device if machine.tflops is None else 0.0)
    one_each = START_SECONDS + config.iterations * alone + score
    limits = [
        *_hard_limits(job, machine, device, host),
        *_time_limits(job, machine, shared, network, train, score),
    ]
    return Forecast(
        step_seconds=step,
        network_seconds=network,
        one_device_step_seconds=alone,
        start_seconds=START_SECONDS,
        train_seconds=train,
        score_seconds=score,
        total_seconds=-(-job.cells // job.workers) * cell,
        apart_seconds=-(-job.cells // (job.workers * job.devices)) * one_each,
        passes=config.iterations * job.batch / job.training_rows,
        numbers_per_step=numbers,
        bytes_per_step=sent,
        device_gb=device / 1e9,
        device_rows_gb=rows / 1e9,
        host_gb=host / 1e9,
        store_gb=4.0 * job.rows * job.features / 1e9,
        limits=tuple(sorted(limits, key=lambda limit: (not (limit.hard and limit.met), -limit.part))),
    )


def _seconds(job: Job, batch: int, machine: Machine, cost: StepCost) -> dict[str, float]:
    """Of a step with `batch` rows on one device, by term."""
    config = job.config
    sizes = Sizes(job.latent, job.kernels, config.inducing, batch, job.features)
    terms = cost.terms(sizes, config.optimizer.name, config.runtime.precision)
    return {term: seconds * _pace(term, machine, cost, config) for term, seconds in terms.items()}


def _pace(term: str, machine: Machine, cost: StepCost, config: TrainConfig) -> float:
    """How long the assumed device takes for what the measured one does in a second."""
    if machine.tflops is None or term == "step":
        return 1.0
    float32 = cost.product_gflops / (1e3 * machine.tflops)
    exact = config.runtime.precision == "float64" or (config.runtime.precision == "mixed" and term in EXACT)
    # The measured processor is half as fast in float64, too.
    return float32 * 0.5 / machine.float64_part if exact else float32


def _scoring(job: Job, machine: Machine, cost: StepCost) -> float:
    """Seconds of one measurement of the test rows: the way forward, half of the products and none of the factors."""
    rows = job.rows - job.training_rows
    sizes = Sizes(job.latent, job.kernels, job.config.inducing, 1, job.features)
    terms = cost.terms(sizes, precision=job.config.runtime.precision)
    ahead = {"class products": 0.5, "distances": 0.5, "kernel values": 0.5}
    return rows * sum(part * terms[term] * _pace(term, machine, cost, job.config) for term, part in ahead.items())


def _traffic(job: Job) -> tuple[float, float]:
    """Numbers that a replica contributes to the sums of a step, and bytes that it sends in a ring of them."""
    config, C, m = job.config, job.latent, job.config.inducing
    natural = config.optimizer.name == "natgrad"
    squares = 2 if natural and config.objective != "elbo" else 1
    of_q = squares * C * m * (m + 1) / 2 + C * m
    others = m * job.features + job.kernels * (job.features + 2) + 2
    width = 4 if config.runtime.precision == "float32" or (natural and config.runtime.precision == "mixed") else 8
    payload = width * of_q + (4 if config.runtime.precision == "float32" else 8) * others
    return of_q + others, payload * 2 * (job.devices - 1) / job.devices


def _device_bytes(job: Job) -> tuple[float, float]:
    """Bytes on each device: all that a step holds, and of that the training rows."""
    config, C, m = job.config, float(job.latent), float(job.config.inducing)
    width = 8 if config.runtime.precision == "float64" else 4
    rows = job.training_rows * (8.0 * job.features + 8)
    if job.store:
        held = min(job.training_rows, max(block_rows(job.features), job.batch))
        rows = held * (4.0 * job.features + 8)
    state = 24 * C * m * m  # q_sqrt with Adam's moments, or with Λ and R⁻¹
    step = BLOCKS * width * C * m * job.share + (SQUARES * C + 4 * job.kernels) * 8 * m * m
    return rows + state + step, rows


def _hard_limits(job: Job, machine: Machine, device: float, host: float) -> Iterator[Limit]:
    fewer = "fewer --inducing points, or a smaller --batch-size"
    remedy = fewer if job.store else "keep the rows in a store on disk (dataset.storage=disk; plan: --store)"
    for what, needed, there in (
        ("device memory", device, machine.memory_gb),
        ("host memory", host, machine.host_memory_gb),
    ):
        yield Limit(what, True, needed / (there * 1e9), f"{needed / 1e9:.3g} GB of {there:.3g} GB", remedy)
    yield Limit(
        "row numbers",
        True,
        job.training_rows / MOST_ROWS,
        f"{job.training_rows:.3g} of {MOST_ROWS:.3g}",
        "train on fewer rows",
    )


def _time_limits(
    job: Job, machine: Machine, shared: Mapping[str, float], network: float, train: float, score: float
) -> Iterator[Limit]:
    computing, repeated = sum(shared.values()), sum(shared[term] for term in UNSHARED)
    reading = 4.0 * job.batch * job.features / (machine.disk_gb_per_second * 1e9)
    yield Limit(
        "scoring the test rows",
        False,
        score / train,
        f"{score:.3g} s against {train:.3g} s of training",
        "score less often (runtime.eval_every), or fewer test rows (dataset.test_fraction)",
    )
    if job.store:
        yield Limit(
            "reading the store",
            False,
            reading / computing,
            f"{1e3 * reading:.3g} ms of reading against {1e3 * computing:.3g} ms of computing in a step",
            "a faster disk",
        )
    if job.devices > 1:
        yield Limit(
            "network",
            False,
            network / computing,
            f"{1e3 * network:.3g} ms of sending against {1e3 * computing:.3g} ms of computing in a step",
            "fewer devices, a larger --batch-size, or a faster network",
        )
        yield Limit(
            "work that is not shared",
            False,
            repeated / (computing - repeated),
            f"{1e3 * repeated:.3g} ms that every device repeats, {1e3 * (computing - repeated):.3g} ms of its share",
            "fewer devices, or a larger --batch-size",
        )
    if job.cells > 1:
        yield Limit(
            "starting",
            False,
            START_SECONDS / (train + score),
            f"{START_SECONDS:g} s to start a cell, {train + score:.3g} s to compute it",
            "workers that stay: the backends keep theirs",
        )
