"""The toys' geometry: where the boundary is and how far from it a point lies."""

from __future__ import annotations

import numpy as np
import pytest

from gpcnoise_cli.figures.style import drawing
from gpcnoise_cli.figures.toy import ToyPanel, ToyResult, _boundary, _mean_distance, draw

X_GRID = Y_GRID = np.linspace(0.0, 1.0, 41)


def test_the_boundary_of_a_half_plane_is_a_line() -> None:
    decision = (np.meshgrid(X_GRID, Y_GRID)[0] > 0.51).astype(int)
    boundary = _boundary(X_GRID, Y_GRID, decision)
    assert np.allclose(boundary[:, 0], 0.5125)
    assert _mean_distance(np.array([[0.4125, 0.5], [0.7125, 0.5]]), boundary) == pytest.approx(0.15)
    assert np.isnan(_mean_distance(np.zeros((1, 2)), _boundary(X_GRID, Y_GRID, np.zeros_like(decision))))


def test_a_binary_panel_is_drawn_and_the_claim_is_computed() -> None:
    p = np.broadcast_to(X_GRID, (41, 41))
    panel = ToyPanel(
        dataset="banana",
        likelihood="step",
        X=np.random.default_rng(0).uniform(size=(20, 2)),
        y=np.arange(20) % 2,
        x_grid=X_GRID,
        y_grid=Y_GRID,
        probabilities=np.stack([1 - p, p], axis=-1),
        Z_start=np.full((3, 2), 0.2),
        Z_end=np.full((3, 2), 0.4),
        distance_start=0.1,
        distance_end=0.3,
        acc=90.0,
        nll=0.2,
        train_acc=90.0,
        delta=0.1,
        seconds=1.0,
    )
    result = ToyResult((panel,), ("a sentence.",))
    with drawing():
        (figure,) = draw(result, "short").values()
    assert len(figure.axes) == 1
    said = " ".join(result.findings())
    assert "0 of 1 models" in said
    assert "contrary to the paper, but not for step on banana" in said
    assert said.endswith("Not drawn: a sentence.")
