"""Files of every kind: told by their content, read the same, and refused with one sentence when they are broken."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import sys
import threading

import pandas as pd
import pytest

from gpcnoise_cli.data.table_file import check_file, open_table
from gpcnoise_cli.errors import GpcnoiseError, UsageError

FRAME = pd.DataFrame({"x": [1.5, 2.5, 3.5], "naïve": ["a;b", "c|d", "é,\nf"], "y": [1, 2, 1]})
TEXTS = [["1.5", "a;b", "1"], ["2.5", "c|d", "2"], ["3.5", "é,\nf", "1"]]


def read(path, **how):
    with open_table(path, **how) as file, file.naming():
        return pd.concat(list(file.blocks(2)), ignore_index=True)


def text_of(separator=","):
    return FRAME.to_csv(index=False, sep=separator)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t", "t.data"])
def test_the_separator_is_found(separator, name, tmp_path):
    (tmp_path / name).write_text(text_of(separator), encoding="utf-8")
    frame = read(tmp_path / name)
    assert list(frame.columns) == ["x", "naïve", "y"]
    assert frame.to_numpy().tolist() == TEXTS


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le", "utf-16-be"])
def test_the_encoding_is_found(encoding, tmp_path):
    (tmp_path / "t.csv").write_bytes(text_of().encode(encoding))
    assert read(tmp_path / "t.csv").to_numpy().tolist() == TEXTS
    with open_table(tmp_path / "t.csv") as file:
        assert bool(file.notes()) == (not encoding.startswith("utf-8"))


def test_separator_and_encoding_may_be_given(tmp_path):
    (tmp_path / "t.csv").write_bytes("a:b;c\nя:1;2\n".encode("koi8-r"))
    frame = read(tmp_path / "t.csv", separator=":", encoding="koi8-r")
    assert list(frame.columns) == ["a", "b;c"]
    assert frame.iloc[0, 0] == "я"
    with pytest.raises(GpcnoiseError, match=r"t\.csv: it is not utf-16 text|t\.csv: .*encoding"):
        read(tmp_path / "t.csv", encoding="utf-8")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_packed_files_are_unpacked_whatever_their_name(compress, tmp_path):
    (tmp_path / "t").write_bytes(compress(text_of().encode()))
    assert read(tmp_path / "t").to_numpy().tolist() == TEXTS


@pytest.mark.parametrize("write", ["to_parquet", "to_feather"])
@pytest.mark.parametrize("linked", [False, True])
def test_binary_files_are_told_by_their_content(write, linked, tmp_path):
    path = tmp_path / "SHA256E-s100--abcdef"
    getattr(FRAME, write)(path)
    if linked:  # as DVC and git-annex do
        (tmp_path / "t.dat").symlink_to(path)
        path = tmp_path / "t.dat"
    assert read(path).to_numpy().tolist() == FRAME.to_numpy().tolist()


def test_whole_numbers_with_gaps_stay_whole(tmp_path):
    pd.DataFrame({"y": pd.array([1, None, 2], dtype="Int64")}).to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet")["y"].dropna().map(str).tolist() == ["1", "2"]


@pytest.mark.parametrize("name", ["t.jsonl", "t"])
def test_json_lines(name, tmp_path):
    lines = [json.dumps(record) for record in FRAME.to_dict("records")]
    (tmp_path / name).write_text("\n".join(lines) + '\n{"x": null, "naïve": true}\n', encoding="utf-8")
    frame = read(tmp_path / name)
    assert frame.iloc[:3].to_numpy().tolist() == FRAME.to_numpy().tolist()
    assert frame.iloc[3].isna().tolist() == [True, False, True]


def test_a_json_array(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(FRAME.to_dict("records"), indent=1))
    assert read(tmp_path / "t.json").to_numpy().tolist() == FRAME.to_numpy().tolist()


def test_excel_where_its_reader_is_installed_and_one_sentence_where_not(tmp_path, monkeypatch):
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04 rest")
        with pytest.raises(GpcnoiseError, match=r"t\.xlsx: Excel files are read by openpyxl.*pip install openpyxl"):
            read(tmp_path / "t.xlsx")
        return
    FRAME.to_excel(tmp_path / "t.xlsx", index=False)
    assert read(tmp_path / "t.xlsx").to_numpy().tolist() == FRAME.to_numpy().tolist()


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text_of(";").encode())))
    assert read("-").to_numpy().tolist() == TEXTS


def test_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text_of(), encoding="utf-8"))
    writer.start()
    assert read(tmp_path / "pipe").to_numpy().tolist() == TEXTS
    writer.join()


def test_a_nameless_first_column_has_the_row_names(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv")
    assert list(read(tmp_path / "t.csv").columns) == ["rownames", "x", "naïve", "y"]


def test_lines_may_end_with_a_separator(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,\n1,2,\n")
    assert read(tmp_path / "t.csv").to_numpy().tolist() == [["1", "2"]]
    (tmp_path / "t.csv").write_text("a,b\n1,2,\n")
    assert read(tmp_path / "t.csv").to_numpy().tolist() == [["1", "2"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.parquet", b"neither", r"t\.parquet: not a readable Parquet"),
        ("t.parquet", b"PAR1 and no more", r"t\.parquet: not a readable Parquet"),
        ("t.feather", b"ARROW1 and no more", r"t\.feather: not a readable Feather"),
        ("t.xlsx", b"a,b\n1,2\n", r"t\.xlsx: not a readable Excel"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "save it as CSV"),
        ("t.zip", b"PK\x03\x04", "unpack it"),
        ("t.csv", b"x,y\n\xff\xfe\x00,1\n", r"t\.csv: line 2 holds a zero byte"),
        ("t.csv", gzip.compress(b"a,b\n" + os.urandom(999))[:-50], r"t\.csv: it cannot be unpacked"),
        ("t.jsonl", b'{"a": 1}\n{"a"\n', r"t\.jsonl: line 2 is not JSON"),
        ("t.jsonl", b"[1, 2]", r"t\.jsonl: element 1 is no JSON object"),
        ("t.csv", b" \n\n", r"t\.csv: the file is empty"),
        ("t.csv", b"a,a\n1,2\n", r"t\.csv: column 'a' appears twice"),
        ("t.csv", b"a,,b\n1,2,3\n", r"t\.csv: column 2 has no name"),
    ],
)
def test_broken_files_get_one_sentence(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GpcnoiseError, match=message) as caught:
        read(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_what_is_no_file(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="there is no file"):
        check_file(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="holds no table"):
        check_file(tmp_path)
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone")
    with pytest.raises(UsageError, match=r"a link whose target is not here; .*dvc pull"):
        check_file(tmp_path / "link.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(UsageError, match="a link whose target is not here"):
        check_file(tmp_path / "loop.csv")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(GpcnoiseError, match=r"empty\.csv: the file is empty"):
        check_file(tmp_path / "empty.csv")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input, where there is none"):
        check_file("-")
