"""`gpcnoise report`: everything a results folder or a run holds, as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcnoise_cli.cli.console import emit_json, say
from gpcnoise_cli.cli.options import Json


def report(
    folder: Annotated[
        Path, typer.Argument(help="A folder of results, or the folder of one run.", metavar="RESULTS_DIR|RUN_DIR")
    ] = Path("results"),
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="The file to write. Default: report.html in the folder.", metavar="FILE", show_default=False
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace --out even if this command did not write it.")
    ] = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the web browser.")] = False,
    json: Json = False,
) -> None:
    """One self-contained HTML page: tables beside the paper's, curves, reliability, what failed, how to repeat it.

    Example: gpcnoise report results

    One run: gpcnoise report runs/first --open
    """
    from gpcnoise_cli.page.html import NAME, check_folder, check_target, write_page

    check_folder(folder)
    path = out or folder / NAME
    check_target(path, force=force)
    written = write_page(folder, path)
    if written.trouble:
        say(written.trouble)
    if json:
        emit_json({"folder": folder, "out": path, "bytes": written.bytes})
    else:
        typer.echo(path)
        say(f"written, {written.bytes / 1e6:.1f} MB; open it in any web browser.")
    if open_page:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
