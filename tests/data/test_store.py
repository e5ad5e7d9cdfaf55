"""A store is whole or not there; it is made once, read as it was written, and made again when it was damaged."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from gpcnoise_cli.data.store import Store, StoreWriter, digest, kept, stores_dir
from gpcnoise_cli.errors import GpcnoiseError

X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
Y = np.arange(20) % 3


def fill(folder):
    with StoreWriter(folder, 20, 3) as writer:
        writer.append(X[:7], Y[:7])
        writer.append(X[7:].astype(np.float64), Y[7:])
        writer.finish({"said": "so"})


def refuse(folder):
    raise AssertionError("made twice")


def test_rows_are_read_as_they_were_written_and_made_once():
    store = kept("one", fill)
    assert store.facts == {"n": 20, "said": "so"}
    np.testing.assert_array_equal(store.X, X)
    np.testing.assert_array_equal(kept("one", refuse).y, Y)
    part, labels = store.rows(5, 12)
    np.testing.assert_array_equal(part, X[5:12])
    np.testing.assert_array_equal(labels, Y[5:12])
    assert (part.dtype, labels.dtype, store.key) == (np.float32, np.int64, "one")


def test_a_damaged_store_and_what_a_killed_process_left_are_replaced():
    folder = kept("one", fill).folder
    (folder / "X.npy").write_bytes((folder / "X.npy").read_bytes()[:-4])
    left = folder.with_name(".one.partial")
    left.mkdir()
    (left / "X.npy").write_bytes(b"half")
    np.testing.assert_array_equal(kept("one", fill).X, X)
    assert not left.exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_failure_leaves_nothing(number):
    def fails(folder):
        fill(folder)
        raise OSError(number, os.strerror(number))

    with pytest.raises(GpcnoiseError, match=r"no space left to write|cannot write"):
        kept("one", fails)
    assert [path.name for path in stores_dir().iterdir()] == [".one.lock"]


def test_a_store_that_vanishes_while_it_is_read_is_told():
    store = kept("one", fill)
    (store.folder / "X.npy").unlink()
    with pytest.raises(GpcnoiseError, match=r"can no longer be read .* --resume RUN_DIR"):
        store.rows(0, 5)


def test_the_place_and_the_name(monkeypatch, tmp_path, own_data_folder):
    assert stores_dir() == own_data_folder / "stores"
    monkeypatch.setenv("GPCNOISE_STORE_DIR", str(tmp_path / "scratch"))
    assert kept("one", fill).folder == tmp_path / "scratch" / "one"
    assert Store.open(tmp_path / "none") is None
    assert digest({"a": 1}) != digest({"a": 2})
