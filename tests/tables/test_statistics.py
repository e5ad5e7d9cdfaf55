"""Ranks and tests against textbook examples and scipy; the diagram is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpcnoise_cli.tables.critical_difference import draw_diagram
from gpcnoise_cli.tables.statistics import cliques, compare, critical_difference, holm

# Demšar (JMLR 2006), Table 6: four classifiers on fourteen sets; average ranks 3.143, 2.000, 2.893, 1.964.
DEMSAR = """
0.763 0.768 0.771 0.798 / 0.599 0.591 0.590 0.569 / 0.954 0.971 0.968 0.967 / 0.628 0.661 0.654 0.657 /
0.882 0.888 0.886 0.898 / 0.936 0.931 0.916 0.931 / 0.661 0.668 0.609 0.685 / 0.583 0.583 0.563 0.625 /
0.775 0.838 0.866 0.875 / 1.000 1.000 1.000 1.000 / 0.940 0.962 0.965 0.962 / 0.619 0.666 0.614 0.669 /
0.972 0.981 0.9751 0.975 / 0.957 0.978 0.946 0.970
"""
METHODS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
VALUES = np.array([[float(x) for x in line.split()] for line in DEMSAR.split("/")])
SETS = [f"set {number}" for number in range(14)]
FIGURES = {(name, method): VALUES[i, j] for i, name in enumerate(SETS) for j, method in enumerate(METHODS)}


def test_the_example_of_the_paper_on_comparing_classifiers() -> None:
    found = compare(METHODS, FIGURES, SETS, larger_is_better=True)
    assert found is not None
    assert found.ranks == pytest.approx((3.143, 2.000, 2.893, 1.964), abs=2e-3)
    assert found.friedman_p < 0.05
    assert found.critical_difference == pytest.approx(1.25, abs=0.01)
    assert [found.methods[index] for index in found.order][:2] == ["C4.5+m+cf", "C4.5+m"]


def test_the_critical_values_of_nemenyi() -> None:
    assert critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=2e-3)
    assert critical_difference(10, 20) == pytest.approx(3.164 * np.sqrt(10 * 11 / (6 * 20)), abs=5e-3)


def test_the_critical_difference_has_infinitely_many_degrees_of_freedom() -> None:
    """Two methods: then the studentized range is √2 times the normal quantile, 1.959964."""
    assert critical_difference(2, 1) == pytest.approx(1.9599640, abs=1e-6)


def test_holm_corrects_stepwise_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_only_complete_sets_enter() -> None:
    figures = {key: value for key, value in FIGURES.items() if key != ("set 3", "C4.5")}
    found = compare(METHODS, figures, SETS, larger_is_better=True)
    assert found is not None
    assert len(found.sets) == 13
    assert compare(METHODS, figures, SETS[:2], larger_is_better=True) is None


def test_methods_that_never_differ_are_not_told_apart() -> None:
    same = {(name, method): 1.0 for name in SETS for method in METHODS}
    found = compare(METHODS, same, SETS, larger_is_better=False)
    assert found is not None
    assert found.friedman_p == 1.0
    assert {pair.p_holm for pair in found.pairs} == {1.0}
    assert cliques(found) == []


def test_smaller_is_better_turns_the_ranks_around() -> None:
    up = compare(METHODS, FIGURES, SETS, larger_is_better=True)
    down = compare(METHODS, FIGURES, SETS, larger_is_better=False)
    assert up is not None
    assert down is not None
    assert np.add(up.ranks, down.ranks) == pytest.approx([5.0] * 4)


def test_a_pair_counts_wins_and_has_the_p_of_scipy() -> None:
    from scipy.stats import wilcoxon

    random = np.random.default_rng(0)
    values = random.normal(loc=[0, 0, 1], size=(12, 3))
    names = [str(number) for number in range(12)]
    figures = {(name, method): values[i, j] for i, name in enumerate(names) for j, method in enumerate("abc")}
    found = compare("abc", figures, names, larger_is_better=True)
    assert found is not None
    pair = next(pair for pair in found.pairs if (pair.first, pair.second) == ("a", "c"))
    assert pair.p == pytest.approx(wilcoxon(values[:, 0], values[:, 2]).pvalue)
    assert pair.wins == int(np.sum(values[:, 0] > values[:, 2]))
    assert pair.wins + pair.losses == 12


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_the_diagram_is_drawn_and_twice_the_same(tmp_path: Path, ending: str) -> None:
    found = compare(METHODS, FIGURES, SETS, larger_is_better=True)
    assert found is not None
    assert cliques(found)
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path in paths:
        draw_diagram(found, "accuracy", path)
    assert paths[0].stat().st_size > 2000
    assert paths[0].read_bytes() == paths[1].read_bytes()
