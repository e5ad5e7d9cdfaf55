"""Settings chosen by short trials on held-out training rows; no test row is looked at.

The search begins with what was asked for and changes one thing at a time: the kernel, one lengthscale or many, one
kernel for all classes or one for each, m, the objective. A change that lowers the nll of the held-out rows stays, and
the next one starts from there, so that a handful of trials does. What the user has set is not tried. Every trial is
filed in the run folder as soon as it is done; a search that was stopped repeats none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from typing import Any

from gpcnoise_cli.config.schema import SVGP, TrainConfig
from gpcnoise_cli.data.split import Split, hold_out
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.likelihoods.registry import likelihood_spec, num_latent_functions
from gpcnoise_cli.methods.registry import method_of
from gpcnoise_cli.models.sharing import shares_kernel
from gpcnoise_cli.runs.run_folder import RunFolder
from gpcnoise_cli.runtime import prepare
from gpcnoise_cli.training.progress import Interrupted, Progress

HELD_OUT = 0.2  # of the training rows
TRIAL_STEPS = 150  # at most: the first two cycles of preset fast
MOST_TRIALS = 9
LEAST_GAIN = 0.001  # nats: less is noise, and no reason to leave what was asked for
KERNELS = ("rbf", "matern52", "matern32")
KEYS = ("kernel.name", "kernel.ard", "kernel.ard_by", "kernel.shared", "inducing", "objective")
"""What is tried, in this order."""


@dataclass(frozen=True)
class Trial:
    """One short training: what it changed of what was asked for, and what it scored on the held-out rows."""

    changes: dict[str, Any]
    acc: float
    nll: float
    steps: int
    seconds: float


@dataclass(frozen=True)
class Search:
    """What may be tried, and what has been."""

    fixed: tuple[str, ...] = ()
    """Keys that the user has set."""
    most: int = MOST_TRIALS
    trials: tuple[Trial, ...] = ()
    chosen: dict[str, Any] | None = field(default=None)
    """The changes of the winner, once the search is done."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Search:
        trials = tuple(Trial(**one) for one in stored["trials"])
        return cls(tuple(stored["fixed"]), stored["most"], trials, stored["chosen"])

    @classmethod
    def beside(cls, overrides: Sequence[str], most: int = MOST_TRIALS) -> Search:
        """A search that leaves alone what the overrides set."""
        keys = [text.partition("=")[0] for text in overrides]
        return cls(tuple("kernel.name" if key == "kernel" else key for key in keys), most)


def check_auto(config: TrainConfig, most: int) -> None:
    """Refuse what cannot be searched, before anything slow begins."""
    if config.method.name != SVGP:
        raise UsageError(f"--auto chooses among settings of method svgp; omit it for method {config.method.name}.")
    if not 1 <= most <= 100:
        raise UsageError(f"--trials {most} is out of range; give 1 to 100, {MOST_TRIALS} is usual.")


def choose_settings(
    config: TrainConfig,
    data: Split,
    search: Search,
    told: Callable[[int, Trial], None],
    *,
    folder: RunFolder | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
) -> tuple[TrainConfig, Search, RunFolder]:
    """The best settings found, the search with all its trials, and the folder where they are filed.

    A request that cannot be trained leaves no folder behind. Raises `Interrupted` when asked to stop.
    """
    if config.inducing > data.n_train:
        raise UsageError(
            f"{config.inducing} inducing points are more than the {data.n_train} training rows; choose --inducing "
            f"{data.n_train} or less, or omit it."
        )
    prepare(config.runtime)
    held_out = hold_out(data, HELD_OUT)
    kept = {_key(one.changes): one for one in search.trials}
    done: list[Trial] = []

    def tried(changes: dict[str, Any]) -> Trial:
        nonlocal folder
        trial = kept.get(_key(changes))
        if trial is None:
            asked = _short(changed(config, changes), held_out)
            fit = method_of(asked).start(asked, held_out)
            if folder is None:
                folder = RunFolder.create(config)
                folder.write_trials(search.to_dict())
            began = time.perf_counter()
            try:
                classifier = fit.run(Progress(stop_requested=stop_requested))
            except Interrupted as stop:
                raise Interrupted(stop.step, folder.checkpoint) from stop
            scores = evaluate(classifier.predict(held_out.X_test), held_out.y_test)
            seconds = time.perf_counter() - began
            trial = Trial(changes, scores.acc, scores.nll, int(classifier.facts()["steps"]), seconds)
            folder.write_trials(replace(search, trials=(*done, trial)).to_dict())
        done.append(trial)
        told(len(done), trial)
        return trial

    best = tried({})
    for key in KEYS:
        if key in search.fixed:
            continue
        start = best
        for value in alternatives(key, changed(config, start.changes), held_out):
            if len(done) >= search.most:
                break
            trial = tried({**start.changes, key: value})
            best = trial if trial.nll < best.nll - LEAST_GAIN else best
    winner, search = changed(config, best.changes), replace(search, trials=tuple(done), chosen=best.changes)
    assert folder is not None
    folder.write_config(winner)  # before the search counts as done, so that a run resumed now has its settings
    folder.write_trials(search.to_dict())
    return winner, search, folder


def alternatives(key: str, config: TrainConfig, split: Split) -> Iterator[Any]:
    """The values of `key` that are worth a trial beside that of `config`."""
    kernel = config.kernel
    if key == "kernel.name":
        yield from (name for name in KERNELS if name != kernel.name)
    elif key == "kernel.ard":
        yield not kernel.ard
    elif key == "kernel.ard_by":
        columns = split.encoder.feature_columns if split.encoder is not None else ()
        if kernel.ard and len(set(columns)) < len(columns):
            yield "feature" if kernel.ard_by == "column" else "column"
    elif key == "kernel.shared":
        several = num_latent_functions(config.likelihood.name, split.num_classes) > 1
        if several and split.num_classes <= kernel.few_classes:  # with more, a kernel for each takes too long
            yield not shares_kernel(config, split.num_classes)
    elif key == "inducing":
        m = min(config.inducing, split.n_train)
        yield from (other for other in (m // 2, 2 * m) if 10 <= other <= split.n_train // 2)
    elif key == "objective":
        yield from (name for name in likelihood_spec(config.likelihood.name).objectives if name != config.objective)


def changed(config: TrainConfig, changes: dict[str, Any]) -> TrainConfig:
    """`config` with some keys set to other values."""
    for key, value in changes.items():
        group, _, name = key.rpartition(".")
        if group:
            value = replace(attrgetter(group)(config), **{name: value})
        config = replace(config, **{group or name: value})
    return config


def _short(config: TrainConfig, split: Split) -> TrainConfig:
    steps, m = min(config.iterations, TRIAL_STEPS), min(config.inducing, split.n_train)
    # Scores along the way are of no use here.
    return replace(config, iterations=steps, inducing=m, runtime=replace(config.runtime, eval_every=steps))


def _key(changes: dict[str, Any]) -> str:
    return repr(sorted(changes.items()))
