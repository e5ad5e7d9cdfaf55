"""Statements that the figures of `gpcnoise reproduce` bear on, by what their `summary.json` holds.

What is computed exactly, or concerns the very data that the paper shows, is confirmed or contradicted. What was
measured on the test rows of one split stays undecided, and the note says what that split shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpcnoise_cli.claims.claim import Claim
from gpcnoise_cli.claims.equivalence import Verdict
from gpcnoise_cli.grid.ledger import read_record

Finding = tuple[Verdict, str]


def judge_shown(claim: Claim, results: Path) -> Finding:
    experiment, judge = SHOWN[claim.check]
    summary = read_record(results / "figures" / experiment / "summary.json")
    if summary is None:
        return Verdict.NOT_COMPUTED, f"no figure {experiment}"
    try:
        return judge(claim, summary)
    except (KeyError, TypeError, ValueError):
        return Verdict.NOT_COMPUTED, f"the figure {experiment} lacks what this needs"


def _exact(holds: Sequence[bool], what: str) -> Finding:
    if not holds:
        return Verdict.NOT_COMPUTED, f"no {what}"
    verdict = Verdict.CONFIRMED if all(holds) else Verdict.CONTRADICTED
    return verdict, f"{sum(holds)} of {len(holds)} {what}"


def _one_split(holds: Sequence[bool], what: str) -> Finding:
    if not holds:
        return Verdict.NOT_COMPUTED, f"no {what}"
    return Verdict.UNDECIDED, f"one split: {sum(holds)} of {len(holds)} ({what})"


def _delta_fixed_is_worse(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    nll = {
        (run["likelihood"], run["delta_mode"]): run["nll"] for run in summary["runs"] if run["dataset"] == claim.sets
    }
    names = [likelihood for likelihood, mode in nll if mode == "fixed"]
    return _one_split([nll[name, "fixed"] - nll[name, "free"] > _margin(claim) for name in names], "likelihoods")


def _delta_fixed_rises(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    runs = [run for run in summary["runs"] if (run["dataset"], run["delta_mode"]) == (claim.sets, "fixed")]
    return _one_split([run["nll"] - run["lowest_nll"] > _margin(claim) for run in runs], "likelihoods")


def _airline_best(claim: Claim, summary: Mapping[str, Any]) -> Finding:
    runs = {run.get("label") or run["method"]: run for run in summary["runs"]}
    sign = 1 if claim.metric == "acc" else -1
    best = runs.pop(claim.label)[claim.metric]
    verdict, note = _one_split([sign * (best - run[claim.metric]) > 0 for run in runs.values()], "rivals")
    return verdict, f"{note.rstrip(')')}, {summary['settings']['iterations']} steps)"


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
    "delta-fixed-is-worse": ("delta", _delta_fixed_is_worse),
    "delta-fixed-rises": ("delta", _delta_fixed_rises),
    "airline-best": ("airline", _airline_best),
    "elbo-order": ("noise", _elbo_order),
    "elbo-falls": ("noise", _elbo_falls),
    "logistic-cdf": ("errors", _logistic_cdf),
    "logistic-best": ("errors", _logistic_best),
    "gumbel-apart": ("errors", _gumbel_apart),
    "toy-classified": ("toy", _toy_classified),
    "toy-inducing": ("toy", _toy_inducing),
}
