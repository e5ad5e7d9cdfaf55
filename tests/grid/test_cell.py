"""Cells: what makes two runs the same, and that a cell survives the way to another process."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.grid.cell import Cell, differences, digest_of, same_settings


@pytest.mark.parametrize(
    "override",
    ["out='a folder'", "runtime.threads=3", "runtime.device=cpu", "runtime.checkpoint_seconds=1"],
)
def test_where_and_how_fast_does_not_change_the_digest(override: str) -> None:
    assert digest_of(compose([override])) == digest_of(compose())


@pytest.mark.parametrize(
    "override", ["iterations=7", "seed=1", "likelihood=step", "split=1", "runtime.precision=float64"]
)
def test_every_setting_of_the_result_changes_the_digest(override: str) -> None:
    assert digest_of(compose([override])) != digest_of(compose())


def test_a_cell_comes_back_whole_from_json() -> None:
    cell = Cell.of("a/b", compose(["dataset.source=generated", "delta.value=0.01"]), {"iterations": 3})
    again = Cell.from_dict(json.loads(json.dumps(cell.to_dict())))
    assert (again, again.config, again.departures) == (cell, cell.config, cell.departures)


def test_a_record_older_than_a_setting_still_belongs_to_its_cell() -> None:
    cell = Cell.of("a", compose())
    stored: dict[str, Any] = cell.to_dict()["config"]
    del stored["optimizer"]["early_stop"], stored["kernel"]["shared"]
    kept = dataclasses.replace(cell.config.optimizer, early_stop=False)
    shared = dataclasses.replace(cell.config.kernel, shared=True)
    cell = Cell.of("a", dataclasses.replace(cell.config, optimizer=kept, kernel=shared))
    assert same_settings(cell, {"digest": "of an older program", "config": stored})
    stored["inducing"] = 11
    assert not same_settings(cell, {"digest": "of an older program", "config": stored})
    assert not same_settings(cell, {"digest": "x", "config": {"unknown": 1}})
    assert not same_settings(cell, {"digest": "x"})


def test_differences_name_the_changed_settings() -> None:
    changed = compose(["iterations=200", "optimizer.learning_rate=0.5", "runtime.threads=1"])
    assert differences(changed, compose()) == {"iterations": 200, "optimizer.learning_rate": 0.5}
