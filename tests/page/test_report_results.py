"""`gpcnoise report` on a folder of results: what the page says, and what it does with files it cannot trust."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.grid.ledger import Ledger, read_record
from gpcnoise_cli.page.found import FoundCell
from gpcnoise_cli.page.sweep_part import sweeps_of

Cli = Callable[..., Any]
Cells = Callable[..., list[Path]]
MAGIC = "results/uci/paper/rbf/magic/step/split-00.json"


class Tables(HTMLParser):
    """The cells of every table, row by row; and a check that every element is closed in its order."""

    VOID = ("meta", "input", "img", "circle", "line", "path", "polyline")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.open: list[str] = []
        self.ids: list[str] = []
        self.rows: list[list[str]] = []
        self.in_cell = False
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        values = dict(attrs)
        self.ids += [str(values["id"])] if "id" in values else []
        if tag == "table":
            self.rows = self.tables.setdefault(str(values.get("id")), [])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Closed by itself."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.in_cell = False

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.rows[-1][-1] += data


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(cli: Cli, *arguments: object) -> str:
    code, stdout, stderr = cli("report", *arguments)
    assert code == 0, stderr
    return Path(stdout.strip()).read_text(encoding="utf-8")


def test_the_page_is_complete_in_itself_and_names_where_it_is(cli: Cli, cells: Cells) -> None:
    cells(Path("results"))
    code, stdout, stderr = cli("report")
    assert (code, stdout) == (0, "results/report.html\n")
    assert "open it in any web browser" in stderr
    page = Path("results/report.html").read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)[^"']*""", page)
    assert not re.search(r"url\((?!#)", page)
    parsed = Tables(page)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert page == made(cli)  # the same bytes every time


def test_json_is_one_object(cli: Cli, cells: Cells) -> None:
    cells(Path("results"))
    code, stdout, _ = cli("report", "results", "--out", "page.html", "--json")
    told = json.loads(stdout)
    assert (code, told["folder"], told["out"]) == (0, "results", "page.html")
    assert told["bytes"] == Path("page.html").stat().st_size


def test_our_figures_stand_beside_the_papers_with_their_leaks(cli: Cli, cells: Cells) -> None:
    cells(Path("results"), shift=-1.5)
    tables = Tables(made(cli)).tables
    rows = {row[0]: row for row in tables["part-uci-paper-rbf-uci-acc-against-paper"]}
    assert rows["magic leak"][1:4] == ["98.39", "99.89", "-1.50"]
    assert rows["ringnorm"][-1] == "1"  # splits
    layout = {row[0]: row for row in tables["part-uci-paper-rbf-uci-acc"]}
    assert layout["magic leak"][1:5] == ["19020", "11", "2", "86.92"]
    assert "binary (3)" in layout
    assert "part-uci-paper-rbf-averages" in tables


def test_several_splits_give_standard_errors_and_enough_sets_give_ranks(cli: Cli, cells: Cells) -> None:
    cells(Path("results"), splits=(0, 1, 2))
    page = made(cli)
    rows = {row[0]: row for row in Tables(page).tables["part-uci-paper-rbf-uci-acc"]}
    assert rows["ringnorm"][8] == "98.23±0.01"
    assert rows["ringnorm"][-1] == "3"
    assert "critical difference" in page
    assert "Friedman" in page


def test_too_few_sets_for_ranks_is_said(cli: Cli, cells: Cells) -> None:
    cells(Path("results"), datasets=("ringnorm",))
    page = made(cli)
    assert "Ranks need at least 3 sets" in page
    assert "critical difference" not in page


@pytest.mark.slow
def test_protocols_and_presets_are_told_apart_and_set_side_by_side(cli: Cli, cells: Cells) -> None:
    for preset in ("paper", "fast"):
        for protocol in ("paper", "clean"):
            cells(Path("results"), preset=preset, protocol=protocol, shift=-5.0 if protocol == "clean" else 0.0)
    page = made(cli)
    for title in (
        "Preset paper, protocol paper",
        "Preset fast, protocol clean",
        "Protocols: with",
        "Presets: paper and",
    ):
        assert title in page
    tables = Tables(page).tables
    rows = {row[0]: row for row in tables["part-uci-paper-rbf-protocols_table-acc"]}
    assert rows["magic leak"][1:4] == ["99.89", "94.89", "-5.00"]
    overview = tables["overview-table"]
    assert [row[:2] for row in overview[1:]] == [
        ["paper", "paper"], ["paper", "clean"], ["fast", "paper"], ["fast", "clean"],
    ]  # fmt: skip
    assert len(tables["cell-table"]) == 1 + 4 * (3 * 3 + 4)


