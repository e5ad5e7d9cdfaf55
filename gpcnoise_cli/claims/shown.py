"""Statements that the figures of `gpcnoise reproduce` bear on, by what their `summary.json` holds.

What is computed exactly, or concerns the very data that the paper shows, is confirmed or contradicted. Airline is one
run in the paper, too, with 10,000 test rows: there the spread is that over the rows. What else was measured on the test
rows of one split stays undecided, and the note says what that split shows.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gpcnoise_cli.claims.claim import Claim, column_of
from gpcnoise_cli.claims.equivalence import Sample, Verdict, below
from gpcnoise_cli.grid.ledger import read_record
from gpcnoise_cli.tables.uci_figures import paper_methods

Finding = tuple[Verdict, str]


def judge_shown(claim: Claim, results: Path) -> Finding:
    experiment, judge = SHOWN[claim.check]
    summary = _summary(results / "figures", experiment)
    if summary is None:
        return Verdict.NOT_COMPUTED, f"no figure {experiment}"
    try:
        return judge(claim, summary)
    except (KeyError, TypeError, ValueError):
        return Verdict.NOT_COMPUTED, f"the figure {experiment} lacks what this needs"


def _summary(figures: Path, experiment: str) -> dict[str, Any] | None:
    """The summary of a figure, with the runs of other methods that were made apart with the same settings."""
    summary = _read(figures / experiment)
    for folder in sorted(figures.glob(f"{experiment}-methods-*")):
        other = _read(folder)
        if summary is not None and other is not None and _same_but_methods(summary, other):
            summary = {**summary, **{part: [*summary[part], *other[part]] for part in ("runs", "curves")}}
    return summary


def _read(folder: Path) -> dict[str, Any] | None:
    """A summary, and the lines of the curves beside it."""
    summary, path = read_record(folder / "summary.json"), folder / "curves.csv"
    if summary is None:
        return None
    with path.open(encoding="utf-8", newline="") if path.is_file() else nullcontext(()) as lines:
        return {**summary, "curves": list(csv.DictReader(lines))}


def _same_but_methods(summary: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    both = [one.get("settings") for one in (summary, other)]
    if not all(isinstance(one, dict) for one in both) or not all(
        isinstance(one.get("runs"), list) for one in (summary, other)
    ):
        return False
    return len({str({**one, "methods": None}) for one in both if one is not None}) == 1


def _exact(holds: Sequence[bool], what: str) -> Finding:
    if not holds:
        return Verdict.NOT_COMPUTED, f"no {what}"
    verdict = Verdict.CONFIRMED if all(holds) else Verdict.CONTRADICTED
    return verdict, f"{sum(holds)} of {len(holds)} {what}"


def _one_split(holds: Sequence[bool], what: str) -> Finding:
    if not holds:
        return Verdict.NOT_COMPUTED, f"no {what}"
    return Verdict.UNDECIDED, f"one split: {sum(holds)} of {len(holds)} ({what})"


def _no_curve(label: str) -> Finding:
    if column_of(label) is None:
        return Verdict.NOT_RUNNABLE, f"no method {label} here"
    return Verdict.NOT_COMPUTED, f"no curve of {label}"


def _delta_settles_later(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    """A method without a δ is slower than those with a free one."""
    from gpcnoise_cli.figures.delta import settled_at

    curves: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for point in summary["curves"]:
        if point["dataset"] == claim.sets:
            key = point["likelihood"], point["delta_mode"]
            curves.setdefault(key, []).append((int(point["step"]), float(point["nll"])))
    settled = {key: settled_at(curve, curve[-1][1]) for key, curve in curves.items()}
    column = column_of(claim.label)
    mine = [step for (name, _), step in settled.items() if column is not None and name == column[1]]
    if not mine:
        return _no_curve(claim.label)
    return _one_split([mine[0] > step for (_, mode), step in settled.items() if mode == "free"], "with a free δ")


def _airline_best(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    """Better than the paper's other methods."""
    return _airline(claim, summary, [label for label in paper_methods() if label != claim.label], better=True)


