"""`gpcnoise plot`: pictures of one run, or of several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcnoise_cli.cli.console import emit_json, say
from gpcnoise_cli.cli.options import Json


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
    from gpcnoise_cli.figures.files import check_folder, make_folder, save_figure, write_csv
    from gpcnoise_cli.figures.run_pictures import draw_comparison, draw_run
    from gpcnoise_cli.figures.run_view import comparison_tables, is_run_folder, view_cells, view_run
    from gpcnoise_cli.figures.style import drawing

    single = len(runs) == 1 and is_run_folder(runs[0])
    folder = out or (runs[0] / "plots" if single else Path("plots"))
    check_folder(folder)
    with drawing():
        if single:
            view = view_run(runs[0])
            figures, tables = draw_run(view), view.tables()
        else:
            views = view_cells(runs)
            figures, tables = draw_comparison(views), comparison_tables(views)
        make_folder(folder)
        files = [path for name, figure in figures.items() for path in save_figure(figure, folder, name)]
    for name, rows in tables.items():
        write_csv(folder / f"{name}.csv", rows)
        files.append(folder / f"{name}.csv")
    if json:
        emit_json({"runs": runs, "files": files})
    else:
        for path in files:
            typer.echo(path)
        say(f"{len(files)} files written.")
