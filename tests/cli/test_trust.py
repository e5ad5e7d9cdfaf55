"""How far predictions can be trusted: cross-validation, prediction sets, far rows, calibration and costs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import betabinom

Cli = Callable[..., Any]
Trained = Callable[..., Any]
Refused = Callable[..., None]
CLASSES = ["p(bad)", "p(so, so)", "p(very good)"]


@pytest.fixture
def folds(trained: Trained, tables: Any) -> Any:
    return trained(tables.three, "--folds", "3")


@pytest.fixture
def kept(trained: Trained, tables: Any) -> Any:
    """A run with 36 of 144 training rows kept for calibration."""
    return trained(tables.three, "--calibration-rows", "0.25")


@pytest.fixture
def alone(trained: Trained, tables: Any) -> Any:
    return trained(tables.three, "--likelihood", "softmax")


def predicted(cli: Cli, run: Any, data: Path, *options: str) -> pd.DataFrame:
    outcome = cli("predict", run.path, "--data", data, *options)
    assert outcome.code == 0, outcome.stderr
    return pd.read_csv(io.StringIO(outcome.stdout))


def test_every_row_is_predicted_once_by_a_model_that_has_not_seen_it(folds: Any, tables: Any) -> None:
    table, result = pd.read_csv(folds.path / "out-of-fold.csv"), folds.result
    assert list(table.columns) == ["row", "fold", "observed", "class", *CLASSES]
    assert table["row"].tolist() == list(range(1, 161))
    assert table["observed"].tolist() == pd.read_csv(tables.three)["kind"].tolist()
    assert table["fold"].value_counts().tolist() == [54, 53, 53]
    by_fold = (100 * (table["class"] == table["observed"])).groupby(table["fold"]).mean()
    assert result["acc"] == pytest.approx(by_fold.mean())
    assert result["standard_errors"]["acc"] == pytest.approx(by_fold.std(ddof=1) / np.sqrt(3))
    assert [fold["acc"] for fold in result["folds"]] == pytest.approx(by_fold.tolist())
    assert (result["scored_on"], result["n_train"], result["n_test"]) == ("out-of-fold rows", 160, 160)


def test_the_model_of_a_cross_validation_is_of_all_rows(cli: Cli, folds: Any, tables: Any) -> None:
    assert len(predicted(cli, folds, tables.three)) == 160
    assert not (folds.path / "fold-1" / "model.npz").exists()
    outcome = cli("evaluate", folds.path, "--json")
    assert outcome.code == 0, outcome.stderr
    scored = json.loads(outcome.stdout)
    assert (scored["rows"], scored["n"]) == ("out-of-fold rows", 160)
    assert 0 < scored["nll"] < 2


def test_a_finished_cross_validation_is_not_computed_again(cli: Cli, folds: Any) -> None:
    outcome = cli("train", "--resume", folds.path, "--json")
    assert "finished already" in outcome.stderr
    assert json.loads(outcome.stdout)["acc"] == folds.result["acc"]


@pytest.mark.slow
def test_an_interrupted_cross_validation_goes_on_where_it_stopped(
    cli: Cli, folds: Any, tables: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked to stop in its second fold: the first is kept, and the end is that of a run that was never stopped."""
    from gpcnoise_cli.cli.progress import PlainProgress

    out, seen = tmp_path / "run", list[str]()

    def stop_in_the_second(self: Any, text: str) -> None:
        seen.append(text)
        if text.startswith("fold 2 of 3"):
            import signal

            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(PlainProgress, "message", stop_in_the_second)
        config = ["--data", tables.three, "--target", "kind", "-m", "12", "--iterations", "8", "--batch-size", "32"]
        outcome = cli("train", *config, "--folds", "3", "--out", out)
    assert outcome.code == 130
    assert f"gpcnoise train --resume {out}" in outcome.stderr
    assert (out / "fold-1" / "metrics.json").exists()
    assert not (out / "fold-2" / "metrics.json").exists()
    before = (out / "fold-1" / "held_out.npz").stat().st_mtime_ns
    outcome = cli("train", "--resume", out, "--json")
    assert outcome.code == 0, outcome.stderr
    assert (out / "fold-1" / "held_out.npz").stat().st_mtime_ns == before
    result = json.loads(outcome.stdout)
    assert (result["acc"], result["nll"]) == (folds.result["acc"], folds.result["nll"])


