"""What users get wrong: answered by one sentence that names the value, with the right exit code, leaving nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

Refused = Callable[..., None]
Trained = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dataset", "wavefrom"], ["'wavefrom'", "waveform"]),
        (["--likelihood", "sofmax"], ["'sofmax'", "softmax"]),
        (["--kernel", "rbff"], ["'rbff'", "rbf"]),
        (["--preset", "quick"], ["'quick'", "fast"]),
        (["optimizer.learning_rat=0.1"], ["optimizer.learning_rat", "optimizer.learning_rate"]),
        (["optimizer.learning_rate=fast"], ["optimizer.learning_rate", "fast"]),
        (["--delta", "best"], ["'best'", "optimal"]),
        (["delta.value=-0.1"], ["delta.value", "-0.1"]),
        (["--precision", "half"], ["runtime.precision", "'half'", "float64"]),
        (["--device", "tpu"], ["runtime.device", "'tpu'", "gpu"]),
        (["--devices", "0"], ["runtime.devices", "'0'", "or all"]),
        (["--devices", "99", "-m", "5"], ["runtime.devices=99", "TensorFlow sees", "CPU"]),
        (["--iterations", "0"], ["iterations", "0"]),
        (["--batch-size", "-5"], ["batch_size", "-5"]),
        (["-m", "many"], ["inducing", "many"]),
        (["--data", "t.csv"], ["--target"]),
        (["--target", "kind"], ["--data", "'kind'"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_wrong_option(refused: Refused, own_folder: Path, arguments: list[str], words: list[str]) -> None:
    refused(2, words, "train", *arguments)
    assert list(own_folder.iterdir()) == []


def _table(**columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    base = {"x": rng.normal(size=40), "z": rng.normal(size=40), "kind": np.resize(["a", "b"], 40)}
    return pd.DataFrame({**base, **columns})


def _with(column: str, row: int, value: Any) -> pd.DataFrame:
    table = _table()
    table[column] = table[column].astype(object)
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "code", "words"),
    [
        (_table().drop(columns="kind"), 2, ["no target column 'kind'", "x, z"]),
        (_with("kind", 7, "once"), 1, ["class 'once'", "single row"]),
        (_table(kind="a"), 1, ["single class, 'a'"]),
        (_with("x", 7, "junk"), 1, ["'junk' is not a number", "row 8", "line 9", "'x'"]),
        (_with("z", 3, np.inf), 1, ["infinite value", "row 4", "'z'"]),
        (_table(kind=None), 1, ["target column 'kind' has no value in any row"]),
        (_table().iloc[:0], 1, ["header but no rows"]),
        (_table()[["kind"]], 1, ["no column besides the target 'kind'"]),
    ],
    ids=["no target", "one row", "one class", "junk", "inf", "no class", "no rows", "no features"],
)
def test_a_table_that_cannot_be_learned_from(
    refused: Refused, own_folder: Path, tmp_path: Path, table: pd.DataFrame, code: int, words: list[str]
) -> None:
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    refused(code, words, "train", "--data", path, "--target", "kind", "-m", 5, "--iterations", 1)
    assert list(own_folder.iterdir()) == []


def test_an_empty_file(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "t.csv").touch()
    refused(1, ["t.csv", "empty"], "train", "--data", tmp_path / "t.csv", "--target", "kind")


def test_no_file(refused: Refused, tmp_path: Path) -> None:
    refused(2, ["no file", "t.csv"], "train", "--data", tmp_path / "t.csv", "--target", "kind")


def test_a_file_of_another_kind(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    refused(1, ["t.xlsx", "not a readable Excel file"], "train", "--data", tmp_path / "t.xlsx", "--target", "kind")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--treat", "x"], ["--treat takes COLUMN=KIND", "'x'"]),
        (["--treat", "x=numbr"], ["did you mean x=number?"]),
        (["--treat", "y=number"], ["no column 'y'"]),
        (["--drop", "kind"], ["'kind' is the target"]),
        (["--missing", "ignore"], ["dataset.missing", "impute or refuse", "'ignore'"]),
        (["--columns", "none.yaml"], ["no file", "none.yaml"]),
        (["--sep", "::"], ["--sep", "'::'"]),
        (["--encoding", "latin9000"], ["no encoding 'latin9000'"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_treatment_that_cannot_be_meant(
    refused: Refused, own_folder: Path, tmp_path: Path, options: list[str], words: list[str]
) -> None:
    _table().to_csv(tmp_path / "t.csv", index=False)
    refused(2, words, "train", "--data", tmp_path / "t.csv", "--target", "kind", *options)
    assert list(own_folder.iterdir()) == []


def test_a_treatment_without_a_table(refused: Refused) -> None:
    refused(2, ["dataset.drop", "--data FILE"], "train", "--drop", "x")


def test_missing_values_where_they_are_refused(refused: Refused, tmp_path: Path) -> None:
    _with("z", 3, None).to_csv(tmp_path / "t.csv", index=False)
    command = ["train", "--data", tmp_path / "t.csv", "--target", "kind", "--missing", "refuse"]
    refused(1, ["missing value", "row 4", "line 5", "'z'", "--missing impute"], *command)


def test_more_inducing_points_than_rows(refused: Refused, own_folder: Path, tables: Any) -> None:
    command = ["train", "--data", tables.two, "--target", "kind", "-m", 500, "--out", "run"]
    refused(2, ["500 inducing points", "144 training rows", "--inducing 144"], *command)
    assert list(own_folder.iterdir()) == []


def test_a_folder_that_cannot_be_made(refused: Refused, tables: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "run"
    command = ["train", "--data", tables.two, "--target", "kind", "-m", 5, "--out", out]
    refused(1, [str(out), "cannot write to the run folder", "--out"], *command)


def test_runs_cannot_be_made(refused: Refused, own_folder: Path, tables: Any) -> None:
    (own_folder / "runs").touch()
    refused(1, ["runs/file-softmax-rbf-split0", "--out"], "train", "--data", tables.two, "--target", "kind", "-m", 5)


@pytest.fixture
def copy(trained: Trained, tables: Any, tmp_path: Path) -> Path:
    """A trained run that a test may damage."""
    return Path(shutil.copytree(trained(tables.three, "--likelihood", "softmax").path, tmp_path / "copy"))


def _flip_a_byte(run: Path) -> None:
    content = bytearray((run / "model.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (run / "model.npz").write_bytes(content)


def _cut(name: str) -> Callable[[Path], None]:
    return lambda run: (run / name).write_bytes((run / name).read_bytes()[:300]) and None


def _edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        description = json.loads((run / "model.json").read_text())
        change(description)
        (run / "model.json").write_text(json.dumps(description))

    return damage


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (_flip_a_byte, "model.npz does not have the recorded sha256"),
        (_cut("model.npz"), "model.npz does not have the recorded sha256"),
        (_cut("model.json"), "damaged"),
        (_edit(lambda description: description.pop("scaler")), "'scaler'"),
        (_edit(lambda description: description.update(d=3)), "do not fit together"),
        (_edit(lambda description: description.update(format=99)), "not of format 1"),
    ],
    ids=["byte flipped", "npz cut", "json cut", "key missing", "other shape", "other format"],
)
def test_a_damaged_model_is_refused(
    refused: Refused, copy: Path, tables: Any, damage: Callable[[Path], None], word: str
) -> None:
    damage(copy)
    words = [f"the model in {copy} is damaged", word]
    refused(1, words, "predict", copy, "--data", tables.three)
    refused(1, words, "evaluate", copy)


def test_a_model_without_its_parameters(refused: Refused, copy: Path, tables: Any) -> None:
    (copy / "model.npz").unlink()
    refused(1, [str(copy), "model.npz is missing"], "predict", copy, "--data", tables.three)


def test_damaged_metrics(refused: Refused, copy: Path) -> None:
    (copy / "metrics.json").write_text("{")
    refused(1, ["metrics.json", "damaged"], "train", "--resume", copy)


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_what_is_no_run(refused: Refused, tables: Any, tmp_path: Path, verb: str) -> None:
    refused(2, [str(tmp_path / "nowhere"), "no run folder"], verb, tmp_path / "nowhere", "--data", tables.three)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop(columns=["height", "old"]), ["missing columns 'height', 'old'"]),
        (lambda table: table.assign(old="perhaps"), ["'perhaps' is neither true nor false"]),
        (lambda table: table.assign(weight="heavy"), ["'heavy' is not a number", "row 1", "'weight'"]),
    ],
    ids=["missing columns", "no boolean", "no number"],
)
def test_new_rows_that_do_not_fit(
    refused: Refused, trained: Trained, tables: Any, tmp_path: Path, change: Callable[[Any], Any], words: list[str]
) -> None:
    run = trained(tables.three, "--likelihood", "softmax").path
    change(pd.read_csv(tables.three)).to_csv(tmp_path / "new.csv", index=False)
    refused(1, ["new.csv", *words], "predict", run, "--data", tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_where_predictions_cannot_go(refused: Refused, trained: Trained, tables: Any, tmp_path: Path) -> None:
    command = ["predict", trained(tables.three, "--likelihood", "softmax").path, "--data", tables.three]
    refused(2, ["'out.xlsx'", ".parquet"], *command, "--out", "out.xlsx")
    refused(2, ["nowhere/out.csv", "no folder 'nowhere'"], *command, "--out", "nowhere/out.csv")
    refused(2, ["--json", "--out FILE"], *command, "--json")
    refused(2, [str(tables.three), "--data reads"], *command, "--out", tables.three, "--force")
    refused(2, ["--data"], *command[:2])


@pytest.fixture
def no_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be told at once is told before ten seconds of imports."""
    monkeypatch.setattr("gpcnoise_cli.runtime.load_tensorflow", lambda: pytest.fail("TensorFlow was loaded"))


