"""Splits and scaling: the same rows under both protocols, and numbers that stay finite whatever the columns hold."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.scaling import Scaler, fit_clean_scaler, fit_paper_scaler
from gpcnoise_cli.data.split import make_split, shuffled_rows
from gpcnoise_cli.data.table import read_own_file
from gpcnoise_cli.errors import GpcnoiseError, UsageError

MATRICES = arrays(np.float64, st.tuples(st.integers(2, 20), st.integers(1, 4)), elements=st.floats(-1e12, 1e12))


@pytest.mark.parametrize("split", [0, 1, 9, 123456])
def test_row_order_is_that_of_the_seeded_global_generator(split):
    expected = np.arange(1000)
    np.random.seed(split)  # noqa: NPY002
    np.random.shuffle(expected)  # noqa: NPY002
    np.testing.assert_array_equal(shuffled_rows(1000, split), expected)


def test_loading_leaves_the_global_random_state_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    load_split("twonorm", split=7)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_both_protocols_hold_the_same_rows():
    clean, paper = (load_split("waveform", protocol=protocol, split=4) for protocol in ("clean", "paper"))
    np.testing.assert_array_equal(clean.y_train, paper.y_train)
    raw_clean = clean.X_test * clean.scaler.scale + clean.scaler.mean
    raw_paper = (paper.X_test * paper.scaler.scale + paper.scaler.mean)[:, 1:]
    np.testing.assert_allclose(raw_clean, raw_paper, atol=1e-12)


def test_clean_scaling_sees_only_the_training_rows():
    split = load_split("ringnorm", split=2)
    np.testing.assert_allclose(split.X_train.mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(split.X_train.std(0), 1.0, atol=1e-12)
    assert np.abs(split.X_test.mean(0)).max() > 1e-4


@given(MATRICES)
def test_clean_scaler_gives_finite_standardised_columns(X):
    scaled = fit_clean_scaler(X).transform(X)
    assert np.isfinite(scaled).all()
    constant = np.ptp(X, axis=0) == 0.0
    assert (scaled[:, constant] == 0.0).all()


@given(MATRICES)
def test_scalers_survive_json(X):
    for scaler in (fit_clean_scaler(X), fit_paper_scaler(X)):
        back = Scaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
        np.testing.assert_array_equal(back.transform(X), scaler.transform(X))


def test_constant_column_with_an_inexact_mean_becomes_zero():
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    assert (fit_clean_scaler(X).transform(X)[:, 0] == 0.0).all()


@pytest.mark.parametrize("fit", [fit_clean_scaler, fit_paper_scaler])
def test_values_too_large_to_square_are_refused(fit):
    with pytest.raises(GpcnoiseError, match="feature 2 holds values too large"):
        fit(np.array([[1.0, 1e300], [2.0, -1e300]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "papr"}, "did you mean 'paper'"),
        ({"split": -1}, "split number -1"),
        ({"split": 2**32}, "out of range"),
        ({"test_fraction": 1.0}, "test fraction"),
        ({"test_fraction": 0.99999}, "leaves none"),
        ({"source": "archiv"}, "did you mean 'archive'"),
        ({"test_rows": "archve"}, "did you mean 'archive'"),
        ({"test_rows": "archive"}, "waveform .* has no test file"),
        ({"path": "x.csv"}, "belong to dataset 'file'"),
    ],
)
def test_wrong_requests_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        load_split("waveform", **options)


def test_held_out_rows_are_training_rows_and_the_test_rows_stay_unseen():
    whole, held = load_split("waveform", split=1), load_split("waveform", split=1, holdout=0.2)
    assert (held.n_train, held.n_test) == (3600, 900)
    np.testing.assert_array_equal(np.vstack([held.X_train, held.X_test]), whole.X_train)
    np.testing.assert_array_equal(np.concatenate([held.y_train, held.y_test]), whole.y_train)


@pytest.mark.parametrize(
    ("fraction", "message"), [(1.0, "between 0 and 1"), (-0.1, "between 0 and 1"), (0.9999, "leaves none")]
)
def test_a_part_that_cannot_be_held_out_is_refused(fraction, message):
    with pytest.raises(UsageError, match=message):
        load_split("waveform", holdout=fraction)


@pytest.fixture
def mixed(tmp_path):
    """A number, a category of 51 levels, one of two that is as uneven as the true/false column, and gaps."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(1500):
        old, state = int(rng.random() < 0.1), f"s{rng.integers(51):02d}" if rng.random() > 0.05 else ""
        rows.append(f"{rng.normal():.6f},{state},{'ab'[old]},{('no', 'yes')[old]},{k % 2}")
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(["size,state,half,old,kind", *rows]) + "\n")
    return read_own_file(path, "kind")


def mean_squared_distances(split):
    """What each feature adds to the squared distance of two training rows, on average."""
    return 2 * split.X_train.var(axis=0)


@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_a_category_of_many_levels_weighs_as_much_as_a_number(mixed, protocol):
    split = make_split("file", mixed, protocol=protocol, split=0, categories="column")
    columns = np.array(split.encoder.feature_columns)
    added = mean_squared_distances(split)
    for column in ("size", "state", "half", "old"):
        assert added[columns == column].sum() == pytest.approx(2.0, rel=0.02)
    state = split.X_train[:, columns == "state"]
    apart = np.linalg.norm(state[state.argmax(1) == 0][0] - state[state.argmax(1) == 1][0])
    assert apart == pytest.approx(np.sqrt(2), rel=0.02)
    assert split.units == len(set(columns)) == 4


def test_a_category_of_two_levels_is_as_far_apart_as_true_and_false(mixed):
    split = make_split("file", mixed, protocol="clean", split=0, categories="column")
    columns = np.array(split.encoder.feature_columns)
    half, old = (np.unique(split.X_train[:, columns == name], axis=0) for name in ("half", "old"))
    assert np.linalg.norm(half[0] - half[1]) == pytest.approx(np.linalg.norm(old[0] - old[1]))


def test_by_level_every_feature_varies_by_one_as_in_models_saved_before(mixed):
    split = make_split("file", mixed, protocol="clean", split=0)
    np.testing.assert_allclose(mean_squared_distances(split), 2.0)
    assert split.units == split.d
    together = make_split("file", mixed, protocol="clean", split=0, categories="column")
    numbers = [split.feature_names.index(name) for name in ("size", "old")]
    np.testing.assert_array_equal(split.X_test[:, numbers], together.X_test[:, numbers])


def test_a_level_that_no_training_row_has_stays_finite(mixed):
    first = make_split("file", mixed, protocol="clean", split=0, test_fraction=0.99, categories="column")
    assert np.isfinite(first.X_train).all()
    assert np.isfinite(first.X_test).all()