def test_all_rows_without_a_test_have_no_scores_and_say_so(cli: Cli, tables: Any, tmp_path: Path) -> None:
    config = ["--data", tables.two, "--target", "kind", "-m", "6", "--iterations", "2"]
    outcome = cli("train", *config, "dataset.test_fraction=0", "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.stderr
    assert "160 training rows, 0 test rows" in outcome.stdout
    assert "there are no scores: dataset.test_fraction=0" in outcome.stderr
    result = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (result["acc"], result["nll"], result["n_train"], result["n_test"]) == (None, None, 160, 0)
    outcome = cli("evaluate", tmp_path / "run")
    assert (outcome.code, "no test rows" in outcome.stderr) == (1, True)
    assert cli("report", tmp_path / "run").code == 0
    assert "kept no rows to be tested on" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert cli("evaluate", tmp_path / "run", "--data", tables.two).code == 0


def test_sets_hold_the_most_probable_class_and_others_that_may_be_it(cli: Cli, kept: Any, tables: Any) -> None:
    table = predicted(cli, kept, tables.three, "--sets", "0.8")
    assert list(table.columns) == ["class", *CLASSES, "set"]
    sets = table["set"].str.split("|")
    assert all(name in names for name, names in zip(table["class"], sets, strict=True))
    p = table.rename(columns=lambda name: name.removeprefix("p(").removesuffix(")"))
    several = [p.at[row, name] for row, names in sets.items() if len(names) > 1 for name in names]
    left_out = [p.at[row, name] for row, names in sets.items() for name in set(p.columns[1:4]) - set(names)]
    assert max(left_out) < min(several)
    assert table["set"].str.contains("|", regex=False).any()


def test_sets_cover_on_fresh_rows_what_they_promise(
    cli: Cli, kept: Any, new_rows: Callable[..., pd.DataFrame], tmp_path: Path
) -> None:
    """Hits on new rows are beta-binomial where m held-out rows set the threshold; sets never left empty add some."""
    new_rows(n=600, seed=5).to_csv(tmp_path / "fresh.csv", index=False)
    outcome = cli("evaluate", kept.path, "--data", tmp_path / "fresh.csv", "--sets", "0.9", "--json")
    assert outcome.code == 0, outcome.stderr
    found = json.loads(outcome.stdout)["sets"]
    m, k = 36, int(np.ceil(37 * 0.9))
    assert found["level"] == 0.9
    assert 600 * found["coverage"] >= betabinom.ppf(1e-4, 600, k, m + 1 - k)
    assert found["low"] < found["coverage"] < found["high"]
    assert 1.0 <= found["mean_size"] < 3.0


def test_far_rows_are_flagged_and_those_like_the_training_rows_are_not(
    cli: Cli, kept: Any, tables: Any, tmp_path: Path
) -> None:
    usual = predicted(cli, kept, tables.three, "--flag-far")
    assert usual["far"].mean() < 0.1
    far = pd.read_csv(tables.three).assign(height=lambda table: table["height"] + 40.0)
    far.to_csv(tmp_path / "far.csv", index=False)
    assert predicted(cli, kept, tmp_path / "far.csv", "--flag-far")["far"].all()


@pytest.mark.parametrize("way", ["beta", "venn-abers"])
def test_calibrated_probabilities_are_said_to_be_so(cli: Cli, kept: Any, tables: Any, way: str) -> None:
    outcome = cli("evaluate", kept.path, "--calibrate", way, "--json")
    assert outcome.code == 0, outcome.stderr
    result = json.loads(outcome.stdout)
    assert result["calibrated"]["by"] == way
    assert result["nll"] != result["calibrated"]["before"]["nll"] == pytest.approx(kept.result["nll"], abs=1e-4)
    assert "36 calibration rows" in result["notes"][0]
    table = predicted(cli, kept, tables.three, "--calibrate", way)
    np.testing.assert_allclose(table[CLASSES].sum(axis=1), 1.0, atol=1e-6)


def test_decisions_by_cost(cli: Cli, alone: Any, tables: Any) -> None:
    costs = '{"bad": {"so, so": 1, "very good": 9, "ask": 0.5}, "so, so": {"bad": 1, "very good": 1, "ask": 0.5}, '
    costs += '"very good": {"bad": 1, "so, so": 1, "ask": 0.5}}'
    table = predicted(cli, alone, tables.three, "--costs", costs)
    p = table[CLASSES].to_numpy()
    expected = np.stack([p[:, 1] + p[:, 2], p[:, 0] + p[:, 2], 9 * p[:, 0] + p[:, 1], 0.5 * np.ones(len(p))], axis=1)
    names = np.array(["bad", "so, so", "very good", "ask"])
    assert (table["decision"] == names[expected.argmin(axis=1)]).all()
    np.testing.assert_allclose(table["expected_cost"], expected.min(axis=1), atol=1e-6)
    outcome = cli("evaluate", alone.path, "--costs", costs)
    assert outcome.code == 0, outcome.stderr
    assert "the most probable class" in outcome.stdout
    assert "ask" in outcome.stdout


def test_everything_at_once_in_parquet(cli: Cli, kept: Any, tables: Any, tmp_path: Path) -> None:
    options = (
        "--sets",
        "0.9",
        "--flag-far",
        "--calibrate",
        "beta",
        "--costs",
        '{"bad": 5, "so, so": 1, "very good": 1}',
    )
    expected = predicted(cli, kept, tables.three, *options)
    outcome = cli("predict", kept.path, "--data", tables.three, *options, "--out", tmp_path / "p.parquet")
    assert outcome.code == 0, outcome.stderr
    assert "sets of level 0.9 by 36 calibration rows" in outcome.stderr
    table = pd.read_parquet(tmp_path / "p.parquet")
    assert list(table.columns) == ["class", *CLASSES, "set", "far", "decision", "expected_cost"]
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)
    outcome = cli("evaluate", kept.path, *options)
    assert outcome.code == 0, outcome.stderr
    for words in ("coverage %", "mean size", "far", "as the model gives them", "mean cost"):
        assert words in outcome.stdout


