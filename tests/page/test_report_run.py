"""`gpcnoise report` on a run folder: finished, unfinished, and when its data are gone."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture
def copy(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(run, tmp_path / "first")).relative_to(tmp_path)


def test_a_run_shows_all_there_is_of_it(cli: Cli, copy: Path) -> None:
    code, stdout, stderr = cli("report", copy, "--json")
    assert code == 0, stderr
    page = Path(json.loads(stdout)["out"]).read_text(encoding="utf-8")
    result = json.loads((copy / "metrics.json").read_text())
    assert f"<dd>{result['nll']:.4f}</dd>" in page
    for words in (
        "GPC-I (step) on table.csv", "Test nll, nats", "<th scope=\"row\">&lt;b&gt;yes&lt;/b&gt;</th>", "no &amp; no",
        "Which columns matter", "95% intervals",
        "runtime.chunk_rows", "tensorflow", "gpcnoise train --preset fast --data", "gpcnoise predict first --data FILE",
    ):  # fmt: skip
        assert words in page
    assert "<b>yes" not in page
    assert sorted(path.name for path in copy.iterdir() if path.suffix == ".html") == ["report.html"]


def test_an_unfinished_run_shows_its_curve_and_how_to_go_on(cli: Cli, copy: Path) -> None:
    for name in ("metrics.json", "model.json", "model.npz"):
        (copy / name).unlink()
    assert cli("report", copy).code == 0
    page = (copy / "report.html").read_text(encoding="utf-8")
    assert "This run is not finished; continue it with: gpcnoise train --resume first" in page
    assert "Test nll, nats" in page
    assert "Confused" not in page


def test_data_that_are_gone_leave_the_rest_and_name_no_folder_of_this_machine(cli: Cli, copy: Path) -> None:
    (copy / "model.npz").unlink()
    code, _, stderr = cli("report", copy)
    assert code == 0
    assert "there is no reliability diagram" in stderr
    page = (copy / "report.html").read_text(encoding="utf-8")
    assert "not at hand when this page was made" in page
    assert "Test nll, nats" in page
    assert str(Path.cwd()) not in page


def test_changed_data_are_not_taken_for_the_test_split(
    cli: Cli, copy: Path, run: Path, request: pytest.FixtureRequest
) -> None:
    table = run.parent / "table.csv"
    before = table.read_text()
    request.addfinalizer(functools.partial(table.write_text, before))
    table.write_text("\n".join(before.splitlines()[:-20]))
    code, _, stderr = cli("report", copy)
    assert code == 0
    assert "table.csv has changed since the run was trained on it" in stderr
    page = (copy / "report.html").read_text(encoding="utf-8")
    assert "or the data have changed since" in page
    assert "Confused" not in page


def test_a_folder_of_runs_is_a_folder_of_results(cli: Cli, copy: Path) -> None:
    (copy.parent / "runs").mkdir()
    copy.rename(copy.parent / "runs" / "first")
    (copy.parent / "runs" / "second").mkdir()
    shutil.copy("runs/first/config.yaml", "runs/second/config.yaml")
    assert cli("report", "runs").code == 0
    page = Path("runs/report.html").read_text(encoding="utf-8")
    assert "GPC-I" in page
    assert "<code>second</code>: the run is not finished" in page


def test_a_damaged_result_is_one_sentence(cli: Cli, copy: Path) -> None:
    (copy / "metrics.json").write_text("{torn")
    code, stdout, stderr = cli("report", copy)
    assert (code, stdout, stderr.count("\n")) == (1, "", 1)
    assert "is damaged" in stderr