def test_a_shortened_grid_says_of_itself_that_it_is_one(cli: Cli, cells: Cells) -> None:
    cells(Path("results"), overrides=("iterations=200",))
    page = made(cli)
    assert "made with other settings than the preset" in page
    assert "NOT the preset&#39;s settings: iterations=200" in page


@pytest.mark.parametrize(
    "grid",
    [
        {},
        {"preset": "fast", "protocol": "clean", "splits": (3,)},
        {"kernel": "matern52+rbf"},
        {"overrides": ("iterations=200", "seed=4", "kernel.lengthscale=2.5", "optimizer=natgrad")},
    ],
)
def test_the_command_of_a_cell_asks_for_that_very_cell(cli: Cli, cells: Cells, grid: dict[str, Any]) -> None:
    cells(Path("results"), datasets=("ringnorm", "waveform"), **grid)
    rows = Tables(made(cli)).tables["cell-table"][1:]
    commands = [re.search(r"gpcnoise reproduce .*--results repeated", row[-1]) for row in rows]
    assert len(commands) == 7
    ledger = next(path for path in Path("results").iterdir() if path.is_dir())
    # Where the repetition would be filed, the cell lies already: then there is nothing to do.
    Path("repeated").mkdir()
    ledger.rename(Path("repeated") / ("uci-fast" if "fast" in ledger.name else "uci"))
    for command in (commands[0], commands[-1]):
        assert command is not None
        code, stdout, stderr = cli(*shlex.split(command[0])[1:], "--dry-run", "--json")
        assert code == 0, stderr
        assert [cell["state"] for cell in json.loads(stdout)["cells"]] == ["done"]


def test_what_failed_or_is_torn_is_named(cli: Cli, cells: Cells) -> None:
    paths = cells(Path("results"))
    paths[0].write_text('{"acc": 97.5, "nl')
    paths[1].write_text('{"digest": "x", "dataset": "magic"}')
    record = read_record(paths[2])
    assert record is not None
    from gpcnoise_cli.grid.cell import Cell

    cell = Cell.from_dict({"name": "paper/rbf/adult/step/split-00", "config": record["config"], "departures": {}})
    Ledger(Path("results/uci")).file_failure(cell, "the loss is not a finite number", transient=False, attempts=2)
    page = made(cli)
    tables = Tables(page).tables
    assert tables["failure-table"][1][:3] == [
        "uci/paper/rbf/adult/step/split-00.failed.json", "the loss is not a finite number", "2",
    ]  # fmt: skip
    assert "it is torn or no JSON" in page
    assert "it holds no usable method" in page
    assert len(tables["cell-table"]) == 1 + len(paths) - 2


def test_a_hostile_name_stays_text(cli: Cli, cells: Cells) -> None:
    path = cells(Path("results"))[0]
    evil = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'&"
    record = json.loads(path.read_text())
    changed = dict.fromkeys(("dataset", "method", "likelihood", "preset", "commit", "source", "split"), evil)
    changed |= {"versions": {evil: evil}, "host": {"cpu": evil, "cores": evil}, "departures": {evil: evil}}
    changed |= {"curve": {"step": [1, evil], "nll": evil, "acc": None}, "config": {**record["config"], "preset": evil}}
    path.write_text(json.dumps({**record, **changed}))
    path.with_suffix(".failed.json").write_text(json.dumps({"reason": evil, "attempts": evil}))
    page = made(cli)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("<script>") == page.count("</script>") == 1
    tables = Tables(page).tables
    assert any(row[0].startswith(evil) for row in tables["cell-table"])


def test_a_cell_with_a_wrong_value_is_left_out_not_fatal(cli: Cli, cells: Cells) -> None:
    wrong = [(key, value) for key in ("acc", "nll", "method") for value in (None, True, [1], {"a": 1}, 1e400)]
    for (key, value), path in zip(wrong, cells(Path("results"), splits=(0, 1)), strict=False):
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert made(cli).count("it holds no usable") == len(wrong)


