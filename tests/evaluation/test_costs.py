"""Decisions by expected cost, and tables of costs that people write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.evaluation.costs import read_costs

NAMES = ("no", "yes")


def test_a_missed_yes_that_costs_four_times_as_much_moves_the_threshold_to_a_fifth() -> None:
    costs = read_costs('{"yes": {"no": 4}, "no": {"yes": 1}}', NAMES)
    p = np.array([[0.81, 0.19], [0.79, 0.21], [0.1, 0.9]])
    decided, expected = costs.decide(p)
    assert [costs.decisions[one] for one in decided] == ["no", "yes", "yes"]
    assert_allclose(expected, [4 * 0.19, 0.79, 0.1])


def test_a_single_number_is_the_cost_of_any_wrong_decision() -> None:
    assert_allclose(read_costs('{"yes": 4, "no": 1}', NAMES).matrix, [[0, 1], [4, 0]])


def test_equal_costs_decide_for_the_most_probable_class() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    costs = read_costs('{"a": 1, "b": 1, "c": 1}', ("a", "b", "c"))
    assert (costs.decide(p)[0] == p.argmax(axis=1)).all()


def test_asking_a_person_is_a_decision_too(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    file.write_text("class,no,yes,ask\nno,,1,0.2\nyes,4,,0.2\n")
    costs = read_costs(str(file), NAMES)
    assert costs.decisions == ("no", "yes", "ask")
    assert_allclose(costs.matrix, [[0, 1, 0.2], [4, 0, 0.2]])
    assert costs.decide(np.array([[0.8, 0.2], [0.99, 0.01]]))[0].tolist() == [2, 0]


def test_classes_that_are_numbers_keep_their_type() -> None:
    assert read_costs('{"3": 1, "10": 2}', (3, 10)).decisions == (3, 10)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{yes: 1}", "no JSON"),
        ('{"yes": 1, "nein": 1}', "'nein'"),
        ('{"yes": 1}', "nothing of the class 'no'"),
        ('{"yes": {"ask": 1}, "no": 1}', "decide 'no' where the class is 'yes'"),
        ('{"yes": {"no": 1, "ask": 1}, "no": {"yes": 1}}', "decide 'ask' where the class is 'no'"),
        ('{"yes": "dear", "no": 1}', "must be a number, not 'dear'"),
        ('{"yes": 1e999, "no": 1}', "must be a number"),
        ("no-such-file.csv", "cannot read the costs"),
    ],
)
def test_costs_that_cannot_be_meant_are_told_in_one_sentence(given: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as told:
        read_costs(given, NAMES)
    assert "\n" not in str(told.value)


def test_a_ragged_file_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    file.write_text("class,no,yes\nno,0,1\nyes,4\n")
    with pytest.raises(UsageError, match="line 3 of the costs"):
        read_costs(str(file), NAMES)