@pytest.mark.usefixtures("no_tensorflow")
@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["--out", "taken"], 2, "not empty"),
        (["--out", "taken/file/run"], 1, "cannot write to the run folder"),
        (["--out", "loop"], 1, "cannot write to the run folder"),
        (["-m", "500"], 2, "500 inducing points"),
        (["--likelihood", "logit_quadrature"], 2, "two classes"),
        (["runtime.threads=100000"], 2, "runtime.threads"),
        (["--out", "my run"], 2, "--resume 'my run'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_can_be_told_before_the_imports_is(
    refused: Refused, own_folder: Path, tables: Any, more: list[str], code: int, words: str
) -> None:
    for name in ("taken", "my run"):
        (own_folder / name).mkdir()
        (own_folder / name / "file").touch()
    (own_folder / "loop").symlink_to("loop")
    refused(code, [words], "train", "--data", tables.three, "--target", "kind", *more)


@pytest.mark.usefixtures("no_tensorflow")
def test_links_in_a_circle(refused: Refused, cli: Any, own_folder: Path) -> None:
    (own_folder / "one.csv").symlink_to("two.csv")
    (own_folder / "two.csv").symlink_to("one.csv")
    (own_folder / "loop").symlink_to("loop")
    refused(2, ["no file", "one.csv"], "train", "--data", "one.csv", "--target", "kind")
    refused(2, ["no file", "one.csv"], "sweep", "--data", "one.csv", "--target", "kind", "split=0,1")
    for verb in (["train", "--resume"], ["evaluate"], ["plot"], ["report"]):
        refused(2, ["loop"], *verb, "loop")
    for command in (
        ["reproduce", "uci", "--dry-run", "--splits", "0"],
        ["claims"],
        ["sweep", "split=0,1", "--dry-run"],
    ):
        assert "defect" not in cli(*command, "--results", "loop").stderr


