"""Every ablation is a grid that flips something."""

from __future__ import annotations

import pytest

from gpcnoise_cli.claims.ablations import ABLATIONS, check_likelihoods
from gpcnoise_cli.claims.evidence import Source
from gpcnoise_cli.errors import UsageError


@pytest.mark.parametrize(
    ("name", "preset"), [(name, preset) for name in ABLATIONS for preset in ABLATIONS[name].overrides]
)
def test_every_ablation_is_a_grid_that_flips_something(name: str, preset: str) -> None:
    ablation, source = ABLATIONS[name], Source(preset, "paper")
    grid = ablation.grid(source, "rbf", (0,))
    cells = grid.cells()
    assert cells
    assert bool(grid.departures()) != ablation.is_plain
    assert {(cell.config.preset, cell.config.protocol) for cell in cells} == {
        ("paper" if ablation.other == "preset" else preset, "clean" if ablation.other == "protocol" else "paper")
    }


def test_a_preset_that_has_it_already_is_named() -> None:
    with pytest.raises(UsageError, match="kernel-per-class flips nothing in preset paper; name fast"):
        ABLATIONS["kernel-per-class"].grid(Source("paper", "paper"), "rbf", (0,))


def test_softmax_has_no_prior_to_flip() -> None:
    for name in ("delta-prior", "fixed-delta"):
        with pytest.raises(UsageError, match="softmax has no δ"):
            check_likelihoods(ABLATIONS[name], ("softmax",))
