"""What was measured, as tables: every benchmark that is filed here, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpcnoise_cli.bench.tables import bench_tables, machines_of
from gpcnoise_cli.tables.render import RENDERERS

FILED = Path(__file__).resolve().parents[2] / "results" / "bench"


@pytest.mark.parametrize("part", ["steps", "growth", "quality", "classifiers", "command", "grid", "tables"])
@pytest.mark.parametrize("format", RENDERERS)
def test_what_is_filed_can_be_shown_in_every_format(part: str, format: str) -> None:
    content = json.loads((FILED / f"{part}.json").read_text(encoding="utf-8"))
    tables = bench_tables(part, content[part] if "machine" in content else content)
    assert tables
    for table in tables:
        shown = RENDERERS[format](table)
        assert len(shown.splitlines()) > len(table.rows)
        assert format != "latex" or shown.isascii()
    assert all("cores" in line for line in machines_of(content))


def test_one_grid_is_shown_like_all_that_are_filed() -> None:
    content = json.loads((FILED / "grid.json").read_text(encoding="utf-8"))
    (name, record), *_ = content.items()
    assert bench_tables("grid", record) == bench_tables("grid", {name: record})


def test_words_are_set_to_the_left_and_numbers_to_the_right() -> None:
    content = json.loads((FILED / "quality.json").read_text(encoding="utf-8"))
    next(iter(content.values()))["stock"]["seconds"] = None  # shown as "never", which makes it no column of words
    (table,) = bench_tables("quality", content)
    assert table.rows[0].values[2].text == "never"
    assert [column.name for column in table.columns if column.left] == ["data set"]
