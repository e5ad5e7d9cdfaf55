"""Sweeps in Hydra's syntax become cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.sweep import expand


def test_lists_ranges_choices_and_globs_multiply() -> None:
    cells = expand(["likelihood=step,probit", "inducing=range(5,15,5)", "kernel=glob(matern5*)", "seed=7"])
    assert len(cells) == 8
    assert cells[0].values == {"likelihood": "step", "inducing": "5", "kernel": "matern52"}
    configs = [one.cell.config for one in cells]
    assert {(c.likelihood.name, c.inducing, c.kernel.name) for c in configs} == {
        (likelihood, inducing, kernel)
        for likelihood in ("step", "probit")
        for inducing in (5, 10)
        for kernel in ("matern52", "matern52+rbf")
    }
    assert {c.seed for c in configs} == {7}
    assert len({one.cell.name for one in cells}) == 8


def test_data_sets_by_a_pattern() -> None:
    assert [one.values["dataset"] for one in expand(["dataset=glob(wave*)"])] == ["waveform", "waveform-noise"]


def test_methods_are_swept_like_other_groups(another_method: str) -> None:
    cells = expand(["method=svgp,forest"])
    assert [one.cell.config.method.name for one in cells] == ["svgp", "forest"]


def test_values_that_mean_the_same_are_one_cell() -> None:
    assert len(expand(["optimizer.learning_rate=0.01,1e-2"])) == 1


def test_nothing_swept_is_one_cell_and_a_quoted_list_is_one_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (one,) = expand(["dataset=file", "dataset.path='a, b.csv'", "dataset.target=y"])
    assert one.values == {}
    assert one.cell.config.dataset.path == str(tmp_path / "a, b.csv")


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("inducing=interval(0,1)", "interval"),
        ("likelihood=step,sofmax", "did you mean 'softmax'"),
        ("inducing", "KEY=VALUE"),
        ("seed=range(0,100000)", "more than 10000"),
        ("seed=range(0,100000000000)", "100000000000 cells, more than 10000"),  # which no memory would hold
        ("seed=shuffle(range(0,100000000000))", "more than 10000"),
        ("seed=range(0,10,0)", "has no end"),
        ("optimizer.learning_rate=range(0,inf)", "has no end"),
        ("kernel=glob(none*)", "names no value"),
        ("nonsense=1,2", "unknown key 'nonsense'"),
    ],
)
def test_a_wrong_sweep_is_one_sentence(override: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        expand([override])
