"""What a result is called in the title of a table."""

from __future__ import annotations

from typing import Any

import pytest

from gpcnoise_cli.cli.scores import model_title, score_cells


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"method": "GPC-I", "likelihood": "step", "bound": "gaussian"}, "GPC-I (step, gaussian bound)"),
        (
            {"method": "svgp", "label": "GPCsm", "likelihood": "softmax", "bound": "tilted", "objective": "predictive"},
            "GPCsm (softmax, predictive objective)",
        ),
        ({"method": "selu", "label": "Selu"}, "Selu"),
    ],
    ids=["before labels", "svgp", "without a likelihood"],
)
def test_a_result_is_named_by_its_label(result: dict[str, Any], words: str) -> None:
    assert model_title(result) == words


def test_a_score_that_is_not_there_is_a_dash() -> None:
    assert score_cells({"acc": 97.123, "ece": None}, ("acc %", "nll", "ECE")) == ["97.12", "–", "–"]