@pytest.mark.usefixtures("no_tensorflow")
@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"acc": 1, "nll": 2, "method": []}'])
def test_a_damaged_result_of_a_finished_run(refused: Refused, own_folder: Path, content: str) -> None:
    from gpcnoise_cli.config.compose import compose, to_yaml

    run = own_folder / "my run"
    run.mkdir()
    (run / "config.yaml").write_text(to_yaml(compose()))
    (run / "metrics.json").write_text(content)
    words = ["metrics.json is damaged", "gpcnoise evaluate 'my run'"]
    refused(1, words, "train", "--resume", "my run")
    if len(content) < 10:  # what only `train` prints is not missed elsewhere
        refused(1, words, "plot", "my run", "my run")
        refused(1, words, "report", "my run", "--out", "page.html")


@pytest.mark.usefixtures("no_tensorflow")
def test_two_processes_in_one_run(refused: Refused, own_folder: Path) -> None:
    from gpcnoise_cli.config.compose import compose, to_yaml
    from gpcnoise_cli.runs.run_folder import RunFolder

    (own_folder / "config.yaml").write_text(to_yaml(compose()))
    with RunFolder(own_folder).claim():
        refused(1, ["another process is training in", str(own_folder)], "train", "--resume", own_folder)


def test_a_page_is_no_pdf(refused: Refused, own_folder: Path) -> None:
    (own_folder / "results").mkdir()
    for name in ("x.pdf", "x", "x.csv"):
        refused(2, [f"'{name}'", ".html"], "report", "results", "--out", name)
