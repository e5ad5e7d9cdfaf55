"""One's own files: every kind of column read and recorded, every defect answered with one sentence that says where."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.table import TableEncoder, fit_encoder, read_features, read_labelled, read_own_file, read_table
from gpcnoise_cli.errors import GpcnoiseError, UsageError


def frame_of(n=40, seed=0):
    random = np.random.RandomState(seed)
    return pd.DataFrame(
        {
            "size": random.standard_normal(n),
            "count": random.randint(0, 9, n),
            "colour": random.choice(["red", "green", "blue"], n),
            "open": random.rand(n) > 0.5,
            "kind": random.choice(["cat", "dog"], n),
        }
    )


def write(frame, path):
    writers = {
        ".csv": frame.to_csv,
        ".gz": frame.to_csv,
        ".tsv": lambda p, index: frame.to_csv(p, sep="\t", index=index),
    }
    writers.get(path.suffix, frame.to_parquet)(path, index=False)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.csv.gz", "T.CSV"])
def test_all_formats_give_the_same_table(name, tmp_path):
    frame = frame_of()
    path = write(frame, tmp_path / name.lower()).rename(tmp_path / name)
    table = read_own_file(path, "kind")
    assert table.feature_names == ("size", "count", "colour=blue", "colour=green", "colour=red", "open")
    np.testing.assert_array_equal(table.X[:, 0], frame["size"])
    np.testing.assert_array_equal(table.X[:, 4], frame["colour"] == "red")
    np.testing.assert_array_equal(table.X[:, 5], frame["open"])
    assert [table.class_names[c] for c in table.y] == frame["kind"].tolist()


@pytest.mark.parametrize(
    "names",
    [("no", "yes"), (0, 1), (3, 7), (1.5, 2.5), (False, True), ("a b", "ü,;\n")],
    ids=lambda names: repr(names[0]),
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_class_names_keep_their_type(names, suffix, tmp_path):
    frame = frame_of().assign(kind=[names[i % 2] for i in range(40)])
    path = write(frame, tmp_path / f"t{suffix}")
    split = load_split("file", path=str(path), target="kind")
    assert split.class_names == names
    assert [type(name) for name in split.class_names] == [type(name) for name in names]
    again = TableEncoder.from_dict(json.loads(json.dumps(split.encoder.to_dict())))
    assert again == split.encoder
    _, y = read_labelled(path, again)
    assert [names[c] for c in y] == frame["kind"].tolist()


def test_split_of_a_file_says_so_and_is_scaled(tmp_path):
    split = load_split("file", path=str(write(frame_of(200), tmp_path / "t.csv")), target="kind", test_fraction=0.25)
    assert (split.dataset, split.source, split.n_train, split.n_test) == ("file", "file", 150, 50)
    np.testing.assert_allclose(split.X_train.mean(0), 0.0, atol=1e-12)
    assert split.encoder is not None
    assert split.encoder.feature_names == split.feature_names


def test_constant_column_becomes_zero(tmp_path):
    split = load_split("file", path=str(write(frame_of().assign(k=0.1), tmp_path / "t.csv")), target="kind")
    column = split.feature_names.index("k")
    assert (split.X_train[:, column] == 0.0).all()
    assert (split.X_test[:, column] == 0.0).all()


def test_reordered_and_extra_columns_are_read_by_name(tmp_path):
    frame = frame_of()
    encoder = fit_encoder(frame, "kind")
    path = write(frame.assign(note="n")[["note", "open", "colour", "count", "size"]], tmp_path / "new.csv")
    np.testing.assert_array_equal(read_features(path, encoder), encoder.encode(frame))


def test_missing_columns_are_named(tmp_path):
    encoder = fit_encoder(frame_of(), "kind")
    path = write(frame_of().drop(columns=["size", "open"]), tmp_path / "new.csv")
    with pytest.raises(GpcnoiseError, match=r"new.csv: missing columns 'size', 'open'"):
        read_features(path, encoder)


def test_unseen_level_is_refused_with_its_place(tmp_path):
    encoder = fit_encoder(frame_of(), "kind")
    frame = frame_of()
    frame.loc[6, "colour"] = "mauve"
    with pytest.raises(GpcnoiseError, match=r"unseen level 'mauve' in row 7 \(line 8\), column 'colour'; .*'blue'"):
        read_features(write(frame, tmp_path / "new.csv"), encoder)


def test_unknown_class_in_a_new_file_is_refused(tmp_path):
    encoder = fit_encoder(frame_of(), "kind")
    frame = frame_of()
    frame.loc[0, "kind"] = "cow"
    with pytest.raises(GpcnoiseError, match=r"unknown class 'cow' in row 1 \(line 2\), column 'kind'; .*'cat', 'dog'"):
        read_labelled(write(frame, tmp_path / "new.csv"), encoder)
    with pytest.raises(GpcnoiseError, match="missing target column 'kind'"):
        read_labelled(write(frame.drop(columns="kind"), tmp_path / "bare.csv"), encoder)


def test_levels_and_labels_that_look_like_numbers_are_kept_as_written(tmp_path):
    frame = pd.DataFrame({"zip": ["01", "02", "x"] * 10, "v": range(30), "y": ["01", "1", "b"] * 10})
    encoder = fit_encoder(frame, "y")
    assert encoder.columns[0].levels == ("01", "02", "x")
    new = write(frame.iloc[[0, 3]], tmp_path / "new.csv")
    X, y = read_labelled(new, encoder)
    assert X[:, 0].tolist() == [1.0, 1.0]
    assert y.tolist() == [0, 0]


def test_nameless_row_numbers_are_not_a_feature(tmp_path):
    frame_of().to_csv(tmp_path / "r.csv", index=True)
    assert read_own_file(tmp_path / "r.csv", "kind").feature_names[0] == "size"


def test_booleans_are_read_in_any_spelling(tmp_path):
    encoder = fit_encoder(frame_of(), "kind")
    frame = frame_of(4).astype({"open": object})
    frame["open"] = ["TRUE", "false", "1", "0"]
    assert read_features(write(frame, tmp_path / "n.csv"), encoder)[:, -1].tolist() == [1.0, 0.0, 1.0, 0.0]
    frame["open"] = ["TRUE", "maybe", "1", "0"]
    with pytest.raises(GpcnoiseError, match="'maybe' is neither true nor false in row 2"):
        read_features(write(frame, tmp_path / "n.csv"), encoder)


ROWS = "".join(f"{i}.5,{'abc'[i % 3]},{'uv'[i % 2]}\n" for i in range(20))
TEXT = "x,c,y\n" + ROWS


def replaced(row, text):
    lines = TEXT.splitlines()
    lines[row] = text
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("x,c,y\n", "a header but no rows"),
        (replaced(3, ",a,u"), r"missing value in row 3 \(line 4\), column 'x'; there is 1 in all"),
        (replaced(3, "NaN,,u"), r"missing value in row 3 \(line 4\), column 'x'; there are 2 in all"),
        ("\n" + replaced(3, "1.5,,u"), r"missing value in row 3 \(line 5\), column 'c'"),
        (replaced(3, "1.5,a,"), r"missing value in row 3 \(line 4\), column 'y'"),
        (replaced(3, "inf,a,u"), r"infinite value in row 3 \(line 4\), column 'x'"),
        (replaced(5, "abc,a,u"), r"'abc' is not a number in row 5 \(line 6\), column 'x'"),
        (replaced(5, "1.5,a,u,9"), "not a regular table"),
        (replaced(5, '1.5,"a,u'), "not a regular table .*EOF inside string"),
        (replaced(5, "9" * 400 + "x,a,u"), r"'9{39}… is not a number in row 5"),
        (replaced(5, "1.5,a"), r"missing value in row 5 \(line 6\), column 'y'"),
        (TEXT.replace("x,c,y", "x,x,y"), "column 'x' appears twice"),
        (TEXT.replace("x,c,y", "x,,y"), "column 2 has no name"),
        (TEXT.replace("x,c,y", ",c,y"), "the first column has no name"),
        (TEXT.replace(",u", ",v"), "holds a single class, 'v'"),
        (replaced(5, "1.5,a,w"), "class 'w' of target column 'y' has a single row"),
        ("y\n" + "u\nv\n" * 5, "no column besides the target"),
        (
            "x,id,y\n" + "".join(f"1,id{i},{'uv'[i % 2]}\n" for i in range(30)),
            "'id' has 30 different texts.*identifier",
        ),
        (
            "x,y\n" + "".join(f"1,{i / 7}\n" for i in range(30)),
            "has a single row .and 29 more.*a number to be predicted",
        ),
        (TEXT.replace(",", ";"), "columns look separated by ';'"),
        ("x,c,y\n" + "".join(f"{'1,2,3'},{i}\n" for i in range(5)), "not a regular table"),
    ],
)
def test_defects_of_a_csv_file_give_one_sentence(text, message, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(GpcnoiseError, match=message) as caught:
        load_split("file", path=str(path), target="y")
    assert str(caught.value).startswith("own.csv: ")
    assert str(caught.value).count("own.csv") == 1
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 1


def test_target_that_is_not_there_names_the_nearest(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT.replace("x,c,y", "x,c,species"))
    with pytest.raises(UsageError, match="no target column 'specis'; did you mean 'species'"):
        load_split("file", path=str(tmp_path / "t.csv"), target="specis")


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.json", "t.parquet.gz", "t.gz"])
def test_unknown_extension_names_the_supported_ones(name, tmp_path):
    (tmp_path / name).write_text(TEXT)
    with pytest.raises(UsageError, match=r"supported are \.csv, \.tsv .* and \.parquet"):
        read_table(tmp_path / name)


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        read_table(tmp_path / "folder.csv")
    (tmp_path / "b.csv").write_bytes(b"x,y\n\xff\xfe\x00,1\n")
    with pytest.raises(GpcnoiseError, match="not a readable UTF-8 text"):
        read_table(tmp_path / "b.csv")
    for name in ("b.parquet", "b.csv.gz"):
        (tmp_path / name).write_bytes(b"this is neither")
        with pytest.raises(GpcnoiseError, match="not a readable"):
            read_table(tmp_path / name)
    write(frame_of(300), tmp_path / "cut.csv.gz")
    (tmp_path / "cut.csv.gz").write_bytes((tmp_path / "cut.csv.gz").read_bytes()[:-50])
    with pytest.raises(GpcnoiseError, match=r"cut\.csv\.gz: not a readable"):
        read_table(tmp_path / "cut.csv.gz")


def test_dataset_file_needs_both_a_file_and_a_target():
    with pytest.raises(UsageError, match="needs a file and the name of its target column"):
        load_split("file", path="x.csv")


def test_dates_are_refused(tmp_path):
    frame = frame_of().assign(when=pd.date_range("2020-01-01", periods=40))
    with pytest.raises(GpcnoiseError, match=r"column 'when' holds datetime64.* plain numbers"):
        read_own_file(write(frame, tmp_path / "t.parquet"), "kind")


def test_nullable_and_categorical_parquet_columns(tmp_path):
    frame = frame_of().astype({"count": "Int64", "colour": "category", "open": "boolean", "kind": "category"})
    table = read_own_file(write(frame, tmp_path / "t.parquet"), "kind")
    assert table.feature_names == ("size", "count", "colour=blue", "colour=green", "colour=red", "open")
    frame.loc[4, "count"] = pd.NA
    with pytest.raises(GpcnoiseError, match="missing value in row 5, column 'count'"):
        read_own_file(write(frame, tmp_path / "t.parquet"), "kind")


def test_a_class_without_training_rows_is_reported(tmp_path):
    rows = np.random.RandomState(0).permutation(40)
    frame = frame_of()
    frame.loc[rows[36:38], "kind"] = "rare"
    with pytest.raises(GpcnoiseError, match="split 0 has no training row of class 'rare'"):
        load_split("file", path=str(write(frame, tmp_path / "t.csv")), target="kind")


def test_line_numbers_count_quoted_line_breaks(tmp_path):
    text = 'c,x,y\n"two\nlines",1,u\n"two\nlines",2,v\nb,,u\nb,3,v\n'
    (tmp_path / "q.csv").write_text(text)
    with pytest.raises(GpcnoiseError, match=r"missing value in row 3 \(line 6\), column 'x'"):
        read_own_file(tmp_path / "q.csv", "y")


LEVELS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5)


@given(
    levels=st.lists(LEVELS.map(lambda text: "l" + text), min_size=2, max_size=4, unique=True),
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=12, max_size=12),
    names=st.one_of(
        st.lists(LEVELS, min_size=2, max_size=2, unique=True),
        st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=2, unique=True),
        st.just([False, True]),
    ),
    order=st.permutations(["number", "level", "flag", "target"]),
)
def test_encoding_is_undone_by_the_recorded_levels(levels, numbers, names, order):
    frame = pd.DataFrame(
        {
            "number": numbers,
            "level": [levels[i % len(levels)] for i in range(12)],
            "flag": [i % 3 == 0 for i in range(12)],
            "target": [names[i % 2] for i in range(12)],
        }
    )
    encoder = TableEncoder.from_dict(json.loads(json.dumps(fit_encoder(frame, "target").to_dict())))
    X = encoder.encode(frame[order])
    recorded = next(column.levels for column in encoder.columns if column.name == "level")
    assert [recorded[row.argmax()] for row in X[:, 1 : 1 + len(recorded)]] == frame["level"].tolist()
    np.testing.assert_array_equal(X[:, 0], numbers)
    assert [encoder.class_names[c] for c in encoder.encode_labels(frame["target"])] == frame["target"].tolist()
