"""The grid of the UCI benchmark: which cells, in which order, filed under which name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.cell import digest_of
from gpcnoise_cli.grid.request import parse_names, parse_numbers, take_shard
from gpcnoise_cli.grid.uci import Grid, ledger_for

ALL = ("step", "probit", "logit", "softmax")


def grid(
    preset: str = "paper",
    datasets: tuple[str, ...] = ("twonorm", "waveform"),
    likelihoods: tuple[str, ...] = ALL,
    splits: tuple[int, ...] = (0, 1),
    overrides: tuple[str, ...] = (),
    all_likelihoods: bool = False,
) -> Grid:
    return Grid(preset, "paper", "rbf", datasets, likelihoods, splits, overrides, all_likelihoods)


def test_softmax_is_left_out_on_binary_sets_unless_asked_for() -> None:
    names = [cell.name for cell in grid(splits=(0,)).cells()]
    assert "paper/rbf/waveform/softmax/split-00" in names
    assert "paper/rbf/twonorm/softmax/split-00" not in names
    assert "paper/rbf/twonorm/softmax/split-00" in [c.name for c in grid(all_likelihoods=True).cells()]


def test_a_likelihood_for_another_number_of_classes_is_left_out_even_if_all_are_asked_for() -> None:
    for everything in (False, True):
        names = {
            cell.name.removeprefix("paper/rbf/").removesuffix("/split-00")
            for cell in Grid(
                "fast",
                "paper",
                "rbf",
                ("waveform", "ringnorm"),
                ("augmented", "probit_quadrature", "softmax_sampled"),
                (0,),
                all_likelihoods=everything,
            ).cells()
        }
        assert names == {
            "waveform/augmented",
            "ringnorm/augmented",
            "ringnorm/probit_quadrature",
            "waveform/softmax_sampled",
        }


def test_cheapest_first_within_a_split() -> None:
    cells = grid(datasets=("letter", "waveform", "twonorm")).cells()
    assert [cell.config.split for cell in cells] == sorted(cell.config.split for cell in cells)
    first = [cell.config.dataset.name for cell in cells if cell.config.split == 0]
    assert first == ["twonorm"] * 3 + ["waveform"] * 4 + ["letter"] * 4


def test_a_cell_has_the_configuration_that_train_would_compose() -> None:
    cells = grid(datasets=("waveform", "letter"), likelihoods=("softmax",), splits=(3,)).cells()
    asked = ["dataset=letter", "likelihood=softmax", "preset=paper", "protocol=paper", "kernel=rbf", "split=3"]
    assert digest_of(compose(asked)) in [cell.digest for cell in cells]


def test_shards_divide_the_grid_and_nothing_is_left_over() -> None:
    cells = grid().cells()
    shards = [take_shard(cells, f"{part}/3") for part in (1, 2, 3)]
    assert sorted(cell.name for shard in shards for cell in shard) == sorted(cell.name for cell in cells)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", ""])
def test_a_wrong_shard_is_refused(shard: str) -> None:
    with pytest.raises(UsageError, match="I/N"):
        take_shard([1, 2], shard)


def test_numbers_and_names() -> None:
    assert parse_numbers("0-2,7, 5", "--splits") == (0, 1, 2, 5, 7)
    assert parse_names("a, b,,a") == ("a", "b")
    for wrong in ("", "a", "3-1", "-1", "1.5", "0-99999999"):
        with pytest.raises(UsageError, match="--splits"):
            parse_numbers(wrong, "--splits")


def test_only_full_settings_are_filed_under_the_plain_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few: dict[str, Any] = {"likelihoods": ("probit",)}
    short = grid(**few, overrides=("iterations=200", "inducing=10"))
    results = Path("results")
    assert ledger_for(grid(**few), None).folder == results / "uci"
    assert ledger_for(grid(preset="fast", **few), None).folder == results / "uci-fast"
    assert ledger_for(grid(**few, overrides=("iterations=10000",)), None).folder == results / "uci"
    assert ledger_for(short, None).folder == results / "uci-inducing-10-iterations-200"
    assert ledger_for(short, results.resolve()).folder.name == "uci-inducing-10-iterations-200"
    assert ledger_for(short, Path("mine")).folder == Path("mine/uci")
    assert short.cells()[0].departures == {"iterations": 200, "inducing": 10}


def test_a_setting_that_one_likelihood_has_already_departs_for_the_others() -> None:
    tolerance = compose(["preset=fast", "likelihood=step"]).optimizer.tolerance
    assert compose(["preset=fast", "likelihood=softmax"]).optimizer.tolerance != tolerance
    asked = (f"optimizer.tolerance={tolerance}",)
    both = grid(preset="fast", likelihoods=("step", "softmax"), overrides=asked)
    assert ledger_for(both, None).folder.name == f"uci-fast-tolerance-{tolerance}"
    assert {cell.config.likelihood.name: cell.departures for cell in both.cells()} == {
        "step": {},
        "softmax": {"optimizer.tolerance": tolerance},
    }
    assert ledger_for(grid(preset="fast", likelihoods=("step",), overrides=asked), None).folder.name == "uci-fast"


def test_likelihoods_multiply_for_svgp_and_another_method_has_one_column(another_method: str) -> None:
    asked = Grid(
        "paper", "clean", "rbf", ("twonorm", "waveform"), ("step", "softmax"), (4,), methods=("forest", "svgp")
    )
    cells = {cell.name: cell.config for cell in asked.cells()}
    assert sorted(cells) == [
        "clean/rbf/twonorm/step/split-04",
        "clean/rbf/waveform/forest/split-04",  # not on twonorm, which is binary
        "clean/rbf/waveform/softmax/split-04",
        "clean/rbf/waveform/step/split-04",
    ]
    forest = cells["clean/rbf/waveform/forest/split-04"]
    assert (forest.method.name, forest.method.settings["trees"]) == ("forest", 50)
    assert cells["clean/rbf/waveform/step/split-04"].method.name == "svgp"
    assert [cell.method.name for name, cell in cells.items() if "forest" not in name] == ["svgp"] * 3


def test_a_request_that_no_machine_would_finish_is_refused() -> None:
    with pytest.raises(UsageError, match="70000 cells, more than 10000"):
        grid(datasets=("waveform",), likelihoods=("step",), splits=tuple(range(70_000))).cells()