def leaves(found: Any) -> list[float]:
    """The numbers in what JSON holds."""
    if isinstance(found, dict | list):
        return [leaf for one in (found.values() if isinstance(found, dict) else found) for leaf in leaves(one)]
    return [float(found)] if isinstance(found, int | float) else []


def test_a_table_is_judged_alike_in_one_block_and_in_several(
    cli: Cli, kept: Any, tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = '{"bad": 5, "so, so": 1, "very good": 1}'
    asked = ("--sets", "0.9", "--calibrate", "beta", "--flag-far", "--costs", costs, "--json")
    whole = json.loads(cli("evaluate", kept.path, "--data", tables.three, *asked).stdout)
    monkeypatch.setattr("gpcnoise_cli.data.table.BLOCK_ROWS", 7)
    parts = json.loads(cli("evaluate", kept.path, "--data", tables.three, *asked).stdout)
    assert parts["n"] == whole["n"]
    for key in ("sets", "calibrated", "far", "costs", "nll", "acc"):
        assert leaves(parts[key]) == pytest.approx(leaves(whole[key]))


def test_what_is_learned_from_held_out_rows_needs_some(refused: Refused, alone: Any, folds: Any, tables: Any) -> None:
    for option in (("--sets", "0.9"), ("--flag-far",), ("--calibrate", "beta")):
        refused(1, [option[0], "--calibration-rows", "--folds"], "predict", alone.path, "--data", tables.three, *option)
    refused(2, ["--sets", "out-of-fold rows", "--data FILE"], "evaluate", folds.path, "--sets", "0.9")


def test_what_cannot_be_meant_is_told_at_once(refused: Refused, alone: Any, tables: Any) -> None:
    predict = ("predict", alone.path, "--data", tables.three)
    refused(2, ["between 0 and 1", "90"], *predict, "--sets", "90")
    refused(2, ["isotonic", "beta"], *predict, "--calibrate", "isotonic")
    refused(2, ["'good'"], *predict, "--costs", '{"good": 1}')
    data = ("--data", tables.three, "--target", "kind")
    refused(2, ["folds", "at least 2"], "train", *data, "--folds", "1")
    refused(2, ["--folds"], "train", *data, "--folds", "161")
    refused(2, ["omit dataset.calibration"], "train", *data, "--folds", "5", "--calibration-rows", "0.1")
    refused(2, ["dataset.calibration", "less than 1"], "train", *data, "--calibration-rows", "20")


def test_a_damaged_file_of_held_out_rows_is_told(refused: Refused, kept: Any, tables: Any, tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(kept.path, tmp_path / "copy")
    (copy / "held_out.npz").write_bytes(b"PK\x03\x04 nothing")
    refused(1, ["held_out.npz is damaged"], "predict", copy, "--data", tables.three, "--sets", "0.9")


def test_a_cross_validation_has_a_page(cli: Cli, folds: Any) -> None:
    assert cli("report", folds.path).code == 0
    page = (folds.path / "report.html").read_text(encoding="utf-8")
    assert "off that group of out-of-fold rows is" in page
    assert f"<dd>{folds.result['acc']:.2f} ± {folds.result['standard_errors']['acc']:.2f}</dd>" in page
    assert cli("plot", folds.path).code == 0


def test_a_column_of_weights_counts_rows_and_is_no_feature(
    cli: Cli, refused: Refused, tables: Any, tmp_path: Path
) -> None:
    table = pd.read_csv(tables.two).assign(times=np.tile([1, 2, 0, 1], 40))
    table.to_csv(tmp_path / "weighted.csv", index=False)
    table.loc[table.index.repeat(table["times"])].drop(columns="times").to_csv(tmp_path / "repeated.csv", index=False)
    common = ("--target", "kind", "-m", "6", "--iterations", "2", "dataset.test_fraction=0")
    found = {}
    for name, options in (("weighted", ("--weights", "times")), ("repeated", ())):
        data, out = tmp_path / f"{name}.csv", tmp_path / name
        outcome = cli("train", "--data", data, *common, *options, "--out", out, "--json")
        assert outcome.code == 0, outcome.stderr
        found[name] = (json.loads(outcome.stdout), json.loads((out / "model.json").read_text()))
    (result, model), (_, repeated) = found["weighted"], found["repeated"]
    assert (result["n_train"], result["total_weight"], result["d"]) == (120, 160.0, 2)
    np.testing.assert_allclose(model["scaler"]["mean"], repeated["scaler"]["mean"], rtol=1e-12)
    np.testing.assert_allclose(model["scaler"]["scale"], repeated["scaler"]["scale"], rtol=1e-12)
    assert cli("predict", tmp_path / "weighted", "--data", tables.two).code == 0
    refused(2, ["'time'", "times"], "train", "--data", tmp_path / "weighted.csv", *common, "--weights", "time")
    table.assign(times="much").to_csv(tmp_path / "bad.csv", index=False)
    refused(1, ["'much' is no weight", "row 1"], "train", "--data", tmp_path / "bad.csv", *common, "--weights", "times")


def test_class_weights_shift_the_predictions(cli: Cli, trained: Trained, tables: Any, refused: Refused) -> None:
    plain = trained(tables.three, "--likelihood", "softmax")
    heavy = trained(tables.three, "--likelihood", "softmax", "--class-weight", '{"bad": 20}')
    assert heavy.result["total_weight"] > heavy.result["n_train"]
    shares = [predicted(cli, run, tables.three)["p(bad)"].mean() for run in (plain, heavy)]
    assert shares[1] > shares[0] + 0.05
    outcome = cli("evaluate", heavy.path, "--json")  # its own test rows are known again
    assert outcome.code == 0, outcome.stderr
    data = ("--data", tables.three, "--target", "kind")
    refused(2, ["'good'", "bad"], "train", *data, "--class-weight", '{"good": 2}')
    refused(2, ["method=selu knows no weights"], "train", *data, "--method", "selu", "--class-weight", "balanced")
