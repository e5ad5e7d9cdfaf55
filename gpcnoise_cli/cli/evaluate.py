"""`gpcnoise evaluate`: how good a trained model is, on its own test split or on a labelled file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcnoise_cli.cli.columns import Encoding, Separator
from gpcnoise_cli.cli.console import emit_json, print_table, say
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.cli.scores import SCORES, model_title, score, score_cells

# More classes than these would push the scores off the screen; --json has them all.
MOST_CLASSES = 30


def evaluate(
    run_dir: Annotated[Path, typer.Argument(help="A folder that `gpcnoise train` made.", metavar="RUN_DIR")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="A table, or a folder or pattern of tables, with the columns of training and the class "
            "(- is standard input). "
            "Default: the run's own test split.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    sep: Separator = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """Accuracy, likelihood, calibration, AUROC and selective accuracy of a trained model, and each class by itself.

    acc@90 is the accuracy on the 90% of rows that the model is most confident about; nll is the mean, in nats.

    Example: gpcnoise evaluate runs/first

    On new labelled rows: gpcnoise evaluate runs/first --data labelled.csv
    """
    from gpcnoise_cli.data.encoder import Tally
    from gpcnoise_cli.data.table_file import check_file
    from gpcnoise_cli.data.treatment import Treatment
    from gpcnoise_cli.runs.trained import evaluate_trained, load_trained

    if data is not None:
        check_file(data)
    tally, treatment = Tally(), Treatment(sep=sep, encoding=encoding)
    result = {"run_dir": str(run_dir), **evaluate_trained(load_trained(run_dir), data, treatment, tally)}
    for sentence in tally.sentences():
        say(sentence)
    if json:
        emit_json(result)
    else:
        _print_result(result)


def _print_result(result: dict[str, Any]) -> None:
    where = result["data"] or result["dataset"]
    if result["rows"] == "test split":
        where = f"the test rows of {where} (protocol {result['protocol']}, split {result['split']})"
    title = f"{model_title(result)} on {where}: {result['n']} rows, {result['classes']} classes"
    print_table(tuple(SCORES), [score_cells(result, tuple(SCORES))], title=title)
    classes = result["per_class"]
    if result["classes"] <= MOST_CLASSES:
        by_class = zip(classes["rows"], classes["precision"], classes["recall"], strict=True)
        rows = [
            [str(name), str(count), score(precision, 4), score(recall, 4)]
            for name, (count, precision, recall) in zip(result["class_names"], by_class, strict=True)
        ]
        print_table(("class", "rows", "precision", "recall"), rows)
