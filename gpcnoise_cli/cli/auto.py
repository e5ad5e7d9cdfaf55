"""`gpcnoise train --auto`: what is tried is said before, each trial when it is done, and all of them in a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.cli.console import print_table, say
from gpcnoise_cli.config.options import BY_KEY
from gpcnoise_cli.config.quoting import assign

if TYPE_CHECKING:
    from gpcnoise_cli.config.schema import TrainConfig
    from gpcnoise_cli.data import Split
    from gpcnoise_cli.runs.auto import Search, Trial
    from gpcnoise_cli.runs.run_folder import RunFolder


def chosen_settings(
    config: TrainConfig,
    data: Split,
    search: Search,
    folder: RunFolder | None,
    stop_requested: Callable[[], bool],
) -> tuple[TrainConfig, RunFolder]:
    """The settings that win, and the folder that the run goes on in."""
    from gpcnoise_cli.runs.auto import HELD_OUT, TRIAL_STEPS, choose_settings

    say(
        f"--auto: at most {search.most} trials of at most {min(config.iterations, TRIAL_STEPS)} steps, each scored on "
        f"{HELD_OUT:.0%} of the {data.n_train:,} training rows, held out; then the best on all of them."
    )

    def told(number: int, trial: Trial) -> None:
        say(
            f"trial {number}, {_words(trial.changes)}: nll {trial.nll:.4f}, acc {trial.acc:.2f}%, {trial.seconds:.1f} s"
        )

    winner, done, folder = choose_settings(config, data, search, told, folder=folder, stop_requested=stop_requested)
    rows = [
        (place, _words(one.changes), f"{one.nll:.4f}", f"{one.acc:.2f}", one.steps, f"{one.seconds:.1f}")
        for place, one in enumerate(sorted(done.trials, key=lambda one: one.nll), 1)
    ]
    print_table(("place", "settings", "nll", "acc %", "steps", "seconds"), rows, stream=sys.stderr)
    say(f"chosen: {_words(done.chosen or {})} (kept in {folder.path}/trials.json).")
    return winner, folder


def _words(changes: dict[str, Any]) -> str:
    """The changes as one would write them on the command line."""
    return " ".join(_option(key, value) for key, value in changes.items()) or "as asked"


def _option(key: str, value: Any) -> str:
    option = BY_KEY.get("kernel" if key == "kernel.name" else key)
    return " ".join(option.words(value)) if option is not None else assign(key, value).replace("'", "")
