"""Pictures of a run, whatever its classes are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpcnoise_cli.evaluation.calibration import reliability
from gpcnoise_cli.evaluation.metrics import evaluate
from gpcnoise_cli.evaluation.selective import selective_curve
from gpcnoise_cli.figures.files import save_figure
from gpcnoise_cli.figures.run_pictures import draw_run
from gpcnoise_cli.figures.run_view import RunView
from gpcnoise_cli.figures.style import drawing


def test_a_class_name_is_no_formula(tmp_path: Path) -> None:
    p, y = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]), np.array([0, 1, 1])
    view = RunView(
        label="a run",
        curve={"step": [1, 2], "elbo": [-2.0, -1.0], "acc": [50.0, 66.7], "nll": [0.7, 0.5]},
        metrics=evaluate(p, y),
        reliability=reliability(p, y),
        selective=selective_curve(p, y),
        confusion=np.array([[1, 0], [1, 1]]),
        class_names=("$5 to $10", r"$\more$"),
        objective="elbo",
    )
    with drawing():
        figures = draw_run(view)
        assert all(save_figure(figure, tmp_path, name) for name, figure in figures.items())
    labels = [label.get_text() for label in figures["confusion"].axes[0].get_xticklabels()]
    assert labels == [r"\$5 to \$10", r"\$\more\$"]
    assert view.tables()["confusion"][1] == {"observed": r"$\more$", "$5 to $10": 1, r"$\more$": 1}
