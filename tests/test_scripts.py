"""scripts/compare-grids.py on made cells, and scripts/best-possible.py against quadrature and samples."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad

from gpcnoise_cli.data.generators import GENERATORS

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


def run(name: str, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPTS / name, *map(str, words)], capture_output=True, text=True, check=False
    )


def compare(*words: object) -> subprocess.CompletedProcess[str]:
    return run("compare-grids.py", *words)


def test_two_grids_are_compared_on_the_splits_that_both_have(
    uci_cells: Callable[..., list[Path]], tmp_path: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    uci_cells("adult", "GPC-I", [(85.0, 0.40), (85.0, 0.42), (85.0, 0.9)], results=before)
    uci_cells("adult", "GPC-I", [(85.0, 0.35), (85.0, 0.43)], results=after)
    uci_cells("magic", "GPC-I", [(87.0, 0.30)], results=before)
    uci_cells("magic", "GPC-I", [(87.0, 0.32)], results=after)
    uci_cells("magic", "GPC-II", [(87.0, 0.30)], results=before)
    folders = [one / "uci-fast/paper/rbf" for one in (before, after)]
    lines = compare(*folders).stdout.splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["adult", "step", "2", "0.4100", "0.3900", "-0.0200"],
        ["magic", "step", "1", "0.3000", "0.3200", "+0.0200"],
    ]
    assert lines[3] == "lower on 1 of 2, higher by more than 0.01 on 1; +0.0000 on average"
    assert compare(*folders, 1).stdout.splitlines()[1].split() == ["adult", "step", "1", "0.4200", "0.4300", "+0.0100"]


def test_nothing_in_common_is_told(tmp_path: Path) -> None:
    outcome = compare(tmp_path, tmp_path)
    assert outcome.returncode == 1
    assert "have no cell in common" in outcome.stderr


@pytest.fixture(scope="module")
def best() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPTS / "best-possible.py"))


def test_the_densities_of_the_waves_are_those_of_quadrature(best: dict[str, Any]) -> None:
    def log_mass(x: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        def exponent(u: float) -> float:
            return float(-0.5 * np.sum((x - u * a - (1 - u) * b) ** 2))

        top = max(map(exponent, np.linspace(0, 1, 101)))
        return float(top + np.log(quad(lambda u: np.exp(exponent(u) - top), 0, 1, limit=200)[0]))

    X = np.vstack([GENERATORS["waveform"]()[0][:4], np.full(21, 20.0)])
    for x, logs in zip(X, best["waveform"](X), strict=True):
        np.testing.assert_allclose(np.diff(logs), np.diff([log_mass(x, *ends) for ends in best["ENDS"]]), rtol=1e-6)


@pytest.mark.parametrize("name", ["waveform", "waveform-noise", "twonorm", "ringnorm"])
def test_the_best_probabilities_are_calibrated_on_rows_of_the_recipe(best: dict[str, Any], name: str) -> None:
    recipe, (X, y) = best["RECIPES"][name], GENERATORS[name]()
    for k, (mean, variance) in enumerate(zip(recipe.means, recipe.variances, strict=True)):
        rows = X[y == k]
        assert np.abs((rows.mean(axis=0) - mean) / np.sqrt(variance / len(rows))).max() < 4.5
        np.testing.assert_allclose(rows.var(axis=0), variance, rtol=0.15)
    p = best["posteriors"](recipe, (X - X.mean(axis=0)) / X.std(axis=0))
    # The surprise of the true class is the entropy on average, if the probabilities are right.
    surprise, entropy = -np.log(p[np.arange(len(y)), y]), -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1)
    assert abs(np.mean(surprise - entropy)) < 4 * np.std(surprise - entropy) / np.sqrt(len(y))


def test_the_best_possible_figures_are_printed_by_set(best: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    best["main"]("twonorm", "0", "1")
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["set", "splits", "acc", "±", "nll", "±"]
    name, splits, acc, _, nll, _ = line.split()
    assert (name, splits) == ("twonorm", "2")
    assert 96 < float(acc) < 99
    assert 0.02 < float(nll) < 0.1
    with pytest.raises(SystemExit, match="'iris' is neither a number nor one of waveform, "):
        best["main"]("iris")
