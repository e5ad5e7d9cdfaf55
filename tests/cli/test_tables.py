"""`gpcnoise tables uci` from a folder of results."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.tables.published import published_figures
from gpcnoise_cli.tables.uci_figures import own_methods

Cli = Callable[..., Any]


def write_cells(folder: Path, protocol: str, kernel: str, splits: int, shift: float = 0.0) -> None:
    """The published figures as cells."""
    nll = published_figures("nll", kernel)
    for (dataset, method), acc in published_figures("acc", kernel).items():
        if method not in own_methods() or dataset == "miniboone":
            continue
        for split in range(splits):
            path = folder / protocol / kernel / dataset / own_methods()[method].name / f"split-{split:02d}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            wobble = 0.01 * (split - (splits - 1) / 2)
            record = {
                "digest": "x", "dataset": dataset, "method": method, "source": "archive", "preset": "paper",
                "acc": acc + shift + wobble, "nll": nll[dataset, method] + wobble, "split": split,
                "iterations": 10000, "inducing": 300, "batch_size": 1024,
            }  # fmt: skip
            path.write_text(json.dumps(record))


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "uci"
    write_cells(folder, "paper", "rbf", 3)
    write_cells(folder, "paper", "matern52+rbf", 1)
    write_cells(folder, "clean", "rbf", 1, shift=-5)
    (folder / "paper/rbf/adult/step/split-09.failed.json").write_text('{"reason": "x", "digest": "x"}')
    (folder / "paper/rbf/adult/step/split-08.json").write_text('{"torn')
    return folder


def test_all_tables_fit_120_columns_and_say_what_they_show(cli: Cli) -> None:
    code, stdout, stderr = cli("tables", "uci")
    assert (code, stderr) == (0, "")
    assert max(map(len, stdout.splitlines())) <= 120
    for words in ("(acc), rbf kernel", "(nll), rbf kernel", "Averages", "Average ranks by acc", "matern52+rbf kernel"):
        assert words in stdout
    assert "87.84±.01" in stdout
    assert "Friedman" in stdout
    assert "measured with preset paper, 10000 steps, m = 300, batch 1024." in stdout


def test_against_the_paper(cli: Cli) -> None:
    stdout = cli("tables", "uci", "--against", "paper", "--only", "acc").stdout
    magic = next(line for line in stdout.splitlines() if line.startswith("magic"))
    assert magic.split()[1:5] == ["leak", "99.89", "99.89", "+0.00"]


def test_protocols_next_to_each_other(cli: Cli) -> None:
    stdout = cli("tables", "uci", "--protocol", "paper,clean", "--only", "acc").stdout
    titles = [line for line in stdout.splitlines() if line.startswith("Classification")]
    assert [title.rpartition(", ")[2] for title in titles[:2]] == ["protocol paper", "protocol clean"]
    magic = [line for line in stdout.splitlines() if line.startswith("magic")][-1]
    assert magic.split()[2:5] == ["99.88", "94.89", "-4.99"], "split 0, the only one that both have"
    clean = next(line for line in stdout.splitlines()[30:] if line.startswith("magic"))
    assert clean.split()[2] == "10"  # one feature fewer: the row number


def test_presets_next_to_each_other(cli: Cli, tmp_path: Path) -> None:
    write_cells(tmp_path / "results/uci-fast", "paper", "rbf", 1, shift=2)
    magic = tmp_path / "results/uci-fast/paper/rbf/magic/step/split-00.json"
    magic.write_text(magic.read_text().replace('"acc": 101.89', '"acc": 99.39'))
    code, stdout, _ = cli("tables", "uci", "--preset", "paper,fast", "--only", "acc")
    assert code == 0
    assert max(map(len, stdout.splitlines())) <= 120
    magic_line, adult_line = (
        next(line for line in stdout.splitlines() if line.startswith(name)) for name in ("magic", "adult")
    )
    assert magic_line.split()[2:5] == ["99.88", "99.39", "-0.49"], "split 0, the only one that both have"
    assert adult_line.split()[3] == "+2.01"
    assert "fast minus paper: from -0.49 (magic, GPC-I) to +2.01 (" in stdout
    assert "; 66 figures of 18 sets." in stdout


@pytest.mark.parametrize("format", ["markdown", "latex", "csv"])
def test_other_formats(cli: Cli, format: str) -> None:
    code, stdout, _ = cli("tables", "uci", "--only", "nll", "--format", format)
    assert code == 0
    start = {"markdown": "**Negative log", "latex": r"\begin{table*}", "csv": "set,n,d,C,ORTH"}[format]
    assert stdout.startswith(start)
    assert "0.2832" in stdout
    assert "\x1b" not in stdout


def test_json_is_one_object(cli: Cli) -> None:
    found = json.loads(cli("tables", "uci", "--only", "averages", "--json").stdout)
    assert [table["name"] for table in found["tables"]] == ["uci-averages"]
    assert found["tables"][0]["rows"][0]["GPC-I"] == pytest.approx(94.33, abs=0.01)


def test_out_writes_every_format_and_the_diagrams(cli: Cli, tmp_path: Path) -> None:
    code, _, stderr = cli("tables", "uci", "--out", "rendered", "--diagram", "cd.pdf")
    assert code == 0
    assert "into rendered" in stderr
    written = sorted(path.name for path in (tmp_path / "rendered").iterdir())
    assert {"tables.md", "tables.tex", "tables.txt", "uci-acc.csv", "uci-kernel.csv"} <= set(written)
    assert sum(name.endswith(".png") for name in written) == 4
    assert (tmp_path / "cd.pdf").read_bytes().startswith(b"%PDF")
    tex = (tmp_path / "rendered/tables.tex").read_text()
    assert tex.startswith("\\documentclass")
    assert tex.count("\\begin{table*}") == tex.count("\\end{table*}") > 5
    with (tmp_path / "rendered/uci-acc.csv").open() as stream:
        assert next(csv.DictReader(stream))["set"] == "adult"


def test_a_ledger_may_be_named_itself(cli: Cli, results: Path, tmp_path: Path) -> None:
    results.rename(tmp_path / "uci-iterations-200")
    assert cli("tables", "uci", "--results", "uci-iterations-200", "--only", "acc").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--preset", "fast"], "results/uci-fast has no results"),
        (["--preset", "fast", "--protocol", "clean"], "reproduce uci --preset fast --protocol clean --kernel rbf."),
        (["--preset", "paper,fast"], "has no results of both presets"),
        (["--preset", "paper,fast"], "reproduce uci --preset fast --protocol paper --kernel rbf."),
        (["--results", "my results"], "--kernel rbf --results 'my results'."),
        (["--preset", "paper,fast", "--against", "paper"], "take the results of one preset"),
        (["--preset", "slow"], "unknown preset 'slow'"),
        (["--kernel", "matern32"], "has no results for kernel matern32"),
        (["--protocol", "dirty"], "unknown protocol 'dirty'"),
        (["--only", "figures"], "unknown table 'figures'"),
        (["--format", "html"], "unknown format 'html'"),
        (["--against", "us"], "unknown --against 'us'"),
        (["--diagram", "cd.bmp"], "the ending must be one of png, pdf, svg"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_two(cli: Cli, arguments: list[str], words: str) -> None:
    arguments = arguments if "matern32" not in arguments else [*arguments, "--only", "acc"]
    code, stdout, stderr = cli("tables", "uci", *arguments)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert words in stderr
