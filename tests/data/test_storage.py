"""Tables on disk: the rows, classes and scaling that they have in memory, in bounded memory, or one clear sentence."""

from __future__ import annotations

import os
import shutil
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from gpcnoise_cli.data import column_kinds, load_split, row_order, running_facts, storage, store, store_pass
from gpcnoise_cli.data.split import hold_out
from gpcnoise_cli.data.storage import storage_of
from gpcnoise_cli.data.store import stores_dir
from gpcnoise_cli.data.treatment import Treatment
from gpcnoise_cli.errors import GpcnoiseError, UsageError

ROWS = 3000


def frame_of(rows=ROWS):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(3.0, 10.0, size=(rows, 3)).round(4), columns=["a", "b", "c"])
    frame.loc[random.random(rows) < 0.05, "b"] = np.nan
    frame["colour"] = random.choice(["red", "green", "blue"], rows)
    frame["kind"] = random.choice(["x", "y", "z"], rows)
    frame.loc[7, "kind"] = None
    return frame


@pytest.fixture
def table(tmp_path):
    """A table of three Parquet files."""
    folder, frame = tmp_path / "table", frame_of()
    folder.mkdir()
    for number, start in enumerate(range(0, ROWS, 1000)):
        frame.iloc[start : start + 1000].to_parquet(folder / f"part-{number}.parquet")
    return folder


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(store, "BLOCK_BYTES", 4 * 7 * 500)  # 7 features


def on_disk(path, **how):
    return load_split("file", path=str(path), target="kind", storage="disk", **how)


def in_memory(path, **how):
    return load_split("file", path=str(path), target="kind", storage="memory", **how)


def check_same(disk, memory, exactly):
    close = np.testing.assert_array_equal if exactly else lambda a, b: np.testing.assert_allclose(a, b, 1e-5, 1e-6)
    close(disk.X_train, memory.X_train.astype(np.float32))
    close(disk.X_test, memory.X_test.astype(np.float32))
    np.testing.assert_array_equal(disk.y_train, memory.y_train)
    np.testing.assert_array_equal(disk.y_test, memory.y_test)
    np.testing.assert_allclose(disk.scaler.scale, memory.scaler.scale, rtol=0 if exactly else 1e-12)
    assert disk.class_names == memory.class_names
    assert disk.class_counts().tolist() == np.bincount(memory.y_train).tolist()
    assert (disk.findings, disk.notes) == (memory.findings, memory.notes)
    assert (disk.shared_scales, disk.units) == (memory.shared_scales, memory.units)
    if exactly:
        assert disk.encoder == memory.encoder


@pytest.mark.parametrize("categories", ["column", "level"])
@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_a_table_of_one_block_is_that_of_memory_to_the_last_bit(protocol, categories, table):
    how = {"protocol": protocol, "categories": categories, "split": 2}
    disk = on_disk(table, **how)
    check_same(disk, in_memory(table, **how), exactly=True)
    assert isinstance(disk.X_train, np.memmap)


@pytest.mark.parametrize("categories", ["column", "level"])
@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_a_table_of_many_blocks_is_that_of_memory(protocol, categories, table, small_blocks, monkeypatch):
    monkeypatch.setattr(store_pass, "_CHUNK", 70)
    full = frame_of().fillna({"b": 1.0})  # medians of a sample may differ
    for number, start in enumerate(range(0, ROWS, 1000)):
        full.iloc[start : start + 1000].to_parquet(table / f"part-{number}.parquet")
    monkeypatch.setattr(store, "BLOCK_BYTES", 4 * 6 * 500)
    how = {"protocol": protocol, "categories": categories, "split": 1, "test_fraction": 0.2}
    disk = on_disk(table, **how)
    assert disk.store.block_rows == 500
    check_same(disk, in_memory(table, **how), exactly=False)


def test_gaps_are_filled_by_a_median_of_training_rows(table, small_blocks):
    disk, memory = on_disk(table), in_memory(table)
    column = next(one for one in disk.encoder.columns if one.name == "b")
    assert column.fill == pytest.approx(next(one for one in memory.encoder.columns if one.name == "b").fill, abs=2.0)
    assert np.isfinite(disk.X_train).all()