def test_the_verdicts_on_the_claims_are_a_part_of_the_page(cli: Cli, cells: Cells) -> None:
    paths = cells(Path("results"), splits=(0, 1, 2), datasets=("ringnorm", "waveform"))
    cells(Path("results/ablations/ard"), splits=(0,), datasets=("waveform",), overrides=("kernel.ard=false",))
    flipped = Path("results/ablations/ard/uci-ard-False")
    flipped.rename(flipped.with_name("uci"))
    page = made(cli)
    tables = Tables(page).tables
    counted = {row[0]: row for row in tables["claims-counts"]}
    head = tables["claims-counts"][0]
    assert "confirmed" in head
    assert int(counted["all"][1]) == len(tables["claims-figures"]) + len(tables["claims-statements"]) - 2
    acc = next(row for row in tables["claims-figures"] if row[:3] == ["ringnorm", "GPC-I", "acc"])
    assert "confirmed" in acc
    assert any("L_I > L_II > L_III" in row[0] for row in tables["claims-statements"])
    assert len(tables["ablation-ard-paper-paper-rbf"]) == 1 + 2 * 4
    assert len(tables["cell-table"]) == 1 + len(paths), "cells of an ablation stand with the claims"


def test_what_is_only_told_may_be_anything(cli: Cli, cells: Cells) -> None:
    keys = ["label", "likelihood", "kernel", "iterations", "curve", "config", "versions", "host", "departures"]
    keys += ["train_seconds", "split", "delta", "steps", "source"]
    odd = [(key, value) for key in keys for value in (None, "text", -1, [1], {"a": 1}, {"optimizer": 1, "step": [1]})]
    paths = cells(Path("results"), splits=tuple(range(8)))
    for (key, value), path in zip(odd, paths, strict=False):
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    for key, path in zip(keys, reversed(paths), strict=False):
        path.write_text(json.dumps({name: one for name, one in json.loads(path.read_text()).items() if name != key}))
    assert len(Tables(made(cli)).tables["cell-table"]) == 1 + len(paths) > len(odd)


