"""The archive's files against the paper's table, against an independent reading, and when they are spoilt."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.delgado import read_parts
from gpcnoise_cli.errors import GpcnoiseError

from .conftest import write_archive_file

# n, d and C as printed in the paper's tables.
PAPER = {
    "adult": (48842, 15, 2),
    "chess-krvk": (28056, 7, 18),
    "connect-4": (67557, 43, 2),
    "letter": (20000, 17, 26),
    "magic": (19020, 11, 2),
    "mushroom": (8124, 22, 2),
    "nursery": (12960, 9, 5),
    "page-blocks": (5473, 11, 5),
    "pendigits": (10992, 17, 10),
    "ringnorm": (7400, 21, 2),
    "statlog-landsat": (6435, 37, 6),
    "statlog-shuttle": (58000, 10, 7),
    "thyroid": (7200, 22, 3),
    "twonorm": (7400, 21, 2),
    "wall-following": (5456, 25, 4),
    "waveform": (5000, 22, 3),
    "waveform-noise": (5000, 41, 3),
    "wine-quality-white": (4898, 12, 7),
}


@pytest.mark.parametrize("name", PAPER)
def test_sizes_are_those_of_the_paper(name, real_data):
    paper, clean = (load_split(name, protocol=protocol, split=1) for protocol in ("paper", "clean"))
    n, d, num_classes = PAPER[name]
    assert (paper.n_train + paper.n_test, paper.d, paper.num_classes) == (n, d, num_classes)
    assert (clean.n_train, clean.n_test, clean.d) == (paper.n_train, paper.n_test, d - 1)
    assert paper.source == clean.source == "archive"
    assert paper.n_train == int(0.9 * n)
    np.testing.assert_array_equal(np.unique(np.concatenate([paper.y_train, paper.y_test])), np.arange(num_classes))
    np.testing.assert_array_equal(paper.y_test, clean.y_test)


def recipe(paths, split):
    """The reading of the paper's code, spelled out: every step in its order, by the global generator."""
    import pandas

    parts = [np.array(pandas.read_csv(path, header=0, delimiter="\t").values).astype(float) for path in paths]
    data = parts[0] if len(parts) == 1 else np.concatenate(parts, 0)
    X, Y = data[:, :-1], data[:, -1].reshape(-1, 1)
    X = (X - np.average(X, 0)[None, :]) / (1e-6 + np.std(X, 0)[None, :])
    rows = np.arange(len(X))
    np.random.seed(split)  # noqa: NPY002
    np.random.shuffle(rows)  # noqa: NPY002
    n = int(len(X) * 0.9)
    return X[rows[:n]], Y[rows[:n]], X[rows[n:]], Y[rows[n:]]


