"""What a cell costs: floating-point operations counted from its configuration, seconds from what was measured.

The count follows the fused conditional (docs/engine.md): per step a product of all m×m factors with the m×B block
and its two adjoints for each latent function, the same once for the triangular solves, and m³ for the factors. It
orders cells and carries a measured time over to sizes that were not measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from gpcnoise_cli.config.schema import SVGP, TrainConfig
from gpcnoise_cli.data.registry import DATASETS
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.likelihoods.registry import num_latent_functions
from gpcnoise_cli.methods.registry import METHODS, variant_of
from gpcnoise_cli.runs.provenance import host

# Importing TensorFlow, reading the data, k-means, scoring; where nothing was measured yet.
START_SECONDS = 12.0
# How much of the speed of one large product a training step reaches on a CPU; measured, and only the last resort.
EFFICIENCY = 0.35
MEASUREMENTS = 20


def flops_per_step(latent: int, inducing: int, batch: int) -> float:
    m, b = float(inducing), float(batch)
    return latent * (4 * m * m * b + 2 * m**3) + 6 * m * m * b + 4 * m**3


def flops_of(config: TrainConfig) -> float:
    """The whole run: its steps, and the test rows at each measurement."""
    spec = DATASETS[config.dataset.name]
    rows, classes = spec.n or 10_000, spec.num_classes or 2
    latent = num_latent_functions(config.likelihood.name, classes)
    steps = config.iterations * flops_per_step(latent, config.inducing, min(config.batch_size, rows))
    return steps + MEASUREMENTS * 2 * (latent + 1) * 0.1 * rows * float(config.inducing) ** 2


@dataclass(frozen=True)
class Estimate:
    seconds: float
    basis: str  # same set | similar cells | scaled | model


@dataclass
class Estimator:
    """Seconds per cell, from the most similar cells that were measured."""

    same_set: dict[tuple[Any, ...], list[float]] = field(default_factory=dict)
    similar: dict[tuple[Any, ...], list[float]] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    _model_rate: float | None = None

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> Estimator:
        """From the records of a machine like this one; only where there are none, from those of any."""
        known, here = list(records), host()
        estimator = cls()
        for record in [one for one in known if one.get("host") == here] or known:
            estimator.learn(record)
        return estimator

    def learn(self, record: Mapping[str, Any]) -> None:
        try:
            method = record.get("method") if record.get("method") in METHODS else SVGP  # of old, it was the label
            config = record.get("config", {})
            optimizer = config.get("optimizer", {}).get("name") or record["optimizer"]
            own = _in_order(config.get("method", {}).get("settings"))
            size = (method, own, record["inducing"], record["batch_size"], optimizer, record["kernel"])
            latent = num_latent_functions(record["likelihood"], record["classes"])
            step_seconds = float(record["seconds_per_step"])
            steps = record.get("steps") or record["iterations"]
            variant = record["likelihood"] if method == SVGP else method
            plan = (record["dataset"], variant, record["iterations"], *size)
            batch = min(record["batch_size"], record["n_train"])
        except (AttributeError, KeyError, TypeError):
            return
        if step_seconds <= 0:
            return
        if not record.get("resumed") and record.get("seconds"):
            self.starts.append(record["seconds"] - record.get("train_seconds", 0.0))
        self.same_set.setdefault(plan, []).append(steps * step_seconds)
        self.similar.setdefault((latent if method == SVGP else record["classes"], *size), []).append(step_seconds)
        if method == SVGP:  # the operations that are counted are its own
            self.rates.append(flops_per_step(latent, record["inducing"], batch) / step_seconds)

    def estimate(self, cell: Cell) -> Estimate:
        config, start = cell.config, median(self.starts) if self.starts else START_SECONDS
        method, classes = config.method.name, DATASETS[config.dataset.name].num_classes or 2
        own = _in_order(config.method.settings)
        size = (method, own, config.inducing, config.batch_size, config.optimizer.name, config.kernel.name)
        latent = num_latent_functions(config.likelihood.name, classes)
        plan = (config.dataset.name, variant_of(config), config.iterations, *size)
        if plan in self.same_set:
            return Estimate(start + median(self.same_set[plan]), "same set")
        kind = (latent if method == SVGP else classes, *size)
        if kind in self.similar:
            return Estimate(start + config.iterations * median(self.similar[kind]), "similar cells")
        if self.rates:
            return Estimate(start + flops_of(config) / median(self.rates), "scaled")
        return Estimate(start + flops_of(config) / self._rate(), "model")

    def _rate(self) -> float:
        if self._model_rate is None:
            self._model_rate = EFFICIENCY * product_speed()
        return self._model_rate


def _in_order(settings: Mapping[str, Any] | None) -> str:
    """A method's own settings, some of which decide the time of a step: ORTH's number of γ points."""
    return json.dumps(settings or {}, sort_keys=True)


def product_speed() -> float:
    """Operations per second of a 300×300 by 300×1024 product, timed for a tenth of a second."""
    A, B = np.ones((300, 300), np.float32), np.ones((300, 1024), np.float32)
    A @ B
    began, rounds = time.perf_counter(), 0
    while time.perf_counter() - began < 0.1:
        A @ B
        rounds += 1
    return rounds * 2.0 * 300 * 300 * 1024 / (time.perf_counter() - began)
