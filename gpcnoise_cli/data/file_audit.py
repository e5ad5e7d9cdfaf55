"""The audit of your own table: does the order of its rows, or a column that looks like a row number, tell the class?

The vote of `audit` is taken by the place of each row in the file, and by each column that was found to look like an
identifier, whether it is left out or not; texts are put in alphabetical order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.audit import Audit, audit_column
from gpcnoise_cli.data.cells import Cells
from gpcnoise_cli.data.table import fitter_of, labelled_blocks
from gpcnoise_cli.data.table_file import open_table
from gpcnoise_cli.data.treatment import Treatment

ROW_ORDER = "(row order)"


def audit_file(path: str | Path, target: str, treatment: Treatment) -> list[Audit]:
    """One audit for the order of the rows, and one for each column that looks like an identifier."""
    with open_table(path, treatment.sep, treatment.encoding) as file, file.naming():
        fitted = fitter_of(file, target, treatment).finish()
        suspects = [one.name for one in fitted.findings if one.identifier or one.kind == "identifier"]
        places: list[NDArray[np.int64]] = []
        labels: list[NDArray[np.int64]] = []
        texts: dict[str, list[str]] = {name: [] for name in suspects}
        for frame, y, rows in labelled_blocks(file, fitted.encoder):
            places.append(rows)
            labels.append(y)
            for name in suspects:
                cells = Cells.of(frame[name], treatment.markers)
                column = np.full(len(frame), "", dtype=object)
                column[cells.positions] = cells.as_texts()
                texts[name] += column.tolist()
    y, classes = np.concatenate(labels), len(fitted.encoder.class_names)
    numbers = {ROW_ORDER: np.concatenate(places).astype(np.float64)}
    numbers |= {name: _order(column) for name, column in texts.items()}
    return [audit_column(name, file.name, number, y, classes) for name, number in numbers.items()]


def _order(texts: list[str]) -> NDArray[np.float64]:
    """The texts as numbers, or by their alphabetical order where one is none."""
    try:
        return np.asarray(texts, dtype=object).astype(np.float64)
    except ValueError:
        return np.unique(texts, return_inverse=True)[1].astype(np.float64)
