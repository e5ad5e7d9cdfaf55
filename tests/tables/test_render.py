"""Tables in four formats: narrow enough for a terminal, and well-formed for LaTeX, Markdown and CSV."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpcnoise_cli.tables.latex import latex_document, tex, to_latex
from gpcnoise_cli.tables.measured import Measured
from gpcnoise_cli.tables.render import TERMINAL_WIDTH, to_csv, to_markdown, to_text
from gpcnoise_cli.tables.table import Column, Row, Table, Value, figure, text
from gpcnoise_cli.tables.uci_comparisons import against_table, protocols_table
from gpcnoise_cli.tables.uci_ranks import comparisons, pair_table, rank_table
from gpcnoise_cli.tables.uci_tables import averages_table, kernel_table, metric_table

Make = Callable[..., Measured]

SMALL = Table(
    "small",
    "A & B",
    (Column("set", left=True), Column("n", optional=True), Column("acc", group="ours"), Column("nll", group="ours")),
    (
        Row((text("a_b"), text(10), figure(97.5, 2, 0.25, best=True), figure(-0.001, 2))),
        Row((text("total"), text(""), text("NA"), text("–")), rule=True),
    ),
    ("5% of δ ≤ 1.",),
)


@pytest.fixture
def all_tables(as_published: Make) -> list[Table]:
    rbf, both = as_published(), as_published("matern52+rbf")
    tables = [metric_table(metric, rbf) for metric in ("acc", "nll")]
    tables += [against_table(metric, one) for metric in ("acc", "nll") for one in (rbf, both)]
    tables += [protocols_table(metric, rbf, rbf) for metric in ("acc", "nll")]
    tables += [averages_table(rbf), kernel_table(both)]
    for kind, comparison in comparisons("nll", rbf).items():
        tables += [rank_table("nll", kind, comparison, rbf), pair_table("nll", kind, comparison, rbf)]
    return tables


def test_every_table_fits_the_terminal_even_with_errors(all_tables: list[Table]) -> None:
    for table in all_tables:
        for ansi in (False, True):
            shown = re.sub("\x1b\\[[0-9]*m", "", to_text(table, ansi=ansi))
            assert max(map(len, shown.splitlines())) <= TERMINAL_WIDTH, table.title


def test_the_appendix_tables_keep_all_their_columns(all_tables: list[Table]) -> None:
    for table in all_tables[:2]:
        assert to_text(table).splitlines()[1].split() == [column.name for column in table.columns]


def test_best_figures_side_by_side_stay_apart_where_columns_are_close() -> None:
    ties = Row((text("mushroom"), *(figure(100.0, 2, best=True) for _ in range(8))))
    table = Table("ties", "Ties", (Column("set", left=True), *(Column(f"m{number}") for number in range(8))), (ties,))
    for width in (120, 75, 40):
        rows = [line for line in to_text(table, width=width).splitlines() if line.startswith("mushroom")]
        assert sum(line.count(" *100.00") for line in rows) == 8


def test_text_marks_the_best_and_drops_optional_columns_where_it_is_narrow() -> None:
    lines = to_text(SMALL).splitlines()
    assert lines[0] == "A & B"
    assert "*97.50±0.25" in lines[4]
    assert lines[4].endswith(" 0.00")
    assert "\x1b[1m97.50±0.25\x1b[0m" in to_text(SMALL, ansi=True)
    narrow = to_text(SMALL, width=20)
    assert " n " not in narrow
    assert "97.50±.25" in narrow


def test_markdown_is_a_table_with_bold_for_the_best() -> None:
    lines = to_markdown(SMALL).splitlines()
    assert lines[2:5] == [
        "| set | n | ours acc | ours nll |",
        "| :-- | --: | --: | --: |",
        "| a_b | 10 | **97.50±0.25** | 0.00 |",
    ]


def test_csv_has_plain_numbers_and_a_column_for_errors() -> None:
    assert list(csv.reader(to_csv(SMALL).splitlines())) == [
        ["set", "n", "ours acc", "ours acc se", "ours nll"],
        ["a_b", "10", "97.5", "0.25", "-0.001"],
        ["total", "", "NA", "", ""],
    ]


def test_latex_escapes_what_it_must() -> None:
    assert tex("a_b & 5% ± – {x} \\") == r"a\_b \& 5\% $\pm$ -- \{x\} \textbackslash{}"
    assert r"\textbf{97.50$\pm$0.25}" in to_latex(SMALL)


def test_latex_tables_are_well_formed(all_tables: list[Table]) -> None:
    for table in [*all_tables, SMALL]:
        source = to_latex(table)
        assert source.isascii(), table.title
        assert source.count("{") - source.count(r"\{") == source.count("}") - source.count(r"\}")
        opened = re.findall(r"\\(begin|end)\{([a-z*]+)\}", source)
        assert opened == [("begin", "table*"), ("begin", "tabular"), ("end", "tabular"), ("end", "table*")]
        layout = re.search(r"\\begin\{tabular\}\{([lr|]+)\}", source)
        assert layout is not None
        columns = len(layout[1].replace("|", ""))
        assert columns == len(table.columns)
        lines = [line for line in source.splitlines() if line.endswith(r"\\")]
        assert len(lines) >= len(table.rows) + 1
        for line in lines:
            spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d+)\}", line)]
            cells = len(re.findall(r"(?<!\\)&", line)) + 1
            assert cells + sum(spans) - len(spans) == columns, line


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed; the structure is checked above"
)
def test_the_document_compiles(all_tables: list[Table], tmp_path: Path) -> None:
    (tmp_path / "tables.tex").write_text(latex_document(all_tables))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_value_without_a_number_stays_text() -> None:
    assert text("NA") == Value("NA")
    assert text(3) == Value("3", 3.0)
