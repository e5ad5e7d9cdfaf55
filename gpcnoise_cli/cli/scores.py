"""The scores of a result as cells of a table; a result that is older than a score shows a dash for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpcnoise_cli.likelihoods.registry import LIKELIHOODS

# The column, the key in the result, the decimals.
SCORES: dict[str, tuple[str, int]] = {
    "acc %": ("acc", 2),
    "nll": ("nll", 4),
    "Brier": ("brier", 4),
    "ECE": ("ece", 4),
    "ECE (equal mass)": ("ece_equal_mass", 4),
    "AUROC": ("auroc", 4),
    "acc@80 %": ("acc_at_80", 2),
    "acc@90 %": ("acc_at_90", 2),
    "acc@95 %": ("acc_at_95", 2),
}


def score_cells(result: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    """The values of `columns`, formatted."""
    return [score(result.get(SCORES[column][0]), SCORES[column][1]) for column in columns]


def trained_as(result: Mapping[str, Any]) -> str:
    """What was trained, for the title of a table; a method without a likelihood is its label."""
    label = result.get("label") or result["method"]
    if label not in (spec.label for spec in LIKELIHOODS.values()):
        return str(label)
    objective = result.get("objective", "elbo")
    maximised = f"{result['bound']} bound" if objective == "elbo" else f"{objective} objective"
    return f"{label} ({result['likelihood']}, {maximised})"


def score(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
