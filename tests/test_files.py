"""A file is written whole or not at all, and what the system refuses becomes a sentence."""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.files import plain, write_arrays, write_atomically, write_json, write_text


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_arrives_as_utf8(tmp_path: Path) -> None:
    write_text(tmp_path / "note.txt", "δ = 0.1\n")
    assert (tmp_path / "note.txt").read_bytes() == "δ = 0.1\n".encode()


def test_json_holds_only_what_json_knows(tmp_path: Path) -> None:
    content = {"nll": float("nan"), 1: (np.float32(0.5), np.inf), "at": tmp_path, "rows": np.arange(2), "yes": True}
    assert plain(content) == {"nll": None, "1": [0.5, None], "at": str(tmp_path), "rows": [0, 1], "yes": True}
    write_json(tmp_path / "δ.json", {"δ": -math.inf})
    assert (tmp_path / "δ.json").read_text(encoding="utf-8") == '{\n "δ": null\n}\n'


def test_a_second_writing_replaces_the_first(tmp_path: Path) -> None:
    path = tmp_path / "cell.json"
    write_text(path, "a long first version")
    write_text(path, "second")
    assert path.read_text() == "second"
    assert names_in(tmp_path) == ["cell.json"]


@pytest.mark.parametrize("failure", [ValueError("not a number"), KeyboardInterrupt()], ids=["error", "Ctrl-C"])
def test_a_writer_that_fails_midway_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, failure: BaseException
) -> None:
    path = tmp_path / "model.npz"
    write_text(path, "the old content")

    def half(stream: IO[bytes]) -> None:
        stream.write(b"half of the new")
        stream.flush()
        assert path.read_text() == "the old content"
        raise failure

    with pytest.raises(type(failure)):
        write_atomically(path, half)
    assert path.read_text() == "the old content"
    assert names_in(tmp_path) == ["model.npz"]


def test_a_full_disk_becomes_a_sentence_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    write_text(path, "the old content")

    def full(stream: IO[bytes]) -> None:
        stream.write(b"half of the new")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(GpcnoiseError, match=r"cannot write .*curve\.csv: No space left on device; nothing was changed"):
        write_atomically(path, full)
    assert path.read_text() == "the old content"
    assert names_in(tmp_path) == ["curve.csv"]


def refused(place: Path, reason: str) -> None:
    with pytest.raises(GpcnoiseError, match=reason) as caught:
        write_text(place, "anything")
    assert str(place) in str(caught.value)


def test_places_where_no_file_can_be_are_named_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "absent" / "x.json", "No such file or directory")
    refused(tmp_path / "folder", "Is a directory")
    assert names_in(tmp_path) == ["folder"]
    assert names_in(tmp_path / "folder") == []


def test_places_where_not_even_a_temporary_file_can_be_are_named_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    refused(tmp_path / "file" / "x.json", "Not a directory")
    refused(tmp_path / ("n" * 300), "File name too long")
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_come_back(tmp_path: Path, compressed: bool) -> None:
    arrays = {"X": np.arange(6.0).reshape(2, 3), "names": np.array(["a", "ü"]), "n": np.int32(4)}
    write_arrays(tmp_path / "a.npz", arrays, compressed=compressed)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        assert stored.files == list(arrays)
        for name, values in arrays.items():
            np.testing.assert_array_equal(stored[name], values, strict=True)


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_that_find_no_room_are_one_sentence_and_nothing_else(tmp_path: Path, compressed: bool) -> None:
    code = (
        "import resource; from pathlib import Path; import numpy as np; from gpcnoise_cli.files import write_arrays\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "arrays = {'X': np.random.default_rng(0).normal(size=9000), 'y': np.arange(3)}\n"
        f"try: write_arrays(Path('a.npz'), arrays, compressed={compressed})\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "cannot write a.npz: File too large; nothing was changed there.\n"
    assert (done.returncode, done.stderr, names_in(tmp_path)) == (0, "", [])
