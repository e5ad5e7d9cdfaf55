"""`gpcnoise predict`: classes and class probabilities for new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcnoise_cli.cli.columns import Encoding, Separator
from gpcnoise_cli.cli.console import emit_data, emit_json, say, stderr
from gpcnoise_cli.cli.interruption import stop_on_signal
from gpcnoise_cli.cli.options import Json
from gpcnoise_cli.cli.streams import reader_gone
from gpcnoise_cli.cli.trust_options import Calibrate, CostTable, FlagFar, Sets
from gpcnoise_cli.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from gpcnoise_cli.runs.trust import Judged

STDOUT = Path("-")


def predict(
    run_dir: Annotated[Path, typer.Argument(help="A folder that `gpcnoise train` made.", metavar="RUN_DIR")],
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            help="A table with the columns of training, found by name in any order; others are ignored. "
            "CSV, TSV, JSON lines, Parquet, Feather, Excel; a folder or a quoted pattern of such; - is standard input.",
            metavar="FILE",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="The file to write: .csv, .tsv (also .gz) or .parquet. Default: CSV on standard output.",
            metavar="FILE",
            show_default=False,
        ),
    ] = STDOUT,
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Carry a column of --data into the result. May be repeated.", metavar="COLUMN"),
    ] = None,
    sep: Separator = None,
    encoding: Encoding = None,
    sets: Sets = None,
    flag_far: FlagFar = False,
    calibrate: Calibrate = None,
    costs: CostTable = None,
    json: Json = False,
) -> None:
    """Predict the class of every row of a file, with a probability for each class.

    The result has one row per row of the file, in its order. Its first column is `class`, the most probable class under
    its name in your data; then comes one column `p(NAME)` per class, the probability of that class. Columns kept, here
    or in training, stand before them. Missing values and unknown levels are treated as the model's policy says.

    How far to trust them: --sets adds the column `set`, --flag-far the column `far`, --costs `decision` and
    `expected_cost`. All but --costs needs a run that held out rows: train with --calibration-rows 0.1 or --folds 5.

    Example: gpcnoise predict runs/first --data new.csv --out predictions.csv

    Sets that hold the class in 9 of 10 cases: gpcnoise predict runs/first --data new.csv --sets 0.9
    """
    from gpcnoise_cli.data.encoder import Tally
    from gpcnoise_cli.data.table_file import check_file
    from gpcnoise_cli.data.table_parts import parts_of
    from gpcnoise_cli.data.treatment import Treatment
    from gpcnoise_cli.runs.prediction_file import check_target, csv_blocks, formula_like, write_predictions
    from gpcnoise_cli.runs.trained import load_trained, predict_file
    from gpcnoise_cli.runs.trust import Asked, Judge

    asked = Asked(sets, calibrate, flag_far, costs)
    asked.check()
    if json and out == STDOUT:
        raise UsageError("--json describes the predictions, which then go to a file; give --out FILE too.")
    check_file(data)
    if out != STDOUT:
        check_target(out, force=force)
        if out.exists() and any(part.exists() and out.samefile(part) for part in parts_of(data)):
            raise UsageError(f"--out {out} is a file that --data reads; choose another name.")

    with stop_on_signal() as stop_requested:
        trained = load_trained(run_dir)
        formulas = formula_like(trained.class_names) if out.suffix != ".parquet" else []
        if formulas:
            say(f"a spreadsheet would take {formulas[0]!r} for a formula; import the column `class` as text there.")
        counts, tally = [0] * len(trained.class_names), Tally()
        treatment = Treatment(keep=tuple(keep or ()), sep=sep, encoding=encoding)
        judge = Judge(trained, run_dir, asked)
        for note in judge.notes:
            say(note)
        followed = _followed(predict_file(trained, data, judge, treatment, tally), counts, stop_requested)
        blocks = ((judged.probabilities, kept, judge.columns(judged)) for judged, kept in followed)
        if out == STDOUT:
            for text in csv_blocks(blocks, trained.class_names):
                emit_data(text)
                if reader_gone():
                    break
        else:
            write_predictions(out, blocks, trained.class_names)
    for sentence in tally.sentences():
        say(sentence)
    if out == STDOUT:
        return
    if json:
        classes = [{"class": name, "rows": count} for name, count in zip(trained.class_names, counts, strict=True)]
        emit_json({"run_dir": run_dir, "data": data, "out": out, "rows": sum(counts), "classes": classes})
    else:
        found = ", ".join(f"{name}: {count}" for name, count in zip(trained.class_names, counts, strict=True))
        say(f"predicted {sum(counts)} rows ({found}); saved in {out}")


def _followed(
    blocks: Iterator[tuple[Judged, pd.DataFrame]], counts: list[int], stop_requested: Callable[[], bool]
) -> Iterator[tuple[Judged, pd.DataFrame]]:
    """Pass blocks on, count the predicted classes, show how far it is, and heed a request to stop."""
    with stderr().status("predicting") as status:
        for judged, kept in blocks:
            if stop_requested():
                raise KeyboardInterrupt
            for winner in judged.probabilities.argmax(axis=1).tolist():
                counts[winner] += 1
            status.update(f"predicting: {sum(counts)} rows")
            yield judged, kept