def test_a_long_table_has_every_row_once_and_few_test_rows(table, small_blocks, monkeypatch):
    monkeypatch.setattr(row_order, "MOST_SHUFFLED", 0)
    monkeypatch.setattr(store_pass, "MOST_TEST_ROWS", 100)
    disk = on_disk(table)
    assert (disk.n_train, disk.n_test) == (ROWS - 1 - 100, 100)
    a = np.concatenate([disk.X_train[:, 0], disk.X_test[:, 0]]) * disk.scaler.scale[0] + disk.scaler.mean[0]
    expected = frame_of().dropna(subset="kind")["a"]
    np.testing.assert_allclose(np.sort(a), np.sort(expected), atol=1e-4)
    assert abs(np.corrcoef(a, expected)[0, 1]) < 0.1
    assert set(on_disk(table, split=1).X_test[:, 0]) != set(disk.X_test[:, 0])


def test_held_out_rows_come_from_the_training_rows(table, small_blocks):
    whole, part = on_disk(table), on_disk(table, holdout=0.25)
    assert part.n_train == int(whole.n_train * 0.75)
    np.testing.assert_array_equal(part.X_test, whole.X_train[part.n_train :])
    assert part.class_counts().sum() == part.n_train
    assert hold_out(part, 0.0) is part


def test_the_store_is_found_again_by_content(table, tmp_path, monkeypatch):
    first = on_disk(table)
    moved = shutil.move(table, tmp_path / "elsewhere")
    monkeypatch.setattr(storage, "write_store", None)
    again = on_disk(moved)
    assert again.store.folder == first.store.folder
    assert (again.findings, again.notes) == (first.findings, first.notes)
    for other in ({"split": 1}, {"protocol": "paper"}, {"categories": "column"}, {"treatment": Treatment(drop=("a",))}):
        with pytest.raises(TypeError):
            on_disk(moved, **other)


def test_weights_of_rows_are_not_passed_over(table):
    with pytest.raises(UsageError, match="--weights needs all training rows in memory"):
        on_disk(table, treatment=Treatment(weights="a"))


def test_what_needs_memory_has_it_as_long_as_the_table_fits(table, monkeypatch):
    needed = 4 * 8 * ROWS * 5
    for there, expected in ((3 * needed, "memory"), (1.5 * needed, "disk")):
        monkeypatch.setattr(storage, "memory_size", lambda there=there: there)
        assert storage_of(table) == expected
        assert storage_of(table, needing_memory="--folds") == "memory"
    monkeypatch.setattr(storage, "memory_size", lambda: needed - 1)
    with pytest.raises(UsageError, match="--folds needs all training rows in memory, where this table would take"):
        storage_of(table, needing_memory="--folds")
    assert storage_of(table, "memory", "--folds") == "memory"


def test_any_set_can_be_put_on_disk():
    memory = load_split("waveform-noise")
    disk = load_split("waveform-noise", storage="disk")
    np.testing.assert_array_equal(disk.X_train, memory.X_train.astype(np.float32))
    np.testing.assert_array_equal(disk.y_train, memory.y_train)
    assert disk.first_rows()[0].dtype == np.float32
    assert load_split("waveform-noise", storage="auto").store is None


def test_a_class_that_only_the_last_file_has(table, small_blocks):
    frame = frame_of().iloc[2000:].copy()
    frame.iloc[-40:, frame.columns.get_loc("kind")] = "late"
    frame.to_parquet(table / "part-2.parquet")
    assert on_disk(table).class_names == ("late", "x", "y", "z")
    frame["kind"] = frame["kind"].where(frame["kind"] != "late", "x")
    frame.iloc[-1, frame.columns.get_loc("kind")] = "alone"
    frame.to_parquet(table / "part-2.parquet")
    with pytest.raises(GpcnoiseError, match="class 'alone' of target column 'kind' has a single row"):
        on_disk(table)
    assert leftovers() == []


