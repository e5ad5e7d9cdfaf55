"""`gpcnoise export`: a trained model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcnoise_cli.cli.console import emit_json, say
from gpcnoise_cli.cli.options import Json


def export(
    run_dir: Annotated[Path, typer.Argument(help="A folder that `gpcnoise train` made.", metavar="RUN_DIR")],
    form: Annotated[
        str,
        typer.Option("--format", help="numpy (a .npz file), onnx (.onnx) or savedmodel (a folder).", metavar="FORMAT"),
    ],
    out: Annotated[Path, typer.Option("--out", help="The file (savedmodel: folder) to write.", metavar="PATH")],
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")] = False,
    json: Json = False,
) -> None:
    """Write a trained model in a form that other programs run, without this one.

    All take rows of numbers before scaling, in float64, and give class probabilities. The result is compared with the
    training model on some hundred rows first, and written only if no probability differs by more than 1e-6.
    `docs/serving.md` has an example for each.

    Example: gpcnoise export runs/first --format numpy --out model.npz

    For ONNX Runtime: gpcnoise export runs/first --format onnx --out model.onnx
    """
    from gpcnoise_cli.export.exported import export_run

    result = export_run(run_dir, form, out, force=force)
    if json:
        emit_json(result)
    else:
        typer.echo(out)
        say(
            f"{result['bytes'] / 1e6:.2f} MB; on {result['rows_compared']} rows no probability differs from the "
            f"training model's by more than {result['largest_difference']:.1e} (computed by {result['computed_by']})."
        )
