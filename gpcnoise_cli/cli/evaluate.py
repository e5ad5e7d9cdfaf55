"""`gpcnoise evaluate`: how good a trained model is, on its own test split or on a labelled file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcnoise_cli.cli.console import emit_json, print_table
from gpcnoise_cli.cli.options import Json


def evaluate(
    run_dir: Annotated[Path, typer.Argument(help="A folder that `gpcnoise train` made.", metavar="RUN_DIR")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="CSV, TSV or Parquet with the columns of training and the class. Default: the run's own test split.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Accuracy (%), mean negative log likelihood (nats), Brier score and calibration error of a trained model.

    Example: gpcnoise evaluate runs/first

    On new labelled rows: gpcnoise evaluate runs/first --data labelled.csv
    """
    from gpcnoise_cli.data.table_file import check_file
    from gpcnoise_cli.experiments.trained import evaluate_trained, load_trained

    if data is not None:
        check_file(data)
    result = {"run_dir": str(run_dir), **evaluate_trained(load_trained(run_dir), data)}
    if json:
        emit_json(result)
    else:
        _print_result(result)


def _print_result(result: dict[str, Any]) -> None:
    where = result["data"] or result["dataset"]
    if result["rows"] == "test split":
        where = f"the test rows of {where} (protocol {result['protocol']}, split {result['split']})"
    title = (
        f"{result['method']} ({result['likelihood']}, {result['bound']} bound) on {where}: "
        f"{result['n']} rows, {result['classes']} classes"
    )
    row = [f"{result['acc']:.2f}", f"{result['nll']:.4f}", f"{result['brier']:.4f}", f"{result['ece']:.4f}"]
    print_table(("acc %", "nll", "Brier", "ECE"), [row], title=title)