@pytest.mark.parametrize(
    ("name", "split"), [("magic", 0), ("pendigits", 3), ("statlog-landsat", 9), ("wine-quality-white", 5)]
)
def test_paper_protocol_is_bit_identical(name, split, real_data):
    folder = real_data / "uci" / name
    parts = [folder / f"{name}{part}_R.dat" for part in ("_train", "_test")]
    expected = recipe([part for part in parts if part.exists()] or [folder / f"{name}_R.dat"], split)
    got = load_split(name, protocol="paper", split=split)
    for ours, theirs in zip((got.X_train, got.X_test), expected[::2], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip((got.y_train, got.y_test), expected[1::2], strict=True):
        np.testing.assert_array_equal(ours, theirs[:, 0])


@pytest.mark.parametrize("name", ["magic", "thyroid"])
def test_clean_protocol_against_a_reading_without_pandas(name, real_data):
    folder = real_data / "uci" / name
    files = [folder / f"{name}_R.dat"] if name == "magic" else [folder / f"{name}_{p}_R.dat" for p in ("train", "test")]
    data = np.vstack([np.loadtxt(file, skiprows=1) for file in files])
    rows = np.random.RandomState(6).permutation(len(data))  # permutation shuffles arange: the same order
    n = int(0.9 * len(data))
    X, y = data[rows, 1:-1], data[rows, -1]
    X = (X - X[:n].mean(0)) / X[:n].std(0)
    split = load_split(name, split=6)
    np.testing.assert_allclose(split.X_train, X[:n], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(split.X_test, X[n:], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(split.y_test, y[n:])


@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_the_archives_own_test_file_may_be_the_test(protocol, real_data):
    parts = [np.loadtxt(real_data / f"uci/thyroid/thyroid_{part}_R.dat", skiprows=1) for part in ("train", "test")]
    first, second = (load_split("thyroid", protocol=protocol, split=k, test_rows="archive") for k in (0, 1))
    assert (first.n_train, first.n_test) == (len(parts[0]), len(parts[1])) == (3772, 3428)
    start = 0 if protocol == "paper" else 1
    rows = np.random.RandomState(0).permutation(7200)
    matrix = np.vstack(parts)[rows[rows >= 3772], start:]
    np.testing.assert_allclose(first.X_test, first.scaler.transform(matrix[:, :-1]), atol=1e-9)
    np.testing.assert_array_equal(first.y_test, matrix[:, -1])
    # Another split number only puts the rows in another order.
    assert not np.array_equal(first.X_train, second.X_train)
    for one, other in ((first.X_train, second.X_train), (first.X_test, second.X_test)):
        np.testing.assert_allclose(np.sort(one, axis=0), np.sort(other, axis=0))


def test_row_number_restarts_with_the_second_part(real_data):
    matrix = np.concatenate(read_parts([real_data / f"uci/adult/adult_{part}_R.dat" for part in ("train", "test")]))
    assert matrix[0, 0] == 1
    assert matrix[32561, 0] == 1
    assert matrix.shape == (48842, 16)


def test_miniboone_is_read_from_a_small_file_of_its_form(own_data_folder):
    matrix = write_archive_file(own_data_folder / "uci/miniboone/miniboone_R.dat", n=300, d=50, num_classes=2)
    paper, clean = (load_split("miniboone", protocol=protocol, split=2) for protocol in ("paper", "clean"))
    assert (paper.d, clean.d, paper.num_classes, paper.n_train, paper.n_test) == (51, 50, 2, 270, 30)
    rows = np.random.RandomState(2).permutation(300)
    X = matrix[:, :-1]
    expected = (X - X.mean(0)) / (1e-6 + X.std(0))
    np.testing.assert_allclose(paper.X_train, expected[rows[:270]], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(clean.y_test, matrix[rows[270:], -1])


def _spoil(text, how):
    lines = text.splitlines(keepends=True)
    return {
        "cut": text[: len(text) // 2].rsplit("\t", 1)[0],
        "text": text.replace("\t", "\toops\t", 60),
        "empty": "",
        "header only": lines[0],
        "narrow": "".join("\t".join(line.split("\t")[:2]) + "\n" for line in lines),
        "class 7": text.rstrip()[:-1] + "7\n",
        "columns": "".join(line.split("\t", 1)[0] + "\t" + line.split("\t", 2)[2] for line in lines),
    }[how]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("cut", "is cut short or has a gap in row"),
        ("text", "not a table of numbers"),
        ("empty", "not a table of numbers"),
        ("header only", "holds no rows"),
        ("narrow", "holds no rows"),
        ("class 7", "must hold the classes 0 to 1"),
        ("columns", "has 51 columns where 52 are expected"),
    ],
)
def test_spoilt_file_without_a_known_hash_gives_one_sentence(how, message, own_data_folder):
    path = own_data_folder / "uci/miniboone/miniboone_R.dat"
    write_archive_file(path, n=100, d=50, num_classes=2)
    path.write_text(_spoil(path.read_text(), how))
    with pytest.raises(GpcnoiseError, match=message) as caught:
        load_split("miniboone")
    assert "\n" not in str(caught.value)


def test_cut_off_file_with_a_known_hash_is_refused(own_data_folder, shared_data):
    target = own_data_folder / "uci/magic/magic_R.dat"
    target.parent.mkdir(parents=True)
    shutil.copyfile(shared_data / "uci/magic/magic_R.dat", target)
    load_split("magic")
    target.write_bytes(target.read_bytes()[:-1000])
    with pytest.raises(GpcnoiseError, match=r"magic_R.dat is not the archive's file.*data fetch magic --force"):
        load_split("magic")
