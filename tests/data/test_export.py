"""Exported files: the arrays of the split, never over an existing file, never half a file."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.export import export_split
from gpcnoise_cli.errors import GpcnoiseError, UsageError


@pytest.fixture
def split():
    return load_split("waveform", protocol="paper", split=1)


def test_arrays_come_back(split, tmp_path):
    export_split(split, tmp_path / "new" / "w.npz")
    with np.load(tmp_path / "new" / "w.npz", allow_pickle=False) as file:
        for name in ("X_train", "y_train", "X_test", "y_test"):
            np.testing.assert_array_equal(file[name], getattr(split, name))
        assert file["feature_names"][0] == "row"
        np.testing.assert_array_equal(file["scale"], split.scaler.scale)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["w.npz"]


def test_existing_file_is_kept_unless_forced(split, tmp_path):
    target = tmp_path / "w.npz"
    target.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        export_split(split, target)
    assert target.read_text() == "mine"
    export_split(split, target, force=True)
    assert target.read_bytes()[:2] == b"PK"


def test_other_extensions_are_refused(split, tmp_path):
    with pytest.raises(UsageError, match=r"must end in \.npz"):
        export_split(split, tmp_path / "w.csv")


def test_full_disk_leaves_nothing_and_the_old_file(split, tmp_path, monkeypatch):
    target = tmp_path / "w.npz"
    target.write_text("mine")

    def full(file, array, **options):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(GpcnoiseError, match="No space left"):
        export_split(split, target, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["w.npz"]
    assert target.read_text() == "mine"
    monkeypatch.undo()
    export_split(split, target, force=True)


def test_what_is_exported_has_reached_the_disk(split, tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    export_split(split, tmp_path / "new" / "w.npz")
    assert len(synced) == 1
