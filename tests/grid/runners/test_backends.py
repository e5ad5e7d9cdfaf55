"""What a user may ask of a backend, and what is said where it cannot be had. Neither Ray nor submitit is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.runners import demands, registry
from gpcnoise_cli.grid.runners.demands import demands_of, objection, probe
from gpcnoise_cli.grid.runners.request import Request

TWONORM = Cell.of("cell", compose(["dataset=twonorm"]))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"workers": 0}, "--workers must be at least 1, not 0"),
        ({"cores": -1}, "--cores must be at least 1, not -1"),
        ({"gpus": -0.5, "backend": "ray"}, "--gpus must be 0 or more"),
        ({"gpus": float("nan"), "backend": "ray"}, "--gpus must be 0 or more"),
        ({"gpus": 1.0}, "--backend ray or slurm"),
        ({"ray_address": "auto"}, "--ray-address belongs to --backend ray, not to --backend local"),
        ({"backend": "ray", "slurm_time": 5}, "--slurm-time belongs to --backend slurm"),
        ({"backend": "ray", "detach": True}, "--detach belongs to --backend slurm"),
        ({"backend": "ray", "ray_send": "everything"}, "nothing"),
        ({"backend": "slurm", "slurm_executor": "remote"}, "choose from: debug, local, slurm"),
    ],
)
def test_a_request_that_cannot_be_meant_is_refused(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Request(**asked)


@pytest.mark.parametrize("name", ["ray", "slurm"])
def test_a_backend_without_its_package_says_what_to_install(
    name: str, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda package: None)
    outcome = cli("reproduce", "uci", "--datasets", "twonorm", "--results", tmp_path / "r", "--backend", name)
    assert outcome.code == 2
    assert f"pip install 'gpcnoise[{name}]'" in outcome.stderr
    assert not (tmp_path / "r").exists()


def test_rows_on_a_disk_are_not_sent(cli: Callable[..., Any], tmp_path: Path) -> None:
    asked = ("sweep", "dataset=twonorm", "dataset.storage=disk", "split=0,1", "--results", tmp_path / "r")
    outcome = cli(*asked, "--backend", "ray")
    assert (outcome.code, "add --ray-send nothing" in outcome.stderr) == (2, True)
    assert not (tmp_path / "r").exists()
    cells = [Cell.of("cell", compose(["dataset=twonorm", "dataset.storage=disk"]))]
    registry.check_rows_travel(Request(backend="ray", ray_send="nothing"), cells)
    registry.check_rows_travel(Request(backend="slurm"), cells)


def test_an_unknown_backend_and_options_of_another(cli: Callable[..., Any], tmp_path: Path) -> None:
    asked = ("sweep", "split=0,1", "--results", tmp_path / "r")
    assert "did you mean 'slurm'" in cli(*asked, "--backend", "slrm").stderr
    outcome = cli(*asked, "--slurm-partition", "gpu")
    assert (outcome.code, "belongs to --backend slurm" in outcome.stderr) == (2, True)
    assert not (tmp_path / "r").exists()


def test_every_backend_has_an_extra_of_its_name(shared: dict[str, Any]) -> None:
    for backend in registry.BACKENDS.values():
        if backend.package is not None:
            (wanted,) = shared[backend.name]
            assert wanted.startswith(backend.package)


@pytest.fixture
def shared() -> dict[str, Any]:
    """The extras of pyproject.toml."""
    text = (Path(__file__).resolve().parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    lines = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0].splitlines()
    found = (line.partition("#")[0].partition("=") for line in lines if "=" in line and line.rstrip().partition("#")[0])
    return {name.strip(): [value.strip().strip('[]"')] for name, _, value in found}


def test_a_machine_like_this_one_is_fit() -> None:
    wanted = demands_of([TWONORM], data=True, code=True)
    assert objection(wanted, probe(wanted)) is None


def test_another_version_is_named_with_both_numbers() -> None:
    wanted = demands_of([TWONORM], data=False, code=True)
    found = probe(wanted)
    other = {**found, "versions": {**found["versions"], "tensorflow": "1.0"}}
    assert f"has tensorflow 1.0, not {found['versions']['tensorflow']}" in str(objection(wanted, other))
    without = {**found, "versions": {"gpcnoise": "none"}}
    assert "--ray-send all" in str(objection(wanted, without))


def test_code_of_another_commit_is_refused_unless_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demands, "commit", lambda: "abc")
    wanted, sent = (demands_of([TWONORM], data=False, code=code) for code in (True, False))
    monkeypatch.setattr(demands, "commit", lambda: "def")
    assert "runs the code of commit def, not abc" in str(objection(wanted, probe(wanted)))
    assert objection(sent, probe(sent)) is None


def test_a_missing_or_other_data_file_is_named_unless_the_data_are_sent(own_data_folder: Path) -> None:
    file = own_data_folder / "uci" / "twonorm" / "twonorm_R.dat"
    file.parent.mkdir(parents=True)
    file.write_text("rows")
    wanted, sent = (demands_of([TWONORM], data=data, code=True) for data in (True, False))
    demands._digest.cache_clear()
    file.unlink()  # a set that could be generated instead, which would be another set
    assert "lacks the data file uci/twonorm/twonorm_R.dat" in str(objection(wanted, probe(wanted)))
    assert objection(sent, probe(sent)) is None
    demands._digest.cache_clear()
    file.write_text("other rows")
    assert "has another version of the data file" in str(objection(wanted, probe(wanted)))
    demands._digest.cache_clear()