def leftovers():
    """What is in the folder of stores besides stores, locks and hashes."""
    return [path.name for path in stores_dir().iterdir() if path.name.endswith(".partial")]


@pytest.mark.parametrize("when", ["first", "second", "gone"])
def test_a_file_that_changes_during_the_pass(when, table, small_blocks, monkeypatch):
    last, usual = table / "part-2.parquet", store_pass.fitter_of

    def fitter_of(file, *rest):
        fitter = usual(file, *rest)
        change() if when == "first" else None
        return fitter

    def change():
        last.unlink() if when == "gone" else frame_of(4000).iloc[2000:].to_parquet(last)

    monkeypatch.setattr(store_pass, "fitter_of", fitter_of)
    scatter = store_pass._scatter
    if when != "first":
        monkeypatch.setattr(store_pass, "_scatter", lambda *all: (scatter(*all), change()))
    with pytest.raises(GpcnoiseError, match=r"^part-2\.parquet was changed while it was read, so nothing was kept"):
        on_disk(table)
    assert leftovers() == []


def test_too_little_space_is_told_before_anything_is_written(table, monkeypatch):
    usage = shutil.disk_usage(table)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(GpcnoiseError, match=r"the rows need 0\.0 GB in .* nothing was written: .*GPCNOISE_STORE_DIR"):
        on_disk(table)
    assert leftovers() == []


def test_a_disk_that_fills_up_during_the_pass(table, small_blocks, monkeypatch):
    usual = store_pass.Buckets.scatter

    def scatter(self, X, y):
        if self.scattered:
            raise OSError(28, os.strerror(28))
        usual(self, X, y)

    monkeypatch.setattr(store_pass.Buckets, "scatter", scatter)
    with pytest.raises(GpcnoiseError, match=r"no space left to write .*; nothing was kept"):
        on_disk(table)
    assert leftovers() == []


def test_a_pass_broken_off_is_made_again_the_same(table, small_blocks, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(store_pass.Buckets, "chunks", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            on_disk(table)
    assert leftovers() == []
    disk = on_disk(table)
    content = (disk.store.folder / "X.npy").read_bytes()
    shutil.rmtree(disk.store.folder)
    assert (on_disk(table).store.folder / "X.npy").read_bytes() == content


def test_memory_does_not_grow_with_the_table(tmp_path, small_blocks, monkeypatch):
    """Ten times the rows, about the same memory."""
    monkeypatch.setattr(store_pass, "_CHUNK", 500)
    monkeypatch.setattr(row_order, "MOST_SHUFFLED", 0)
    monkeypatch.setattr(store_pass, "MOST_TEST_ROWS", 100)
    monkeypatch.setattr(running_facts, "SAMPLE", 500)
    monkeypatch.setattr(column_kinds, "MOST_TEXTS", 500)
    peaks = []
    for copies in (1, 10):
        folder = tmp_path / str(copies)
        folder.mkdir()
        for number in range(copies):
            frame_of(2000).to_parquet(folder / f"{number}.parquet")
        on_disk(folder, split=5 + copies)  # what is imported and cached is not counted
        tracemalloc.start()
        on_disk(folder)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


def test_auto_is_disk_where_the_table_is_too_large(table, monkeypatch):
    assert storage_of(table) == "memory"
    monkeypatch.setattr(storage, "memory_size", lambda: 8 * 5 * ROWS * storage.COPIES)
    assert storage_of(table) == "disk"
    assert storage_of(table, "memory") == "memory"
    assert storage_of("-") == "memory"
    assert storage.memory_size() > 0
    assert load_split("file", path=str(table), target="kind", storage="auto").store is not None


def test_what_can_be_read_only_once_cannot_be_put_on_disk_and_is_not_touched(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("-", tmp_path / "pipe"):
        assert storage_of(path) == "memory"
        with pytest.raises(UsageError, match="standard input and pipes cannot"):
            on_disk(path)
