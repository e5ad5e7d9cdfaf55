"""`gpcnoise predict`: the right names and numbers, in any format, for any order of columns and any number of rows."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpcnoise_cli.runs import trained as trained_module
from gpcnoise_cli.runs.prediction_file import formula_like

Cli = Callable[..., Any]
Trained = Callable[..., Any]

PRECISIONS = {
    "mixed": ("--likelihood", "softmax"),
    "float64": ("--likelihood", "probit", "--kernel", "matern32", "--ard", "--delta", "free", "--precision", "float64"),
    "float32": ("--likelihood", "logit", "kernel.shared=false", "--precision", "float32", "optimizer=adam"),
}


@pytest.fixture
def run(trained: Trained, tables: Any) -> Path:
    """The folder of a model of the three-class table."""
    return trained(tables.three, "--likelihood", "softmax").path


PRINTED: dict[tuple[Path, Path], pd.DataFrame] = {}


def printed(cli: Cli, run_dir: Path, data: Path) -> pd.DataFrame:
    """What `predict` writes to standard output; asked for once per model and table."""
    if (run_dir, data) not in PRINTED:
        outcome = cli("predict", run_dir, "--data", data)
        assert (outcome.code, outcome.stderr) == (0, "")
        PRINTED[run_dir, data] = pd.read_csv(io.StringIO(outcome.stdout), float_precision="round_trip")
    return PRINTED[run_dir, data]


def test_one_probability_per_class_by_its_own_name(cli: Cli, run: Path, tables: Any) -> None:
    table = printed(cli, run, tables.three)
    columns = ["p(bad)", "p(so, so)", "p(very good)"]
    assert list(table.columns) == ["class", *columns]
    assert len(table) == 160
    np.testing.assert_allclose(table[columns].sum(axis=1), 1.0, atol=1e-6)
    assert (table[columns].idxmax(axis=1) == "p(" + table["class"] + ")").all()


@pytest.mark.parametrize(
    "precision", ["mixed", *(pytest.param(name, marks=pytest.mark.slow) for name in PRECISIONS if name != "mixed")]
)
def test_a_saved_model_predicts_what_the_trained_one_did(
    cli: Cli, trained: Trained, tables: Any, precision: str
) -> None:
    run = trained(tables.three, *PRECISIONS[precision])
    assert run.result["precision"] == precision
    from gpcnoise_cli.data.table import read_features
    from gpcnoise_cli.evaluation.metrics import evaluate
    from gpcnoise_cli.methods.trained_model import TrainedModel
    from gpcnoise_cli.runs.train import load_data

    model = TrainedModel.load(run.path)
    split = load_data(model.config)
    assert evaluate(model.classifier.predict(split.X_test), split.y_test).nll == run.result["nll"]
    assert evaluate(model.predict_scaled(split.X_test), split.y_test).nll == pytest.approx(run.result["nll"], abs=1e-5)
    expected = model.predict_probabilities(read_features(tables.three, model.encoder))
    np.testing.assert_array_equal(printed(cli, run.path, tables.three).iloc[:, 1:].to_numpy(), expected)


def test_the_order_of_columns_does_not_matter(cli: Cli, run: Path, tables: Any, tmp_path: Path) -> None:
    expected = printed(cli, run, tables.three)
    read = pd.read_csv(tables.three, float_precision="round_trip")
    reordered = read[["old", "weight", "colour", "height"]].assign(unheard_of="x")
    reordered.to_csv(tmp_path / "reordered.csv", index=False)
    pd.testing.assert_frame_equal(printed(cli, run, tmp_path / "reordered.csv"), expected, check_exact=True)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_every_format_holds_the_same_table(cli: Cli, run: Path, tables: Any, tmp_path: Path, ending: str) -> None:
    expected = printed(cli, run, tables.three)
    out = tmp_path / f"out.{ending}"
    outcome = cli("predict", run, "--data", tables.three, "--out", out)
    assert (outcome.code, outcome.stdout) == (0, "")
    assert f"saved in {out}" in outcome.stderr
    if ending == "parquet":
        found = pd.read_parquet(out)
    else:
        found = pd.read_csv(out, sep="\t" if ending == "tsv" else ",", float_precision="round_trip")
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [out.name]


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet"])
def test_a_long_table_goes_through_in_blocks(
    cli: Cli, run: Path, tables: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    expected = printed(cli, run, tables.three)
    source = tmp_path / "in.parquet" if ending == "parquet" else tables.three
    if ending == "parquet":
        pd.read_csv(tables.three).to_parquet(source)
    monkeypatch.setattr(trained_module, "BLOCK_ROWS", 37)
    out = tmp_path / f"out.{ending}"
    assert cli("predict", run, "--data", source, "--out", out).code == 0
    if ending == "parquet":
        found = pd.read_parquet(out)
    else:
        found = pd.read_csv(out, sep="\t" if "tsv" in ending else ",", float_precision="round_trip")
    assert found["class"].equals(expected["class"])
    numbers = [column for column in expected if column != "class"]
    np.testing.assert_allclose(found[numbers], expected[numbers], atol=1e-6)


def test_a_bad_cell_of_a_later_block_is_named_by_its_row(
    refused: Callable[..., None], run: Path, tables: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pd.read_csv(tables.three).astype({"height": object})
    table.loc[[120, 150], "height"] = "tall"
    table.to_csv(tmp_path / "junk.csv", index=False)
    monkeypatch.setattr(trained_module, "BLOCK_ROWS", 50)
    out = tmp_path / "out.csv"
    words = ["junk.csv", "'tall' is not a number", "row 121", "line 122", "'height'"]
    refused(1, words, "predict", run, "--data", tmp_path / "junk.csv", "--out", out)
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["junk.csv"]


@pytest.mark.parametrize(
    ("table", "names", "kind"), [("whole", [3, 10, 20], "int64"), ("flags", [False, True], "bool")]
)
def test_class_names_keep_their_type(
    cli: Cli, trained: Trained, tables: Any, tmp_path: Path, table: str, names: list[Any], kind: str
) -> None:
    run = trained(getattr(tables, table))
    text = printed(cli, run.path, getattr(tables, table))
    out = tmp_path / "out.parquet"
    assert cli("predict", run.path, "--data", getattr(tables, table), "--out", out).code == 0
    typed = pd.read_parquet(out)
    for found in (text, typed):
        assert list(found.columns) == ["class", *(f"p({name})" for name in names)]
        assert found["class"].dtype.name == kind
        assert set(found["class"]) <= set(names)
    pd.testing.assert_frame_equal(typed, text, check_exact=True)


def test_json_describes_the_file(cli: Cli, run: Path, tables: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    outcome = cli("predict", run, "--data", tables.three, "--out", out, "--json")
    assert outcome.code == 0
    assert outcome.stdout.count("\n") == 1
    said = json.loads(outcome.stdout)
    found = pd.read_csv(out)["class"].value_counts()
    assert said["rows"] == 160
    assert said["classes"] == [
        {"class": name, "rows": int(found.get(name, 0))} for name in ("bad", "so, so", "very good")
    ]


def test_an_existing_file_is_only_replaced_by_force(
    cli: Cli, refused: Callable[..., None], run: Path, tables: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    out.write_text("precious")
    command = ["predict", run, "--data", tables.three, "--out", out]
    refused(2, [str(out), "exists already", "--force"], *command)
    assert out.read_text() == "precious"
    assert cli(*command, "--force").code == 0
    assert out.read_text().startswith("class,p(bad)")


def test_a_registered_set_wants_its_features_by_name(cli: Cli, refused: Callable[..., None], tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ["train", "--dataset", "three-class", "-m", 10, "--iterations", 2, "--json", "--out", run]
    result = json.loads(cli(*command).stdout)
    assert (result["dataset"], result["source"], result["classes"]) == ("three-class", "generated", 3)
    names = json.loads((run / "model.json").read_text())["encoder"]["columns"]
    features = [column["name"] for column in names]
    rows = pd.DataFrame(np.random.default_rng(0).random((20, len(features))), columns=features)
    rows.to_csv(tmp_path / "new.csv", index=False)
    assert len(printed(cli, run, tmp_path / "new.csv")) == 20
    rows.drop(columns=features[0]).to_csv(tmp_path / "short.csv", index=False)
    refused(1, ["short.csv", f"missing column {features[0]!r}"], "predict", run, "--data", tmp_path / "short.csv")


def test_gaps_and_unknown_levels_are_filled_pooled_and_said(cli: Cli, run: Path, tables: Any, tmp_path: Path) -> None:
    table = pd.read_csv(tables.three).assign(weight=np.nan, colour="green")
    table.to_csv(tmp_path / "new.csv", index=False)
    outcome = cli("predict", run, "--data", tmp_path / "new.csv")
    assert outcome.code == 0
    assert outcome.stderr.splitlines() == [
        "missing values filled as in training: 'weight' (160).",
        "column 'colour': 160 values of rare or unknown levels ('green') pooled.",
    ]
    outcome = cli("evaluate", run, "--data", tmp_path / "new.csv", "--json")
    assert json.loads(outcome.stdout)["n"] == 160
    assert "'weight' (160)" in outcome.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_are_carried_along(cli: Cli, run: Path, tables: Any, tmp_path: Path, ending: str) -> None:
    table = pd.read_csv(tables.three).assign(id=[f"00{i}" for i in range(160)])
    table.to_csv(tmp_path / "new.csv", index=False, sep=";")
    out = tmp_path / f"out.{ending}"
    assert cli("predict", run, "--data", tmp_path / "new.csv", "--keep", "id", "--out", out).code == 0
    found = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(out, dtype={"id": str})
    assert list(found.columns)[:2] == ["id", "class"]
    assert found["id"].tolist() == table["id"].tolist()
    assert found["class"].tolist() == printed(cli, run, tables.three)["class"].tolist()


def test_a_column_to_keep_must_be_there_and_have_a_name_of_its_own(
    refused: Callable[..., None], run: Path, tables: Any, tmp_path: Path
) -> None:
    refused(2, ["no column 'idd'"], "predict", run, "--data", tables.three, "--keep", "idd")
    pd.read_csv(tables.three).assign(**{"class": 1}).to_csv(tmp_path / "n.csv", index=False)
    refused(1, ["kept column 'class'"], "predict", run, "--data", tmp_path / "n.csv", "--keep", "class")


def test_rows_come_from_standard_input(cli: Cli, run: Path, tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(tables.three.read_bytes())))
    outcome = cli("predict", run, "--data", "-")
    found = pd.read_csv(io.StringIO(outcome.stdout), float_precision="round_trip")
    pd.testing.assert_frame_equal(found, printed(cli, run, tables.three))


def test_a_model_saved_before_there_was_a_policy_predicts_as_it_did(
    cli: Cli, refused: Callable[..., None], run: Path, tables: Any, tmp_path: Path
) -> None:
    old = Path(shutil.copytree(run, tmp_path / "old"))
    description = json.loads((old / "model.json").read_text())
    encoder = description["encoder"]
    encoder["columns"] = [{key: one[key] for key in ("name", "kind", "levels")} for one in encoder["columns"]]
    del encoder["markers"], encoder["kept"]
    (old / "model.json").write_text(json.dumps(description))
    pd.testing.assert_frame_equal(printed(cli, old, tables.three), printed(cli, run, tables.three))
    assert cli("evaluate", old).code == 0
    pd.read_csv(tables.three).assign(colour="green").to_csv(tmp_path / "new.csv", index=False)
    refused(1, ["unseen level 'green'", "row 1"], "predict", old, "--data", tmp_path / "new.csv")


def test_a_class_that_a_spreadsheet_takes_for_a_formula_is_said_and_comes_back_to_the_letter(
    cli: Cli, trained: Trained, tmp_path_factory: pytest.TempPathFactory, tables: Any
) -> None:
    table = pd.read_csv(tables.two)
    table["kind"] = table["kind"].map({"yes": "=1+1", "no thanks": "-1"})
    path = tmp_path_factory.mktemp("spreadsheet") / "t.csv"
    table.to_csv(path, index=False)
    run = trained(path).path
    code, stdout, stderr = cli("predict", run, "--data", path)
    assert code == 0
    assert stderr == "a spreadsheet would take '=1+1' for a formula; import the column `class` as text there.\n"
    assert {line.split(",")[0] for line in stdout.splitlines()[1:]} == {"=1+1", "-1"}
    assert "formula" not in cli("predict", run, "--data", path, "--out", path.with_suffix(".parquet")).stderr


@pytest.mark.parametrize(
    ("names", "found"),
    [(("=1", "+x", "-cmd", "@a", " =2"), 5), (("-1", "+1e3", "-inf", "a=b", "x", 3, True, -2.5), 0)],
)
def test_which_names_look_like_formulas(names: tuple[Any, ...], found: int) -> None:
    assert len(formula_like(names)) == found
