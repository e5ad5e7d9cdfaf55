"""Cells: what makes two runs the same, and that a cell survives the way to another process."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.config.compare import differences
from gpcnoise_cli.config.compose import compose, from_dict
from gpcnoise_cli.data.registry import UCI_NAMES
from gpcnoise_cli.grid.cell import Cell, digest_of, same_settings
from gpcnoise_cli.grid.ledger import Ledger, State
from gpcnoise_cli.grid.uci import Grid
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS
from gpcnoise_cli.methods.registry import METHODS

RESULTS = Path(__file__).resolve().parents[2] / "results"
FOLDERS = {"uci": "paper", "uci-fast": "fast"}


@pytest.mark.parametrize(
    "override",
    ["out='a folder'", "runtime.threads=3", "runtime.device=cpu", "runtime.devices=2", "runtime.checkpoint_seconds=1"],
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


def test_a_cell_filed_before_there_were_methods_is_one_of_svgp() -> None:
    cell = Cell.of("a", compose())
    stored: dict[str, Any] = cell.to_dict()["config"]
    assert stored.pop("method") == {"name": "svgp", "settings": {}}
    assert from_dict(stored) == cell.config
    assert digest_of(from_dict(stored)) == cell.digest


def test_a_method_and_its_settings_are_part_of_the_digest(another_method: str) -> None:
    digests = {
        digest_of(compose(asked)) for asked in ([], ["method=forest"], ["method=forest", "method.settings.trees=9"])
    }
    assert len(digests) == 3
    assert Cell.of("a", compose(["method=forest", "dataset=letter"])).label == "letter forest split 0"
    assert differences(compose(["method=forest"]), compose()) == {
        "method.name": "forest",
        "method.settings.trees": 50,
        "method.settings.rate": 0.01,
        "method.settings.widths": [8, 4],
        "method.settings.deep": False,
    }


# Folder of a preset, protocol, kernel, set, likelihood or method, split.
FILED = [path for folder in FOLDERS for path in sorted((RESULTS / folder).rglob("split-??.json"))]


def test_a_filed_cell_has_the_digest_of_its_configuration() -> None:
    """One of each kind: a setting that was added since is in ADDED_LATER."""
    kinds = {(*path.relative_to(RESULTS).parts[:3], path.parent.name): path for path in FILED}
    assert len(kinds) >= 20
    for path in kinds.values():
        record = json.loads(path.read_text(encoding="utf-8"))
        assert digest_of(from_dict(record["config"])) == record["digest"], path


@pytest.mark.slow
def test_every_filed_cell_looks_up_as_before() -> None:
    """By what its coordinates are composed to today."""
    assert len(FILED) >= 138
    kinds: dict[tuple[str, ...], set[str]] = {}
    for path in FILED:
        folder, protocol, kernel, *_ = path.relative_to(RESULTS).parts
        kinds.setdefault((folder, protocol, kernel), set()).add(
            path.relative_to(RESULTS / folder).with_suffix("").as_posix()
        )
    for (folder, protocol, kernel), names in kinds.items():
        everything = (UCI_NAMES, tuple(LIKELIHOODS), tuple(range(10)))
        grid = Grid(FOLDERS[folder], protocol, kernel, *everything, all_likelihoods=True, methods=tuple(METHODS))
        asked = {cell.name: cell for cell in grid.cells() if cell.name in names}
        assert asked.keys() == names
        ledger = Ledger(RESULTS / folder)
        assert {ledger.look_up(cell).state for cell in asked.values()} == {State.DONE}


def test_differences_name_the_changed_settings() -> None:
    changed = compose(["iterations=200", "optimizer.learning_rate=0.5", "runtime.threads=1"])
    assert differences(changed, compose()) == {"iterations": 200, "optimizer.learning_rate": 0.5}
