"""How far to trust each prediction: sets that hold the class, corrected probabilities, far rows, decisions by cost.

All but the costs is learned from the rows that the run held out (`held_out`). Prediction sets are made of the
probabilities as the model gives them, whether or not those are calibrated besides: a correction that was learned from
the held-out rows would spoil the promise that the same rows make for the sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import UsageError, unknown_choice
from gpcnoise_cli.evaluation.conformal import (
    Sets,
    check_level,
    coverage_of,
    least_probability,
    prediction_sets,
    rows_needed,
)
from gpcnoise_cli.evaluation.costs import Costs, read_costs
from gpcnoise_cli.evaluation.familiarity import USUAL, far_beyond
from gpcnoise_cli.evaluation.metrics import clip_probabilities, evaluate
from gpcnoise_cli.evaluation.recalibration import WAYS, Correction, fit_correction, gain
from gpcnoise_cli.runs.held_out import held_out_rows, openness_of

if TYPE_CHECKING:
    from gpcnoise_cli.methods.trained_model import TrainedModel

SET, FAR, DECISION, EXPECTED_COST = "set", "far", "decision", "expected_cost"
BETWEEN = "|"


@dataclass(frozen=True)
class Asked:
    """What is wanted besides class probabilities."""

    sets: float | None = None
    calibrate: str | None = None
    flag_far: bool = False
    costs: str | None = None

    def check(self) -> None:
        """What is wrong with it whatever the model is."""
        if self.sets is not None:
            check_level(self.sets)
        if self.calibrate is not None and self.calibrate not in WAYS:
            raise unknown_choice("way to calibrate", self.calibrate, WAYS)

    @property
    def needs_held_out(self) -> str:
        """The first option that is learned from held-out rows; empty where there is none."""
        wanted = {
            "--sets": self.sets is not None,
            "--calibrate": self.calibrate is not None,
            "--flag-far": self.flag_far,
        }
        return next((flag for flag, asked in wanted.items() if asked), "")


@dataclass(frozen=True)
class Judged:
    """Some rows: their probabilities, and what else was asked for."""

    probabilities: NDArray[np.float64]
    plain: NDArray[np.float64]  # before calibration
    sets: Sets | None = None
    far: NDArray[np.bool_] | None = None
    decided: NDArray[np.int64] | None = None
    expected: NDArray[np.float64] | None = None

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """Rows that were judged block by block."""

        def all_of(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if found[0] is None else np.concatenate(found)

        return cls(**{one.name: all_of(one.name) for one in fields(cls)})


class Judge:
    """What was asked for, learned and ready for new rows; `notes` are to be said."""

    def __init__(self, trained: TrainedModel, run_dir: Path, asked: Asked) -> None:
        asked.check()
        self.trained, self.asked, self.notes = trained, asked, list[str]()
        self.correct: Correction | None = None
        self.least: float | None = None
        self.beyond: float | None = None
        self.costs: Costs | None = None
        if asked.costs is not None:
            self.costs = read_costs(asked.costs, trained.class_names)
        if asked.needs_held_out:
            self._learn(run_dir)

    def _learn(self, run_dir: Path) -> None:
        asked, held_out = self.asked, held_out_rows(run_dir, self.asked.needs_held_out)
        rows = f"{len(held_out)} {held_out.what}"
        if asked.sets is not None:
            self.least = least_probability(held_out.probabilities, held_out.y, asked.sets)
            needed = rows_needed(asked.sets)
            self.notes.append(
                f"sets of level {asked.sets:g} by {rows}: the classes with a probability of at least {self.least:.4g}."
                if len(held_out) >= needed
                else f"{rows} are too few for sets of level {asked.sets:g} ({needed} needed): a set holds every class."
            )
        if asked.calibrate is not None:
            before, after = gain(asked.calibrate, held_out.probabilities, held_out.y)
            self.correct = fit_correction(asked.calibrate, held_out.probabilities, held_out.y)
            moves = f"the nll of {rows}, each corrected by others, goes from {before:.4f} to {after:.4f}"
            advice = "" if after < before else ": it does not help here, omit --calibrate"
            self.notes.append(f"calibrated by {asked.calibrate}: {moves}{advice}.")
        if asked.flag_far:
            if held_out.openness is None:
                raise UsageError(
                    f"method {self.trained.config.method.name!r} has no latent functions to tell far rows by; "
                    "omit --flag-far."
                )
            self.beyond = far_beyond(held_out.openness)
            self.notes.append(
                f"far: where the model knows less than at {100 * USUAL:g}% of {rows} "
                f"(more than {100 * self.beyond:.3g}% of the prior variance is left)."
            )

    def __call__(self, X: NDArray[np.floating]) -> Judged:
        """For scaled rows."""
        plain = self.trained.predict_scaled(X)
        probabilities = plain if self.correct is None else self.correct(clip_probabilities(plain))
        far = None
        if self.beyond is not None:
            opened = openness_of(self.trained, X)
            assert opened is not None
            far = opened > self.beyond
        # Sets are made of what `held_out` kept: clipped probabilities.
        sets = None if self.least is None else prediction_sets(clip_probabilities(plain), self.least)
        return replace(self.decided(probabilities), plain=plain, sets=sets, far=far)

    def decided(self, probabilities: NDArray[np.float64]) -> Judged:
        """Rows whose probabilities are known."""
        decided, expected = (None, None) if self.costs is None else self.costs.decide(probabilities)
        return Judged(probabilities, probabilities, decided=decided, expected=expected)

    def columns(self, judged: Judged) -> dict[str, Any]:
        """What was asked for as further columns of a table of predictions."""
        found: dict[str, Any] = {}
        if judged.sets is not None:
            found[SET] = [set_text(self.trained.class_names, row) for row in judged.sets]
        if judged.far is not None:
            found[FAR] = judged.far
        if self.costs is not None and judged.decided is not None:
            found[DECISION] = [str(self.costs.decisions[one]) for one in judged.decided]
            found[EXPECTED_COST] = judged.expected
        return found


def set_text(class_names: Sequence[Any], row: NDArray[np.bool_]) -> str:
    """`red|blue`; a bar inside a name is written as \\|, and a backslash as \\\\."""
    names = (str(class_names[index]) for index in np.flatnonzero(row))
    return BETWEEN.join(name.replace("\\", "\\\\").replace(BETWEEN, "\\" + BETWEEN) for name in names)


def scores_of(judge: Judge, judged: Judged, y: NDArray[np.int64]) -> dict[str, Any]:
    """What labelled rows say of all that was asked for."""
    found: dict[str, Any] = {}
    right = judged.probabilities.argmax(axis=1) == y
    if judged.sets is not None and judge.asked.sets is not None:
        found["sets"] = asdict(coverage_of(judged.sets, y, judge.asked.sets))
    if judge.asked.calibrate is not None:
        before = asdict(evaluate(judged.plain, y))
        found["calibrated"] = {
            "by": judge.asked.calibrate,
            "before": {key: before[key] for key in ("acc", "nll", "brier", "ece")},
        }
    if judged.far is not None:
        found["far"] = {
            "rows": int(judged.far.sum()),
            "acc": _percent(right[judged.far]),
            "acc_of_others": _percent(right[~judged.far]),
        }
    if judge.costs is not None and judged.decided is not None and judged.expected is not None:
        matrix, rows = judge.costs.matrix, np.arange(len(y))
        most_probable = judged.probabilities.argmax(axis=1)
        found["costs"] = {
            "mean": float(np.mean(matrix[y, judged.decided])),
            "expected": float(np.mean(judged.expected[rows])),
            "mean_by_most_probable": float(np.mean(matrix[y, most_probable])),
            "decisions": _counted(judge.costs, judged.decided),
        }
    return found


def _counted(costs: Costs, decided: NDArray[np.int64]) -> Mapping[str, int]:
    counts = np.bincount(decided, minlength=len(costs.decisions))
    return {str(name): int(count) for name, count in zip(costs.decisions, counts, strict=True)}


def _percent(right: NDArray[np.bool_]) -> float | None:
    return 100.0 * float(np.mean(right)) if len(right) else None
