"""The generated sets: the same rows every time, and the distribution of the archive's own files."""

from __future__ import annotations

import numpy as np
import pytest

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.generators import (
    GENERATORS,
    sample_ringnorm,
    sample_three_class,
    sample_twonorm,
    sample_waveform,
)
from gpcnoise_cli.data.registry import get_spec

SUMS = {
    "waveform": 210512.87833453607,
    "waveform-noise": 285718.95917176985,
    "twonorm": 129276.35332386523,
    "ringnorm": 182604.99405836282,
    "three-class": 394.71701640852643,
}
BREIMAN = ("ringnorm", "twonorm", "waveform", "waveform-noise")


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_rows_come_out_every_time(name):
    (X, y), (X_again, y_again) = GENERATORS[name](), GENERATORS[name]()
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    spec = get_spec(name)
    assert X.shape == (spec.n, spec.d)
    assert set(np.unique(y)) == set(range(spec.num_classes))


def test_the_frozen_stream_has_not_moved():
    sums = {name: float(np.abs(sample()[0]).sum()) for name, sample in GENERATORS.items()}
    assert sums == pytest.approx(SUMS, rel=1e-9)


@pytest.mark.parametrize("name", BREIMAN)
def test_generated_rows_have_the_moments_of_the_archive(name, real_data):
    archive = load_split(name, source="archive")
    generated = load_split(name, source="generated")
    assert (archive.source, generated.source) == ("archive", "generated")
    assert archive.X_train.shape == generated.X_train.shape
    for c in range(archive.num_classes):
        ours, theirs = generated.X_train[generated.y_train == c], archive.X_train[archive.y_train == c]
        np.testing.assert_allclose(ours.mean(0), theirs.mean(0), atol=0.15)
        np.testing.assert_allclose(ours.std(0), theirs.std(0), atol=0.12)


def test_stand_ins_are_used_only_where_the_file_is_absent(shared_data, monkeypatch):
    assert load_split("waveform").source == "generated"
    monkeypatch.setenv("GPCNOISE_DATA_DIR", str(shared_data))
    assert load_split("waveform").source == "archive"


def test_paper_protocol_numbers_generated_rows_too():
    split = load_split("waveform-noise", protocol="paper", source="generated")
    assert (split.d, split.feature_names[0]) == (41, "row")


def test_bayes_rules_reach_breimans_error_rates():
    X, y = sample_twonorm(20000, seed=11)
    assert np.mean((X.sum(1) < 0) == y) == pytest.approx(0.977, abs=0.004)
    X, y = sample_ringnorm(20000, seed=11)
    a = 2.0 / np.sqrt(20)
    wide, narrow = -(X**2).sum(1) / 8 - 20 * np.log(2.0), -((X - a) ** 2).sum(1) / 2
    assert np.mean((narrow > wide) == y) == pytest.approx(0.987, abs=0.006)


def test_waveform_noise_columns_carry_no_class():
    X, y = sample_waveform(4000, seed=12, num_noise=19)
    means = np.array([X[y == c][:, 21:].mean(0) for c in range(3)])
    assert np.abs(means).max() < 0.12


def test_three_class_labels_are_smooth_on_the_square():
    X, y = sample_three_class()
    assert X.min() >= 0.0
    assert X.max() <= 1.0
    distance = ((X[:, None] - X[None]) ** 2).sum(-1) + np.eye(len(X)) * 9.0
    assert np.mean(y[distance.argmin(1)] == y) > 0.85
