"""`gpcnoise train`: train one classifier, score it on the test split, and keep it."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.columns import say_columns
from gpcnoise_cli.cli.console import emit_json, print_table, say
from gpcnoise_cli.cli.options import Json, with_train_options
from gpcnoise_cli.cli.scores import model_title, score, score_cells
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    from gpcnoise_cli.runs.auto import Search
    from gpcnoise_cli.runs.run_folder import RunFolder

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
    if resume is not None and overrides:
        raise UsageError(f"--resume takes its settings from {resume}/config.yaml; omit: {' '.join(overrides)}.")
    if resume is not None and auto:
        raise UsageError(f"--resume goes on as the run in {resume} was started, with --auto or without; omit --auto.")
    if trials is not None and not auto:
        raise UsageError("--trials belongs to --auto; give both, or neither.")
    result = _resumed(resume) if resume is not None else _fresh(overrides, auto, trials)
    if json:
        emit_json(result)
    else:
        _print_result(result)
    if result["acc"] <= result["majority_acc"]:
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
    asked = any(override.startswith("inducing=") for override in overrides)
    config = with_absolute_paths(config)  # a run must be resumable from any folder
    return _train(config, _search(config, overrides, trials) if auto else None, limit_inducing=not asked)


def _search(config: Any, overrides: list[str], trials: int | None) -> Search:
    from gpcnoise_cli.runs.auto import MOST_TRIALS, Search, check_auto

    most = MOST_TRIALS if trials is None else trials
    check_auto(config, most)
    return Search.beside(overrides, most)


def _resumed(path: Path) -> dict[str, Any]:
    from gpcnoise_cli.runs.run_folder import RunFolder

    folder = RunFolder.existing(path)
    done = folder.read_metrics()
    if done is not None:
        say(f"the run in {path} is finished already; this is its result.")
        return done
    return _train(folder.read_config(), _unfinished_search(folder), folder=folder, resume=True)


def _unfinished_search(folder: RunFolder) -> Search | None:
    stored = folder.read_trials()
    if stored is None or stored.get("chosen") is not None:
        return None
    from gpcnoise_cli.runs.auto import Search

    return Search.from_dict(stored)


def _train(config: Any, search: Search | None = None, **how: Any) -> dict[str, Any]:
    from gpcnoise_cli.cli.interruption import stop_on_signal
    from gpcnoise_cli.runs.tracking import check_tracking

    check_tracking(config.tracking)
    with stop_on_signal() as stop_requested:  # before the slow imports, so that no signal is lost
        from gpcnoise_cli.runs.train import load_data, run_training
        from gpcnoise_cli.runtime import load_tensorflow

        data = load_data(config)  # before TensorFlow: what is wrong with the data is told at once
        if not how.get("resume"):  # said at the start, and kept in columns.json
            say_columns(data.findings, data.notes)
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
                return run_training(config, data=data, events=events, stop_requested=stop_requested, **how)
        except Interrupted as stop:
            say(f"stopped at step {stop.step}; continue with: gpcnoise train --resume {stop.run_dir}")
            raise typer.Exit(130) from stop


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
    say(f"saved in {result['run_dir']}; use it with: gpcnoise predict {result['run_dir']} --data FILE --out FILE")
