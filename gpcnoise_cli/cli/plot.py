"""`gpcnoise plot`: pictures of one run, or of several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcnoise_cli.cli.console import emit_json, say
from gpcnoise_cli.cli.options import Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.run_view import CellView, RunView


def plot(
    runs: Annotated[
        list[Path],
        typer.Argument(help="A run folder; or several run folders and result cells (JSON).", metavar="RUN_DIR|CELL..."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The folder to write to. Default: `plots` in the run folder; for several, plots/ here.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """The curve, reliability, selective accuracy and confusion of a run; or the scores and curves of several.

    Example: gpcnoise plot runs/first

    Several: gpcnoise plot runs/first runs/second results/uci/paper/rbf/letter/softmax/split-00.json
    """
    from gpcnoise_cli.figures.drawings import run_view as drawings
    from gpcnoise_cli.figures.drawings.style import drawing
    from gpcnoise_cli.figures.run_view import is_run_folder, view_cells, view_run

    if len(runs) == 1 and is_run_folder(runs[0]):
        view = view_run(runs[0])
        with drawing():
            files = _write(drawings.draw_run(view), _run_tables(view), out or runs[0] / "plots")
    else:
        views = view_cells(runs)
        with drawing():
            files = _write(drawings.draw_comparison(views), _comparison_tables(views), out or Path("plots"))
    if json:
        emit_json({"runs": runs, "files": files})
    else:
        for path in files:
            typer.echo(path)
        say(f"{len(files)} files written.")


def _write(figures: dict[str, Figure], tables: dict[str, list[dict[str, Any]]], folder: Path) -> list[Path]:
    from gpcnoise_cli.figures.drawings.files import make_folder, save_figure, write_csv

    make_folder(folder)
    files = [path for name, figure in figures.items() for path in save_figure(figure, folder, name)]
    for name, rows in tables.items():
        write_csv(folder / f"{name}.csv", rows)
        files.append(folder / f"{name}.csv")
    return files


def _run_tables(view: RunView) -> dict[str, list[dict[str, Any]]]:
    table, selective = view.reliability, view.selective
    bins = zip(table.confidence, table.accuracy, table.count, strict=True)
    return {
        "curve": _rows(view.curve),
        "reliability": [{"confidence": c, "accuracy": a, "rows": n} for c, a, n in bins],
        "selective": _rows({"coverage": selective.coverage.tolist(), "accuracy": selective.accuracy.tolist()}),
        "confusion": [
            {"observed": name, **{str(other): n for other, n in zip(view.class_names, row, strict=True)}}
            for name, row in zip(view.class_names, view.confusion, strict=True)
        ],
    }


def _comparison_tables(views: list[CellView]) -> dict[str, list[dict[str, Any]]]:
    told = (
        "dataset",
        "method",
        "kernel",
        "objective",
        "bound",
        "preset",
        "protocol",
        "split",
        "iterations",
        "acc",
        "nll",
        "brier",
        "ece",
        "ece_equal_mass",
        "auroc",
        "acc_at_80",
        "acc_at_90",
        "acc_at_95",
    )
    scores = [{"run": view.label, **{key: view.record.get(key) for key in told}} for view in views]
    curves = [{"run": view.label, **row} for view in views for row in _rows(view.curve)]
    return {"comparison": scores, **({"curves": curves} if curves else {})}


def _rows(columns: dict[str, list[float]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
