"""A folder or a pattern of files is one table; what does not fit together is told in one sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gpcnoise_cli.data.table import read_features, read_own_file
from gpcnoise_cli.data.table_file import check_file, open_table
from gpcnoise_cli.data.table_parts import parts_of
from gpcnoise_cli.errors import GpcnoiseError, UsageError


def frame_of(rows=40, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": random.normal(size=rows).round(3),
            "colour": random.choice(["red", "blue"], rows),
            "kind": np.where(np.arange(rows) % 2, "a", "b"),
        }
    )


def write_parts(folder, frame, cuts=(15, 25), ending="csv"):
    folder.mkdir(exist_ok=True)
    for number, (start, stop) in enumerate(zip((0, *cuts), (*cuts, len(frame)), strict=True)):
        part = frame.iloc[start:stop]
        path = folder / f"part-{number}.{ending}"
        part.to_parquet(path) if ending == "parquet" else part.to_csv(path, index=False)
    return folder


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_parts_read_as_the_whole(ending, tmp_path):
    frame = frame_of()
    folder = write_parts(tmp_path / "parts", frame, ending=ending)
    frame.to_csv(tmp_path / "whole.csv", index=False)
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden.csv").write_text("a\n1\n")
    (folder / "notes.md").write_text("no table")
    whole = read_own_file(tmp_path / "whole.csv", "kind")
    for path in (folder, folder / f"*.{ending}", tmp_path / "**" / f"part-?.{ending}"):
        table = read_own_file(path, "kind")
        np.testing.assert_array_equal(table.X, whole.X)
        np.testing.assert_array_equal(table.y, whole.y)
    assert len(read_features(folder, whole.encoder)) == 40


def test_columns_may_stand_in_another_order_and_a_part_may_be_empty(tmp_path):
    frame = frame_of()
    folder = write_parts(tmp_path / "parts", frame, ending="parquet")
    frame.iloc[15:25][["kind", "colour", "size"]].to_parquet(folder / "part-1.parquet")
    frame.iloc[:0].to_parquet(folder / "part-9.parquet")
    np.testing.assert_array_equal(read_own_file(folder, "kind").X[:, 0], frame["size"])


def test_a_file_with_a_name_like_a_pattern_is_that_file(tmp_path):
    frame_of().to_csv(tmp_path / "t[1].csv", index=False)
    assert parts_of(tmp_path / "t[1].csv") == [tmp_path / "t[1].csv"]


def test_what_is_no_table(tmp_path):
    with pytest.raises(UsageError, match=r"no file matches '.*none-\*\.csv'"):
        check_file(tmp_path / "none-*.csv")
    with pytest.raises(UsageError, match="holds no table"):
        check_file(tmp_path)
    folder = write_parts(tmp_path / "parts", frame_of())
    (folder / "part-3.csv").write_text("")
    with pytest.raises(GpcnoiseError, match=r"part-3\.csv: the file is empty"):
        check_file(folder)


def test_differing_columns_are_named(tmp_path):
    folder = write_parts(tmp_path / "parts", frame_of())
    frame_of().rename(columns={"size": "length"}).to_csv(folder / "part-2.csv", index=False)
    with pytest.raises(
        GpcnoiseError,
        match=r"^part-2\.csv: its columns are not those of part-0\.csv \(it lacks 'size' and it has 'length' besides\)",
    ):
        read_own_file(folder, "kind")


def test_files_of_two_kinds_are_refused(tmp_path):
    folder = write_parts(tmp_path / "parts", frame_of())
    frame_of().to_parquet(folder / "part-2.parquet")
    with pytest.raises(GpcnoiseError, match=r"part-2\.parquet: it is no file of the kind of part-0\.csv"):
        read_own_file(folder, "kind")


def test_a_bad_cell_is_found_in_its_file(tmp_path):
    folder = write_parts(tmp_path / "parts", frame_of(200), cuts=(90, 150))
    text = (folder / "part-1.csv").read_text().splitlines()
    text[3] = "abc," + text[3].partition(",")[2]
    (folder / "part-1.csv").write_text("\n".join(text) + "\n")
    with pytest.raises(GpcnoiseError, match=r"^part-1\.csv: 'abc' is not a number in row 3 \(line 4\), column 'size'"):
        read_own_file(folder, "kind")


def test_a_folder_without_rows(tmp_path):
    frame_of().iloc[:0].to_csv(tmp_path / "a.csv", index=False)
    with open_table(tmp_path) as file, pytest.raises(GpcnoiseError, match="none of its files has a row"), file.naming():
        list(file.blocks(5))
