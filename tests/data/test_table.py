"""One's own files: every kind of column read and recorded, every defect answered with one sentence that says where."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.encoder import TableEncoder, Tally
from gpcnoise_cli.data.table import TableFitter, fit_encoder, read_features, read_labelled, read_own_file
from gpcnoise_cli.data.treatment import Treatment
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


def test_a_constant_column_is_left_out_and_said(tmp_path):
    split = load_split("file", path=str(write(frame_of().assign(k=0.1), tmp_path / "t.csv")), target="kind")
    assert "k" not in split.feature_names
    assert "column 'k' is left out: every row has '0.1'." in split.notes


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


def test_an_unseen_level_is_none_of_the_known_ones_and_said(tmp_path):
    encoder = fit_encoder(frame_of(), "kind")
    frame, tally = frame_of(), Tally()
    frame.loc[6, "colour"] = "mauve"
    X = encoder.encode(frame, tally=tally)
    assert X[6, 2:5].tolist() == [0.0, 0.0, 0.0]
    assert tally.sentences() == ["column 'colour': 1 value of rare or unknown levels ('mauve') pooled."]


def test_rare_levels_are_pooled_and_take_the_unseen_ones(tmp_path):
    frame = frame_of(400)
    frame.loc[[1, 2, 3], "colour"] = ["mauve", "teal", "teal"]
    table = read_own_file(write(frame, tmp_path / "t.csv"), "kind")
    assert table.feature_names[2:6] == ("colour=blue", "colour=green", "colour=red", "colour=(other)")
    assert table.X[:4, 5].tolist() == [0.0, 1.0, 1.0, 1.0]
    assert any("2 rare levels pooled" in note for note in table.notes)
    assert table.encoder.encode(frame_of().assign(colour="pink"))[0, 2:6].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_unknown_class_in_a_new_file_is_refused(tmp_path):
    encoder = fit_encoder(frame_of(), "kind")
    frame = frame_of()
    frame.loc[0, "kind"] = "cow"
    with pytest.raises(GpcnoiseError, match=r"unknown class 'cow' in row 1 \(line 2\), column 'kind'; .*'cat', 'dog'"):
        read_labelled(write(frame, tmp_path / "new.csv"), encoder)
    with pytest.raises(GpcnoiseError, match="missing target column 'kind'"):
        read_labelled(write(frame.drop(columns="kind"), tmp_path / "bare.csv"), encoder)


def test_levels_and_labels_that_look_like_numbers_are_kept_as_written(tmp_path):
    frame = pd.DataFrame({"zip": ["01", "02", "x"] * 10, "v": [0.5, 1.5] * 15, "y": ["01", "1", "b"] * 10})
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
        (replaced(3, "inf,a,u"), r"infinite value in row 3 \(line 4\), column 'x'"),
        (replaced(5, "abc,a,u"), r"'abc' is not a number in row 5 \(line 6\), column 'x'"),
        (replaced(5, "1e400,a,u"), r"'1e400' is too large for a number in row 5 \(line 6\), column 'x'"),
        (replaced(5, "1.5,a,u,9"), "line 6 has 4 values, but the header names 3 columns"),
        (replaced(5, "1.5,a"), "line 6 has 2 values, but the header names 3 columns"),
        (replaced(5, '1.5,"a,u'), "line 6: a quote that opens here is never closed"),
        (replaced(5, '1.5,"a"b,u'), "line 6: something follows a closing quote"),
        (replaced(5, "1.5,a\0,u"), "line 6 holds a zero byte"),
        (replaced(5, f"1.5,{'a' * (1 << 24)}a,u"), "line 6: a value of more than 16,777,216 characters"),
        (replaced(5, "9" * 400 + "x,a,u"), r"'9{39}… is not a number in row 5"),
        (TEXT.replace("x,c,y", "x,x,y"), "column 'x' appears twice"),
        (TEXT.replace("x,c,y", "x,,y"), "column 2 has no name"),
        (TEXT.replace(",u", ",v"), "holds a single class, 'v'"),
        (replaced(5, "1.5,a,w"), "class 'w' of target column 'y' has a single row"),
        ("y\n" + "u\nv\n" * 5, "no column besides the target"),
        (
            "x,id,y\n" + "".join(f"1,id{i},{'uv'[i % 2]}\n" for i in range(30)),
            "no column is left to learn from .x: left out: every row has '1'; id: left out: .*identifier",
        ),
        (
            "x,y\n" + "".join(f"1,{i / 7}\n" for i in range(30)),
            "has a single row .and 29 more.*a number to be predicted",
        ),
        ("x,c,y\n" + "".join(f"{'1,2,3'},{i}\n" for i in range(5)), "line 2 has 4 values"),
        ("x,y\n" + ",u\n,v\n" * 5, "no column is left to learn from .x: left out: no row has a value"),
        ("x,y\n" + "1.5,\n2.5,NA\n" * 5, "target column 'y' has no value in any row"),
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


def test_values_too_large_to_standardise_are_named_by_their_column(tmp_path):
    (tmp_path / "t.csv").write_text(replaced(5, "1e308,a,u").replace("\n7.5,", "\n-1e308,"))
    with pytest.raises(GpcnoiseError, match="column 'x' holds values too large to standardise"):
        load_split("file", path=str(tmp_path / "t.csv"), target="y")


def test_target_that_is_not_there_names_the_nearest(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT.replace("x,c,y", "x,c,species"))
    with pytest.raises(UsageError, match="no target column 'specis'; did you mean 'species'"):
        load_split("file", path=str(tmp_path / "t.csv"), target="specis")


def test_dataset_file_needs_both_a_file_and_a_target():
    with pytest.raises(UsageError, match="needs a file and the name of its target column"):
        load_split("file", path="x.csv")


def test_nullable_and_categorical_parquet_columns(tmp_path):
    frame = frame_of().astype({"count": "Int64", "colour": "category", "open": "boolean", "kind": "category"})
    table = read_own_file(write(frame, tmp_path / "t.parquet"), "kind")
    assert table.feature_names == ("size", "count", "colour=blue", "colour=green", "colour=red", "open")
    frame.loc[4, "count"] = pd.NA
    path = write(frame, tmp_path / "t.parquet")
    assert "count missing" in read_own_file(path, "kind").feature_names
    with pytest.raises(GpcnoiseError, match="missing value in row 5, column 'count'"):
        read_own_file(path, "kind", Treatment(missing="refuse"))


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
        read_own_file(tmp_path / "q.csv", "y", Treatment(missing="refuse"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (replaced(3, ",a,u"), r"row 3 \(line 4\), column 'x'"),
        (replaced(3, "NaN,,u"), r"row 3 \(line 4\), column 'x'"),
        ("\n" + replaced(3, "1.5,,u"), r"row 3 \(line 5\), column 'c'"),
    ],
)
def test_missing_values_are_refused_when_asked(text, place, tmp_path):
    (tmp_path / "own.csv").write_text(text)
    with pytest.raises(GpcnoiseError, match=rf"own.csv: missing value in {place}; .*--missing impute"):
        load_split("file", path=str(tmp_path / "own.csv"), target="y", treatment=Treatment(missing="refuse"))


def test_gaps_become_medians_of_the_training_rows_with_an_indicator(tmp_path):
    frame = frame_of(200)
    frame.loc[::5, "size"] = np.nan
    frame.loc[::7, "colour"] = None
    path = write(frame, tmp_path / "t.csv")
    split = load_split("file", path=str(path), target="kind")
    assert split.feature_names[:3] == ("size", "size missing", "count")
    assert "colour=(missing)" in split.feature_names
    train = np.random.RandomState(0).permutation(200)[:180]
    median = float(np.median(frame["size"].to_numpy()[train][~frame["size"].isna().to_numpy()[train]]))
    assert split.encoder.columns[0].fill == median
    X = split.scaler.transform(split.encoder.encode(frame))
    rows = np.arange(200)
    np.random.RandomState(0).shuffle(rows)
    np.testing.assert_allclose(split.X_train, X[rows[:180]], atol=1e-12)
    assert np.isfinite(split.X_test).all()
    assert any("missing values in 'size', 'colour' are filled" in note for note in split.notes)


def test_a_gap_where_training_had_none_is_filled_and_said(tmp_path):
    split = load_split("file", path=str(write(frame_of(), tmp_path / "t.csv")), target="kind")
    tally, frame = Tally(), frame_of(4).assign(size=np.nan, colour=None)
    X = split.encoder.encode(frame, tally=tally)
    assert X[0, 0] == split.encoder.columns[0].fill
    assert X[0, 2:5].tolist() == [0.0, 0.0, 0.0]
    assert tally.sentences() == ["missing values filled as in training: 'size' (4), 'colour' (4)."]


def test_rows_without_a_class_are_left_out_and_said(tmp_path):
    frame = frame_of().astype({"kind": object})
    frame.loc[[3, 9], "kind"] = None
    frame.loc[3, "size"] = np.inf  # what stands in such a row does not matter
    path = write(frame, tmp_path / "t.csv")
    table = read_own_file(path, "kind")
    assert len(table.y) == 38
    assert table.notes[0] == "2 rows without a class in column 'kind' left out."
    tally = Tally()
    assert len(read_labelled(path, table.encoder, tally=tally)[1]) == 38
    assert tally.sentences()[0] == "2 rows without a class left out."


@pytest.mark.parametrize(
    "names", [(" a", "b"), ("01", "1"), ("true", "false"), ("1.50", "2"), ("1e5", "2e5"), ("a ", "a")]
)
def test_class_names_come_back_to_the_letter(names, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i}.5,{names[i % 2]}\n" for i in range(20)))
    table = read_own_file(tmp_path / "t.csv", "y")
    assert [table.class_names[c] for c in table.y] == [names[i % 2] for i in range(20)]


def test_na_is_a_class_only_when_asked(tmp_path):
    (tmp_path / "t.csv").write_text(
        "x,land,y\n" + "".join(f"{i}.5,{'NA' if i % 3 else 'DE'},{['NA', 'null', 'w'][i % 3]}\n" for i in range(30))
    )
    with pytest.raises(GpcnoiseError, match="single class, 'w'"):
        read_own_file(tmp_path / "t.csv", "y")
    table = read_own_file(tmp_path / "t.csv", "y", Treatment(na_values=("",)))
    assert table.class_names == ("NA", "null", "w")
    assert table.feature_names == ("x", "land=DE", "land=NA")
    assert read_own_file(tmp_path / "t.csv", "y", Treatment(na_values=("NA",))).class_names == ("null", "w")


def test_row_numbers_are_left_out_and_come_back_with_a_warning(tmp_path):
    frame = frame_of(200).sort_values("kind").assign(rownames=range(1, 201))
    path = write(frame, tmp_path / "t.csv")
    table = read_own_file(path, "kind")
    assert "rownames" not in table.feature_names
    assert any(note.startswith("column 'rownames' is left out: ") for note in table.notes)
    table = read_own_file(path, "kind", Treatment(treat=("rownames=number",)))
    assert "rownames" in table.feature_names
    assert table.notes[-1].startswith("warning: column 'rownames' looks like a row number and tells the class: alone")


def test_columns_are_treated_as_asked(tmp_path):
    frame = frame_of().assign(day=np.resize(["20200131", "20200229", "20210331"], 40), who=[f"w{i}" for i in range(40)])
    path = write(frame, tmp_path / "t.csv")
    (tmp_path / "c.yaml").write_text("count: number\nday: date\nopen: ignore\n")
    treatment = Treatment(treat=("count=category",), drop=("size",), keep=("who",), columns=str(tmp_path / "c.yaml"))
    table = read_own_file(path, "kind", treatment)
    columns = {column.name: column.kind for column in table.encoder.columns}
    assert columns == {"count": "categorical", "colour": "categorical", "day": "date"}
    assert table.encoder.kept == ("who",)


@pytest.mark.parametrize(
    ("treatment", "message"),
    [
        (Treatment(drop=("sizes",)), "there is no column 'sizes'; did you mean 'size'"),
        (Treatment(drop=("kind",)), "column 'kind' is the target"),
        (Treatment(drop=("size",), keep=("size",)), "column 'size' is to be both ignore and keep"),
        (Treatment(columns="nowhere.yaml"), "there is no file 'nowhere.yaml' for --columns"),
        (Treatment(sep="ab"), "--sep takes a single character"),
        (Treatment(encoding="klingon"), "there is no encoding 'klingon'"),
    ],
)
def test_treatments_that_cannot_be_meant(treatment, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        read_own_file(write(frame_of(), tmp_path / "t.csv"), "kind", treatment)


def test_treating_text_as_numbers_or_dates_names_the_first_that_is_none(tmp_path):
    path = write(frame_of(), tmp_path / "t.csv")
    with pytest.raises(
        GpcnoiseError, match=r"is not a number .40 such values in all. in row 1 \(line 2\), column 'colour'"
    ):
        read_own_file(path, "kind", Treatment(treat=("colour=number",)))
    with pytest.raises(GpcnoiseError, match="column 'colour' is not written as dates"):
        read_own_file(path, "kind", Treatment(treat=("colour=date",)))


def test_every_feature_knows_its_column(tmp_path):
    frame = frame_of(60).assign(when=pd.date_range("2020-01-01", periods=60, freq="11D"))
    frame.loc[3, "size"] = np.nan
    encoder = read_own_file(write(frame, tmp_path / "t.parquet"), "kind").encoder
    assert len(encoder.feature_columns) == len(encoder.feature_names) == encoder.encode(frame).shape[1]
    assert encoder.feature_columns[:6] == ("size", "size", "count", "colour", "colour", "colour")
    assert encoder.feature_columns[-1] == "when"


def test_blocks_are_fitted_as_the_whole_is(tmp_path):
    frame = frame_of(90).assign(
        price=[f"{1000 + 7 * i:,}" for i in range(90)], day=pd.date_range("2020-01-01", periods=90).astype(str)
    )
    frame.loc[50:, "size"] = np.nan
    whole, parts = TableFitter("kind"), TableFitter("kind")
    whole.observe(frame)
    for start in range(0, 90, 20):
        parts.observe(frame.iloc[start : start + 20])
    assert parts.finish() == whole.finish()


def test_a_model_of_an_earlier_version_reads_as_it_did(tmp_path):
    stored = {
        "columns": [
            {"name": "size", "kind": "numeric", "levels": []},
            {"name": "colour", "kind": "categorical", "levels": ["blue", "green", "red"]},
            {"name": "open", "kind": "boolean", "levels": []},
        ],
        "target": "kind",
        "class_names": ["cat", "dog"],
    }
    encoder, frame = TableEncoder.from_dict(stored), frame_of()
    X, y = read_labelled(write(frame, tmp_path / "t.csv"), encoder)
    np.testing.assert_array_equal(X[:, 0], frame["size"])
    np.testing.assert_array_equal(X[:, 3], frame["colour"] == "red")
    np.testing.assert_array_equal(X[:, 4], frame["open"])
    assert y.tolist() == (frame["kind"] == "dog").astype(int).tolist()
    with pytest.raises(GpcnoiseError, match=r"unseen level 'mauve' in row 1 \(line 2\), column 'colour'; .*'blue'"):
        read_features(write(frame.assign(colour="mauve"), tmp_path / "n.csv"), encoder)
    with pytest.raises(GpcnoiseError, match=r"missing value in row 1 \(line 2\), column 'size'"):
        read_features(write(frame.assign(size=np.nan), tmp_path / "n.csv"), encoder)


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
            "step": [0.0, 1.0] * 6,
            "level": [levels[i % len(levels)] for i in range(12)],
            "flag": [i % 3 == 0 for i in range(12)],
            "target": [names[i % 2] for i in range(12)],
        }
    )
    encoder = TableEncoder.from_dict(json.loads(json.dumps(fit_encoder(frame, "target").to_dict())))
    X = encoder.encode(frame[[*order, "step"]])
    recorded = next(column.levels for column in encoder.columns if column.name == "level")
    of_levels = [index for index, name in enumerate(encoder.feature_columns) if name == "level"]
    assert [recorded[row.argmax()] for row in X[:, of_levels]] == frame["level"].tolist()
    if "number" in encoder.feature_columns:  # not a constant, not a row number
        np.testing.assert_array_equal(X[:, encoder.feature_names.index("number")], numbers)
    assert [encoder.class_names[c] for c in encoder.encode_labels(frame["target"])] == frame["target"].tolist()