def test_a_method_without_likelihood_and_inducing_points_has_its_column_and_its_cells(cli: Cli, cells: Cells) -> None:
    paths = cells(Path("results"))
    before = {row[0]: row for row in Tables(made(cli)).tables["part-uci-paper-rbf-uci-acc"]}
    record = json.loads(paths[0].read_text())
    lacking = ("likelihood", "kernel", "iterations", "inducing", "delta", "steps")
    other = {key: value for key, value in record.items() if key not in lacking}
    target = paths[0].parent.parent / "selu" / paths[0].name
    target.parent.mkdir()
    target.write_text(json.dumps({**other, "method": "selu", "label": "Selu", "acc": 91.25}))
    tables = Tables(made(cli)).tables
    rows = {row[0]: row for row in tables["part-uci-paper-rbf-uci-acc"]}
    assert rows[record["dataset"]][4] == "91.25"
    assert rows["magic leak"][4:6] == ["–", "86.92"], "its published column stands beside it"
    assert "Selu" in [row[1] for row in tables["cell-table"]]
    assert rows["binary (3)"][5:] == before["binary (3)"][4:], "the averages of the others stay"


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("nothing", "there is no folder 'nothing'"),
        ("empty", "empty holds no results, figures or benchmarks"),
        ("file.json", "'file.json' is a file"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(cli: Cli, here: Path, folder: str, words: str) -> None:
    (here / "empty").mkdir()
    (here / "file.json").write_text("{}")
    code, stdout, stderr = cli("report", folder)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert words in stderr
    assert list((here / "empty").iterdir()) == []


def test_only_a_page_of_ours_is_replaced(cli: Cli, cells: Cells) -> None:
    cells(Path("results"), datasets=("ringnorm",))
    Path("results/report.html").write_text("<html>my own report</html>")
    code, _, stderr = cli("report")
    assert (code, stderr.count("\n")) == (2, 1)
    assert "exists and is no page of `gpcnoise report`" in stderr
    assert Path("results/report.html").read_text() == "<html>my own report</html>"
    assert cli("report", "--force").code == 0
    assert cli("report").code == 0
    assert "is a folder; name a file" in cli("report", "--out", "results").stderr
    assert "there is no folder" in cli("report", "--out", "absent/page.html").stderr


def test_the_cells_of_a_sweep_and_runs_are_shown_too(cli: Cli, cells: Cells, here: Path) -> None:
    (path, *_) = cells(here / "elsewhere", datasets=("ringnorm",))
    (here / "sweep").mkdir()
    path.rename(here / "sweep" / "inducing=10-0123456789abcdef.json")
    page = made(cli, "sweep")
    (_, row) = Tables(page).tables["cell-table"]
    assert row[0] == "ringnorm"
    assert "gpcnoise train --preset paper --dataset ringnorm" in row[-1]
    head, line = Tables(page).tables["sweep-0"]
    assert (head[0], line[0]) == ("inducing", "300")  # what the cell says, not its file name
    assert "of 19" not in page
    assert "<dt>swept</dt>" in page


def test_runs_are_told_apart_by_the_settings_in_which_they_differ() -> None:
    def cell(name: str, **settings: Any) -> FoundCell:
        config = {"split": 0, "out": name, "kernel": {"name": "rbf", "ard": True}, **settings}
        record = {"dataset": "x", "method": "svgp", "label": "GPCsm", "acc": 90.0, "nll": 0.5, "config": config}
        return FoundCell(f"runs/{name}", record, None)

    (part,) = sweeps_of([cell("a"), cell("b", split=1), cell("c", kernel={"name": "rbf", "ard": False})])
    assert (part.folder, part.keys) == ("runs", ("split", "kernel.ard"))
    assert [line.entries[1].text for line in part.table.lines] == ["true", "true", "false"]
    assert sweeps_of([cell("a")]) == []
    assert sweeps_of([FoundCell("runs/d", {"dataset": "x", "method": "svgp", "config": None}, None)]) == []


def test_figures_and_benchmarks_are_on_the_page_and_large_pictures_are_not(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    from gpcnoise_cli.page import pictures

    folder = here / "results" / "figures" / "errors"
    folder.mkdir(parents=True)
    Figure(figsize=(1, 1)).savefig(folder / "errors.png")
    (folder / "large.png").write_bytes((folder / "errors.png").read_bytes() + bytes(pictures.LARGEST_BYTES))
    (folder / "fake.png").write_bytes(b"<script>alert(1)</script>")
    summary = {
        "note": "",
        "findings": ["a* = 2.8959 < 3"],
        "files": ["errors.png", "large.png", "fake.png", "gone.png"],
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    (here / "results" / "bench").mkdir()
    (here / "results" / "bench" / "steps.json").write_text("{torn")
    page = made(cli)
    assert page.count('src="data:image/png;base64,') == 1
    assert "a* = 2.8959 &lt; 3" in page
    for words in ("errors/large.png: its 1.5 MB would make the page too large", "errors/fake.png: it is no PNG"):
        assert words in page
    assert "errors/gone.png" in page
    assert "bench/steps.json" in page


def test_whole_commands_and_grids_are_on_the_page(cli: Cli, here: Path) -> None:
    machine = {"cpu": "a cpu", "cores": 2, "load_average": 0.0, "versions": {"gpcnoise": "9.9"}}
    run = {"seconds": 12.5, "processor_seconds": 20.0, "acc": 90.0, "nll": 0.25, "steps": 60}
    cell = {"dataset": "waveform", "likelihood": "step", "split": 0, "steps": 10, "train_seconds": 3.0, "nll": 0.4}
    grid = {"command": "gpcnoise reproduce uci", "machine": machine, "cells": [cell], "failed": {}, "seconds": 36.0}
    rates = {"cells_per_hour": 100.0, "processor_seconds_per_cell": 20.0, "train_seconds": 3.0}
    content = {
        "command": {"letter": {"gpcnoise": {"settings": {}, "machine": machine, "runs": [run]}}},
        "grid": {"gpcnoise reproduce uci": {**grid, **rates}},
    }
    folder = here / "results" / "bench"
    folder.mkdir(parents=True)
    for name, found in content.items():
        (folder / f"{name}.json").write_text(json.dumps(found))
    tables = Tables(made(cli)).tables
    assert tables["bench-command-0"][1][:4] == ["letter", "gpcnoise train", "9.9", "12.5"]
    assert tables["bench-grid-0"][1][1:5] == ["1", "0", "0.6", "100"]
    assert tables["bench-grid-1"][1][:4] == ["waveform", "step", "0", "3.0"]


@pytest.mark.slow
def test_the_committed_results_make_a_page(cli: Cli, here: Path) -> None:
    committed = Path(__file__).resolve().parents[2] / "results"
    page = made(cli, committed, "--out", here / "page.html")
    tables = Tables(page).tables
    assert len(tables["cell-table"]) > 1
    assert "bench-steps-0" in tables
    assert str(committed.parent) not in page


@pytest.mark.slow
def test_seven_hundred_cells_stay_a_small_page(cli: Cli, cells: Cells) -> None:
    sets = ("ringnorm", "twonorm", "magic", "waveform", "letter", "adult")
    paths = [p for name in ("paper", "fast") for p in cells(Path("results"), preset=name, datasets=sets, points=300)]
    for path in paths:  # the same cell under other splits: the ledger itself would take a minute to file them
        for split in range(1, 17):
            path.with_name(f"split-{split:02d}.json").write_text(path.read_text())
    page = made(cli)
    rows = len(Tables(page).tables["cell-table"]) - 1
    assert rows > 650
    assert len(page.encode()) < 2_500_000
