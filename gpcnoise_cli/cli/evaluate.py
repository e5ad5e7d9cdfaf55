"""`gpcnoise evaluate`: how good a trained model is, on its own test split or on a labelled file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcnoise_cli.cli.columns import Encoding, Separator
from gpcnoise_cli.cli.console import emit_json, print_table, say
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.cli.scores import SCORES, model_title, score, score_cells
from gpcnoise_cli.cli.trust_options import Calibrate, CostTable, FlagFar, Sets

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
    sets: Sets = None,
    flag_far: FlagFar = False,
    calibrate: Calibrate = None,
    costs: CostTable = None,
    json: Json = False,
) -> None:
    """Accuracy, likelihood, calibration, AUROC and selective accuracy of a trained model, and each class by itself.

    acc@90 is the accuracy on the 90% of rows that the model is most confident about; nll is the mean, in nats.

    Example: gpcnoise evaluate runs/first

    On new labelled rows: gpcnoise evaluate runs/first --data labelled.csv

    Whether prediction sets hold what they promise: gpcnoise evaluate runs/first --sets 0.9
    """
    from gpcnoise_cli.data.encoder import Tally
    from gpcnoise_cli.data.table_file import check_file
    from gpcnoise_cli.data.treatment import Treatment
    from gpcnoise_cli.runs.trained import evaluate_trained, load_trained
    from gpcnoise_cli.runs.trust import Asked

    asked = Asked(sets, calibrate, flag_far, costs)
    asked.check()
    if data is not None:
        check_file(data)
    tally, treatment = Tally(), Treatment(sep=sep, encoding=encoding)
    scores = evaluate_trained(load_trained(run_dir), run_dir, data, asked, treatment, tally)
    result = {"run_dir": str(run_dir), **scores}
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
    elif result["rows"] != "all":
        where = f"the {result['rows']} of {where}"
    for note in result.get("notes", ()):
        say(note)
    title = f"{model_title(result)} on {where}: {result['n']} rows, {result['classes']} classes"
    print_table(tuple(SCORES), [score_cells(result, tuple(SCORES))], title=title)
    _print_trust(result)
    classes = result["per_class"]
    if result["classes"] <= MOST_CLASSES:
        by_class = zip(classes["rows"], classes["precision"], classes["recall"], strict=True)
        rows = [
            [str(name), str(count), score(precision, 4), score(recall, 4)]
            for name, (count, precision, recall) in zip(result["class_names"], by_class, strict=True)
        ]
        print_table(("class", "rows", "precision", "recall"), rows)


def _print_trust(result: dict[str, Any]) -> None:
    if "calibrated" in result:
        shown = tuple(name for name, (key, _) in SCORES.items() if key in result["calibrated"]["before"])
        before = score_cells(result["calibrated"]["before"], shown)
        rows = [["as the model gives them", *before], [result["calibrated"]["by"], *score_cells(result, shown)]]
        print_table(("probabilities", *shown), rows)
    if "sets" in result:
        found = result["sets"]
        coverage, low, high = (score(100 * found[key], 2) for key in ("coverage", "low", "high"))
        row = [score(found["level"], 4), coverage, f"{low} to {high}", score(found["mean_size"], 3)]
        row.append(score(100 * found["singletons"], 2))
        print_table(("sets of level", "coverage %", "95% interval", "mean size", "of one class %"), [row])
    if "far" in result:
        found = result["far"]
        rows = [["far", found["rows"], score(found["acc"], 2)]]
        rows.append(["others", result["n"] - found["rows"], score(found["acc_of_others"], 2)])
        print_table(("rows", "number", "acc %"), rows)
    if "costs" in result:
        found = result["costs"]
        rows = [["what costs least", score(found["mean"], 4), score(found["expected"], 4)]]
        rows.append(["the most probable class", score(found["mean_by_most_probable"], 4), None])
        print_table(("decision", "mean cost", "expected"), rows)
        print_table(("decision", "rows"), list(found["decisions"].items()))