def _airline_second(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    """Better than all but the best, which is GPCsm."""
    runs = _airline_runs(summary)
    rivals = [label for label in runs if label not in (claim.label, claim.against)]
    return _airline(claim, summary, rivals, better=True)


def _airline_worse(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    """Worse than all of the paper's methods."""
    return _airline(claim, summary, paper_methods(), better=False)


def _airline(claim: Claim, summary: Mapping[str, Any], rivals: Sequence[str], *, better: bool) -> Finding:
    runs = _airline_runs(summary)
    if claim.label not in runs:
        return _no_curve(claim.label)
    mine, sign = runs[claim.label], (1 if claim.metric == "nll" else -1) * (1 if better else -1)
    worse = [_difference(mine, runs[label], claim.metric, sign, summary["n_test"]) for label in rivals if label in runs]
    verdicts = [below(one, _margin(claim)).verdict for one in worse]
    _, note = _one_split([one.mean < -_margin(claim) for one in worse], "rivals")
    verdict = next(
        (one for one in (Verdict.CONTRADICTED, Verdict.UNDECIDED, Verdict.CONFIRMED) if one in verdicts),
        Verdict.NOT_COMPUTED,
    )
    return verdict, f"{note.rstrip(')')}, {summary['settings']['iterations']} steps)"


def _difference(first: Mapping[str, Any], second: Mapping[str, Any], metric: str, sign: int, rows: int) -> Sample:
    """Over the test rows; as if each method had rows of its own, so its error is rather too large than too small."""
    mean = sign * (first[metric] - second[metric])
    key = f"{metric}_error"
    if key not in first or key not in second:  # a figure of an older edition
        return Sample(mean, 1)
    return Sample(mean, rows, math.hypot(first[key], second[key]) * math.sqrt(rows), rows - 1)


def _airline_runs(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {run.get("label") or run["method"]: run for run in summary["runs"]}


def _elbo_order(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    models = summary["models"]
    return _exact([one["elbo_step"] > one["elbo_probit"] > one["elbo_logit"] for one in models], "models")


def _elbo_falls(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    return _exact([one["rows_rising_though_right"] == 0 for one in summary["models"]], "models")


def _logistic_cdf(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    found = summary["largest_cdf_difference_paper_a"]
    verdict, _ = _exact([abs(found - summary["paper_difference"]) <= _margin(claim)], "differences")
    return verdict, f"it is {found:.5f}"


def _logistic_best(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    excess = summary["largest_cdf_difference_paper_a"] - summary["largest_cdf_difference"]
    verdict, _ = _exact([excess <= _margin(claim)], "differences")
    return verdict, f"best: a = {summary['a_star']:.4f}"


def _gumbel_apart(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    found = summary["gumbel_centred"]["difference"]
    verdict, _ = _exact([found > _margin(claim)], "differences")
    return verdict, f"it is {found:.3f}"


def _toy_classified(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    return _exact([one["train_acc"] > 100 - _margin(claim) for one in summary["models"]], "models")


def _toy_inducing(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    return _exact([one["distance_at_end"] < one["distance_at_start"] for one in summary["models"]], "models")


def _margin(claim: Claim) -> float:
    return claim.margin or 0.0


SHOWN: dict[str, tuple[str, Callable[[Claim, Mapping[str, Any]], Finding]]] = {
    "delta-settles-later": ("delta", _delta_settles_later),
    "airline-best": ("airline", _airline_best),
    "airline-second": ("airline", _airline_second),
    "airline-worse": ("airline", _airline_worse),
    "elbo-order": ("noise", _elbo_order),
    "elbo-falls": ("noise", _elbo_falls),
    "logistic-cdf": ("errors", _logistic_cdf),
    "logistic-best": ("errors", _logistic_best),
    "gumbel-apart": ("errors", _gumbel_apart),
    "toy-classified": ("toy", _toy_classified),
    "toy-inducing": ("toy", _toy_inducing),
}
