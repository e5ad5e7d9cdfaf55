"""`gpcnoise train`: train one classifier, score it on the test split, and keep it."""

from __future__ import annotations

import gc
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from gpcnoise_cli.cli.columns import say_columns
from gpcnoise_cli.cli.console import emit_json, print_table, say, stderr
from gpcnoise_cli.cli.options import Json, with_train_options
from gpcnoise_cli.cli.scores import model_title, score, score_cells
from gpcnoise_cli.errors import UsageError, quoted

_PRINTED = (
    *("dataset", "source", "protocol", "method", "run_dir", "split", "n_train", "n_test", "d", "classes"),
    *("majority_acc", "steps", "train_seconds"),
)
# What a run may change when it goes on: it may have lost some of the machine it was started on.
_OF_MACHINE = ("runtime.device", "runtime.devices", "runtime.threads")
_SCORES = ("acc %", "nll", "Brier", "ECE", "AUROC", "acc@90 %")


@with_train_options
def train(
    overrides: list[str],
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="Continue the interrupted run in this folder.", metavar="RUN_DIR"),
    ] = None,
    json: Json = False,
) -> None:
    """Train a classifier, score it on the test split, and save it in a run folder.

    Example: gpcnoise train --dataset ringnorm --likelihood probit --kernel matern32 --ard

    Your own data: gpcnoise train --data customers.csv --target churned
    """
    result = _resumed(resume, overrides) if resume is not None else _fresh(overrides)
    if json:
        emit_json(result)
    elif "host" in result:
        say(f"trained to step {result['steps']}; the chief has the result.")
    else:
        _print_result(result)
    if "host" not in result and result["acc"] <= result["majority_acc"]:
        say(
            f"this is no better than always naming the largest class ({result['majority_acc']:.2f}%): try more "
            "--iterations, another --learning-rate, or another start by kernel.lengthscale."
        )


def _fresh(overrides: list[str]) -> dict[str, Any]:
    from gpcnoise_cli.config.compose import compose, with_absolute_paths
    from gpcnoise_cli.methods.registry import method_spec

    config = compose(overrides)
    own = method_spec(config.method.name).likelihood
    chosen = next((one for one in overrides if one.startswith(("likelihood=", "likelihood."))), None)
    if own is not None and chosen is not None:
        raise UsageError(f"method={config.method.name} has a likelihood of its own ({own}); leave out {chosen}.")
    asked = any(override.startswith("inducing=") for override in overrides)
    config = with_absolute_paths(config)  # a run must be resumable from any folder
    return _train(config, limit_inducing=not asked)


def _resumed(path: Path, overrides: list[str]) -> dict[str, Any]:
    from gpcnoise_cli.config.compose import compose
    from gpcnoise_cli.runs.run_folder import RunFolder

    wanted = {override.partition("=")[0]: override for override in overrides}
    others = [override for key, override in wanted.items() if key not in _OF_MACHINE]
    if others:
        raise UsageError(f"--resume takes its settings from {path}/config.yaml; omit: {' '.join(others)}.")
    folder = RunFolder.existing(path)
    with folder.claim():  # told at once, not after the imports
        done = folder.read_metrics(_PRINTED)
    if done is not None:
        say(f"the run in {path} is finished already; this is its result.")
        return done
    config = folder.read_config()
    for key, value in asdict(compose(overrides).runtime).items() if overrides else ():
        if f"runtime.{key}" in wanted:
            setattr(config.runtime, key, value)
    return _train(config, folder=folder, resume=True)


def _train(config: Any, **how: Any) -> dict[str, Any]:
    from gpcnoise_cli.cli.interruption import stop_on_signal
    from gpcnoise_cli.devices import Cluster
    from gpcnoise_cli.runs.tracking import check_tracking

    check_tracking(config.tracking)
    cluster = Cluster.from_environment()
    if cluster is not None:
        say(cluster.introduction)
    data = None
    if "folder" not in how:
        from gpcnoise_cli.runs.train import with_storage

        config = with_storage(config)
    if config.dataset.storage == "disk":
        data = _on_disk(config)
    with stop_on_signal() as stop_requested:  # before the slow imports, so that no signal is lost
        from gpcnoise_cli.runs.train import check_request, load_data, run_training
        from gpcnoise_cli.runtime import load_tensorflow

        data = data or load_data(config)  # before TensorFlow: what is wrong with the data is told at once
        if not how.get("resume"):  # said at the start, and kept in columns.json
            say_columns(data.findings, data.notes)
        if "folder" not in how:
            check_request(config, data, limit_inducing=how["limit_inducing"])
        load_tensorflow()
        from gpcnoise_cli.cli.progress import show_progress
        from gpcnoise_cli.training.progress import Interrupted

        gc.freeze()  # modules stay: collections while the steps are traced need not look at them
        with show_progress() as events:
            try:
                return run_training(
                    config, data=data, events=events, stop_requested=stop_requested, cluster=cluster, **how
                )
            except Interrupted as stop:
                resume = f"continue with: gpcnoise train --resume {quoted(str(stop.run_dir))}"
                say(f"stopped at step {stop.step}; {resume if stop.run_dir else 'so does the chief'}")
                raise typer.Exit(130) from stop


def _on_disk(config: Any) -> Any:
    """The data, their training rows on disk; a signal breaks off a long pass at once, and nothing is left of it."""
    from gpcnoise_cli.data.store import stores_dir
    from gpcnoise_cli.runs.train import load_data

    with stderr().status(f"reading the table; its training rows are kept in {stores_dir()}"):
        data = load_data(config)
    if data.store is not None:
        say(f"training rows on disk: {data.store.folder}")
    return data


def _print_result(result: dict[str, Any]) -> None:
    title = (
        f"{model_title(result)} on {result['dataset']} "
        f"({result['source']}, protocol {result['protocol']}, split {result['split']}): "
        f"{result['n_train']} training rows, {result['n_test']} {result.get('scored_on', 'test rows')}, "
        f"d = {result['d']}, {result['classes']} classes"
    )
    is_bound = result.get("elbo") is not None
    row = [
        *score_cells(result, _SCORES),
        score(result["elbo"] if is_bound else result.get("objective_value"), 1),
        score(result.get("delta"), 4),
        str(result["steps"]),
        score(result["train_seconds"], 1),
    ]
    print_table((*_SCORES, "ELBO" if is_bound else "objective", "δ", "steps", "seconds"), [row], title=title)
    run_dir = quoted(result["run_dir"])
    say(f"saved in {result['run_dir']}; use it with: gpcnoise predict {run_dir} --data FILE --out FILE")
