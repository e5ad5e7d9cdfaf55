"""`gpcnoise train`: train one classifier, score it on the test split, and keep it."""

from __future__ import annotations

import gc
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.columns import say_columns
from gpcnoise_cli.cli.console import emit_json, print_table, say, stderr
from gpcnoise_cli.cli.options import Json, with_train_options
from gpcnoise_cli.cli.scores import model_title, score, score_cells
from gpcnoise_cli.errors import UsageError, quoted

if TYPE_CHECKING:
    from gpcnoise_cli.runs.auto import Search
    from gpcnoise_cli.runs.run_folder import RunFolder

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
    auto: Annotated[
        bool, typer.Option("--auto", help="Choose kernel, ARD, m and objective by short trials on held-out rows first.")
    ] = False,
    trials: Annotated[
        int | None, typer.Option("--trials", help="Trials of --auto at most. Default: 9.", metavar="N")
    ] = None,
    json: Json = False,
) -> None:
    """Train a classifier, score it on the test split, and save it in a run folder.

    Example: gpcnoise train --dataset ringnorm --likelihood probit --kernel matern32 --ard

    Your own data: gpcnoise train --data customers.csv --target churned
    """
    if resume is not None and auto:
        raise UsageError(f"--resume goes on as the run in {resume} was started, with --auto or without; omit --auto.")
    if trials is not None and not auto:
        raise UsageError("--trials belongs to --auto; give both, or neither.")
    result = _resumed(resume, overrides) if resume is not None else _fresh(overrides, auto, trials)
    if json:
        emit_json(result)
    elif "host" in result:
        say(f"trained to step {result['steps']}; the chief has the result.")
    else:
        _print_result(result)
    if result.get("acc") is not None and result["acc"] <= result["majority_acc"]:
        say(
            f"this is no better than always naming the largest class ({result['majority_acc']:.2f}%): try more "
            "--iterations, another --learning-rate, or another start by kernel.lengthscale."
        )


def _fresh(overrides: list[str], auto: bool, trials: int | None) -> dict[str, Any]:
    from gpcnoise_cli.config.compose import compose, with_absolute_paths
    from gpcnoise_cli.methods.registry import method_spec

    config = compose(overrides)
    own = method_spec(config.method.name).likelihood
    chosen = next((one for one in overrides if one.startswith(("likelihood=", "likelihood."))), None)
    if own is not None and chosen is not None:
        raise UsageError(f"method={config.method.name} has a likelihood of its own ({own}); leave out {chosen}.")
    if config.class_weight is not None:
        from gpcnoise_cli.data.weights import spelled_out

        config.class_weight = spelled_out(config.class_weight)  # the run must not need the file again
    asked = any(override.startswith("inducing=") for override in overrides)
    config = with_absolute_paths(config)  # a run must be resumable from any folder
    return _train(config, _search(config, overrides, trials) if auto else None, limit_inducing=not asked)


def _search(config: Any, overrides: list[str], trials: int | None) -> Search:
    from gpcnoise_cli.runs.auto import MOST_TRIALS, Search, check_auto

    most = MOST_TRIALS if trials is None else trials
    check_auto(config, most)
    return Search.beside(overrides, most)


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
    return _train(config, _unfinished_search(folder), folder=folder, resume=True)


def _unfinished_search(folder: RunFolder) -> Search | None:
    stored = folder.read_trials()
    if stored is None or stored.get("chosen") is not None:
        return None
    from gpcnoise_cli.runs.auto import Search

    return Search.from_dict(stored)


def _train(config: Any, search: Search | None = None, **how: Any) -> dict[str, Any]:
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
        data = _on_disk(config, fresh="folder" not in how)
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
        try:
            if search is not None:
                from gpcnoise_cli.cli.auto import chosen_settings

                if how.get("limit_inducing"):
                    config = replace(config, inducing=min(config.inducing, data.n_train))
                config, how["folder"] = chosen_settings(config, data, search, how.get("folder"), stop_requested)
            with show_progress() as events:
                return run_training(
                    config, data=data, events=events, stop_requested=stop_requested, cluster=cluster, **how
                )
        except Interrupted as stop:
            resume = f"continue with: gpcnoise train --resume {quoted(str(stop.run_dir))}"
            say(f"stopped at step {stop.step}; {resume if stop.run_dir else 'so does the chief'}")
            raise typer.Exit(130) from stop


def _on_disk(config: Any, fresh: bool) -> Any:
    """The data, their training rows on disk; a signal breaks off a long pass at once, and nothing is left of it."""
    from gpcnoise_cli.data.store import stores_dir
    from gpcnoise_cli.runs.run_folder import RunFolder
    from gpcnoise_cli.runs.train import load_data

    if fresh:
        RunFolder.check(config)  # not after a pass that may take long
    with stderr().status(f"reading the table; its training rows are kept in {stores_dir()}"):
        data = load_data(config)
    if data.store is not None:
        say(f"training rows on disk: {data.store.folder}")
    return data


def _print_result(result: dict[str, Any]) -> None:
    scored = f", {result['n_test']} {result.get('scored_on') or 'test rows'}"
    if result.get("folds"):
        scored = f", each of them scored once in {len(result['folds'])} folds"
    title = (
        f"{model_title(result)} on {result['dataset']} "
        f"({result['source']}, protocol {result['protocol']}, split {result['split']}): "
        f"{result['n_train']} training rows{scored}, d = {result['d']}, {result['classes']} classes"
    )
    is_bound = result.get("elbo") is not None
    bound = [
        score(result["elbo"] if is_bound else result.get("objective_value"), 1),
        score(result.get("delta"), 4),
        str(result["steps"]),
        score(result["train_seconds"], 1),
    ]
    head = (*_SCORES, "ELBO" if is_bound else "objective", "δ", "steps", "seconds")
    rows = [[*score_cells(result, _SCORES), *bound]]
    if result.get("folds"):
        errors = score_cells(result["standard_errors"], _SCORES)
        rows = [[*(f"{mean} ± {error}" for mean, error in zip(rows[0], errors, strict=False)), *bound]]
    print_table(head, rows, title=title)
    if result.get("folds"):
        table, test = Path(result["run_dir"]) / result["out_of_fold"], result.get("test")
        say("± is the standard error of the mean over the folds; ELBO, δ and steps are of the model on all rows.")
        say(f"every row's probabilities by a model that has not seen it: {table}")
        if test:
            scores = f"acc {test['acc']:.2f}%, nll {test['nll']:.4f}"
            say(f"on {test['n_test']} test rows the model of all training rows has {scores}.")
    elif result["acc"] is None:
        say("there are no scores: dataset.test_fraction=0 leaves no rows to test on; `--folds 5` gives an estimate.")
    if result.get("n_calibration"):
        say(
            f"{result['n_calibration']} further training rows were kept from training, for `gpcnoise predict` with "
            "--sets, --calibrate or --flag-far."
        )
    run_dir = quoted(result["run_dir"])
    say(f"saved in {result['run_dir']}; use it with: gpcnoise predict {run_dir} --data FILE --out FILE")
