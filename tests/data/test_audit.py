"""The audit's figures on the real files, and its vote on rows one can count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gpcnoise_cli.data.audit import audit_sets, nearest_vote, verdict_of
from gpcnoise_cli.errors import UsageError

from .conftest import write_archive_file

# Found on one split each: a mean over ten lies within two points of it.
LEAKS = {"magic": 100.0, "chess-krvk": 99.9, "wall-following": 88, "mushroom": 82, "statlog-landsat": 57, "nursery": 51}
MAJORITY = {"magic": 65, "chess-krvk": 16, "wall-following": 40, "mushroom": 52, "statlog-landsat": 24, "nursery": 33}


def test_leaking_sets_are_found(real_data):
    for audit in audit_sets(tuple(LEAKS)):
        assert audit.vote == pytest.approx(LEAKS[audit.dataset], abs=2.0)
        assert audit.majority == pytest.approx(MAJORITY[audit.dataset], abs=0.5)
        assert audit.verdict == "leak"


def test_sets_in_no_order_are_cleared(real_data):
    assert {audit.verdict for audit in audit_sets(("letter", "adult", "twonorm", "waveform"))} == {"none"}


def test_vote_agrees_with_scikit_learn_where_numbers_are_unique(real_data):
    from sklearn.neighbors import KNeighborsClassifier

    random = np.random.RandomState(0)
    numbers = random.permutation(4000).astype(float)[:2000]
    y = (numbers // 300 % 3).astype(np.int64)
    asked = random.uniform(0, 4000, size=500)
    expected = KNeighborsClassifier(20).fit(numbers[:, None], y).predict(asked[:, None])
    assert np.mean(nearest_vote(numbers, y, asked, 3) == expected) > 0.99


def test_sorted_small_miniboone_leaks(own_data_folder):
    write_archive_file(own_data_folder / "uci/miniboone/miniboone_R.dat", n=500, d=50, num_classes=2)
    (audit,) = audit_sets(("miniboone",))
    assert (audit.verdict, audit.source) == ("leak", "archive")


def test_absent_and_generated_sets_are_told_apart(own_data_folder):
    magic, waveform = audit_sets(("magic", "waveform"))
    assert (magic.verdict, magic.gain) == ("not here", None)
    assert (waveform.verdict, waveform.source) == ("none", "generated")


@pytest.mark.parametrize(
    ("gain", "verdict"), [(35.0, "leak"), (10.0, "leak"), (9.9, "weak"), (2.0, "weak"), (1.9, "none"), (-3.0, "none")]
)
def test_verdicts(gain, verdict):
    assert verdict_of(gain) == verdict


def test_sets_without_a_row_number_are_refused():
    with pytest.raises(UsageError, match="'banana' has no row number"):
        audit_sets(("banana",))
