"""The registry and the list: complete, quick to import, and right about what is here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.inventory import list_sets
from gpcnoise_cli.data.registry import DATASETS, UCI_NAMES, get_spec
from gpcnoise_cli.errors import GpcnoiseError, UsageError


def test_all_sets_of_the_paper_are_registered():
    assert len(UCI_NAMES) == 19
    assert set(DATASETS) == {*UCI_NAMES, "banana", "three-class", "airline", "nycflights13", "file"}


@pytest.mark.parametrize("spec", DATASETS.values(), ids=list(DATASETS))
def test_every_set_says_where_it_comes_from(spec):
    assert spec.source
    assert spec.licence
    assert spec.citation
    assert spec.how_to_get


def test_width_counts_the_row_number_under_paper():
    assert get_spec("magic").num_features("paper") == 11
    assert get_spec("magic").num_features("clean") == 10
    assert get_spec("banana").num_features("paper") == 2


def test_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="unknown dataset 'majic'; did you mean 'magic'"):
        load_split("majic")


def test_registry_imports_nothing_heavy():
    heavy = "('numpy', 'pandas', 'tensorflow')"
    code = f"import sys, gpcnoise_cli.data.registry; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_states_follow_the_data_folder(own_data_folder):
    states = {entry.spec.name: entry.state for entry in list_sets()}
    assert states["magic"] == "absent"
    assert states["waveform"] == states["three-class"] == "generated"
    (own_data_folder / "uci/magic").mkdir(parents=True)
    (own_data_folder / "uci/magic/magic_R.dat").write_text("x")
    assert {entry.spec.name: entry.state for entry in list_sets()}["magic"] == "here"


def test_absent_set_says_how_to_get_it():
    with pytest.raises(GpcnoiseError, match=r"'letter' is not in the data folder .* gpcnoise data fetch letter"):
        load_split("letter")


@pytest.mark.parametrize(
    ("name", "source"), [("letter", "generated"), ("airline", "archive"), ("three-class", "bayesian_benchmarks")]
)
def test_a_source_that_a_set_does_not_have_is_refused(name, source):
    with pytest.raises(UsageError, match=f"{name!r} has no source {source!r}"):
        load_split(name, source=source)
