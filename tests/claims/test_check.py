"""What makes the check fail: cells deleted, edited or unknown, tables that are not the cells', figures of no record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gpcnoise_cli.claims.check import problems_in
from gpcnoise_cli.claims.kept import NAME, write_kept
from gpcnoise_cli.tables.files import write_tables
from gpcnoise_cli.tables.uci import Request, uci_tables

Cells = Callable[..., list[Path]]
COMMAND = "gpcnoise tables uci --preset fast --only acc,nll --against paper --out results/tables/fast"
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: Path, uci_cells: Cells) -> Path:
    """A small repository in order: cells, tables, claims.json, manifest, README."""
    results = tmp_path / "results"
    uci_cells("adult", "GPC-I", [(85.5, 0.3971), (85.6, 0.3981)])
    uci_cells("magic", "GPC-II", [(99.9, 0.0031)])
    request = Request(("acc", "nll"), presets=("fast",), against=True)
    write_tables(results / "tables" / "fast", uci_tables(request, results).tables)
    write_kept(results)
    (tmp_path / "codecheck.yml").write_text(f"manifest:\n  - file: results/tables/fast\n    command: {COMMAND}\n")
    (tmp_path / "README.md").write_text("On magic GPC-II has nll 0.0031, published 0.0030; adult 85.50%.\n")
    assert problems(tmp_path) == []
    return tmp_path


def problems(tree: Path) -> list[str]:
    return problems_in(tree / "results", tree)


def test_a_deleted_cell_is_found(tree: Path) -> None:
    (tree / "results/uci-fast/paper/rbf/adult/step/split-01.json").unlink()
    found = problems(tree)
    assert "uci-fast/paper/rbf/adult/step/split-01.json: the cell was deleted" in found[0]
    assert found[1].startswith("results/tables/fast/uci-acc-against-paper.csv:2 and ")
    assert found[1].endswith(f"more files: not what the cells give now; renew: {COMMAND}")
    assert len(found) == 2


@pytest.mark.parametrize(("key", "value"), [("nll", 0.3972), ("acc", 85.51), ("digest", "other"), ("split", 7)])
def test_an_edited_cell_is_found(tree: Path, key: str, value: object) -> None:
    path = tree / "results/uci-fast/paper/rbf/adult/step/split-00.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    assert any("split-00.json: the cell was edited" in one for one in problems(tree))


def test_a_torn_cell_counts_as_deleted(tree: Path) -> None:
    (tree / "results/uci-fast/paper/rbf/adult/step/split-00.json").write_text('{"acc": 8')
    assert any("split-00.json: the cell was deleted" in one for one in problems(tree))


def test_a_new_cell_must_be_kept(tree: Path, uci_cells: Cells) -> None:
    uci_cells("adult", "GPC-II", [(85.5, 0.3956)])
    assert "adult/probit/split-00.json: the cell is new" in problems(tree)[0]


def test_many_new_cells_and_stale_tables_are_a_sentence_each(tree: Path, uci_cells: Cells) -> None:
    uci_cells("adult", "GPC-II", [(85.5, 0.3956)] * 3)
    cells, tables = problems(tree)
    assert "adult/probit/split-00.json: it and 2 more cells are new" in cells
    assert tables.startswith("results/tables/fast/")


def test_the_cells_of_an_ablation_are_kept_too(tree: Path, uci_cells: Cells) -> None:
    results = tree / "results"
    (path,) = uci_cells("adult", "GPC-I", [(84.0, 0.5)], results=results / "ablations/ard", departures={"x": 1})
    assert any("ablations/ard/uci-fast/paper/rbf/adult/step/split-00.json" in one for one in problems(tree))
    write_kept(results)
    assert problems(tree) == []
    path.unlink()
    assert "the cell was deleted" in problems(tree)[0]


@pytest.mark.parametrize("name", ["uci-nll-against-paper.csv", "tables.md"])
def test_an_edited_table_is_found(tree: Path, name: str) -> None:
    path = tree / "results/tables/fast" / name
    text = path.read_text()
    path.write_text(text.replace("0.3976", "0.3975"))
    (found,) = problems(tree)
    assert found.startswith(f"results/tables/fast/{name}:")
    assert found.endswith(COMMAND)
    path.write_text(text.splitlines()[0])
    (found,) = problems(tree)
    assert found.startswith(f"results/tables/fast/{name}:2: not what the cells give now")


def test_an_absent_table_is_found(tree: Path) -> None:
    (tree / "results/tables/fast/uci-nll-against-paper.csv").unlink()
    (found,) = problems(tree)
    assert found.startswith("results/tables/fast/uci-nll-against-paper.csv:1: not what the cells give now")


def test_tables_that_no_command_writes_are_found(tree: Path) -> None:
    shutil.copytree(tree / "results/tables/fast", tree / "results/tables/mine")
    assert problems(tree) == ["results/tables/mine: no command in codecheck.yml writes these tables; name it there"]
    (tree / "codecheck.yml").unlink()
    assert problems(tree) == ["codecheck.yml is absent or cannot be read (FileNotFoundError)"]


def test_a_table_of_another_command_is_found(tree: Path) -> None:
    (tree / "results/tables/fast/mine.csv").write_text("a\n1\n")
    assert problems(tree) == [f"results/tables/fast/mine.csv: `{COMMAND}` does not write it; remove it"]


def test_a_quoted_figure_that_no_record_has_is_found(tree: Path) -> None:
    (tree / "docs").mkdir()
    page = tree / "docs" / "page.md"
    page.write_text("# A page\n\nOn adult the nll is 0.3971, and\non magic it is 0.0077.\n")
    assert problems(tree) == ["docs/page.md:4: no cell or record has 0.0077 of magic; mend or remove it"]
    page.write_text("On adult and magic the nll is 0.3971 and 0.0077, 85.51%.\n")
    assert problems(tree) == [
        "docs/page.md:1: no cell or record has 0.0077, 85.51 of adult and magic; mend or remove it"
    ]
    # What a shown command printed, and a run that the paragraph names itself, are no cells.
    page.write_text("```\n$ gpcnoise sweep\nmagic 0.0077\n```\n\nOn magic it is 0.0077.\n")
    assert problems(tree) == []
    page.write_text("`gpcnoise train --dataset magic` has 0.0077 on magic.\n")
    assert problems(tree) == []


def test_a_quoted_average_is_one_that_claims_prints(tree: Path, uci_cells: Cells) -> None:
    for name in ("adult", "connect-4", "magic", "mushroom", "ringnorm", "twonorm"):
        uci_cells(name, "GPC-II", [(90.0, 0.2), (91.0, 0.3)])
    write_kept(tree / "results")
    shutil.rmtree(tree / "results/tables")
    line = "| binary, GPC-II | 94.31 | {} ± 0.50 | 0.1569 | 0.2500 ± 0.0500 |\n"
    (tree / "README.md").write_text(line.format("90.50"))
    assert problems(tree) == []
    (tree / "README.md").write_text(line.format("90.51"))
    assert problems(tree) == ["README.md:1: no cell or record has 90.51 of binary, GPC-II; mend or remove it"]


def test_without_the_kept_digests_it_says_how_to_write_them(tree: Path) -> None:
    (tree / "results" / NAME).write_text("[]")
    (found,) = problems(tree)
    assert found.endswith("renew it by: gpcnoise claims --write")


def test_what_this_repository_quotes_has_cells_behind_it() -> None:
    assert problems(REPOSITORY) == []
