"""Your own data set: what each column is, which classes there are, and how later files are read the same way.

`read_own_file` reads a file for training, in two passes: `TableFitter` looks at every block, then every block is
encoded. `read_feature_blocks` and `read_labelled` read new files for predict and evaluate through the `TableEncoder`
that was recorded then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.audit import audit_column
from gpcnoise_cli.data.cell import Cell, CellError, shown
from gpcnoise_cli.data.cells import Cells
from gpcnoise_cli.data.column_kinds import ColumnObserver, Finding
from gpcnoise_cli.data.encoder import TableEncoder, Tally
from gpcnoise_cli.data.labels import named_classes, present_labels
from gpcnoise_cli.data.split import ClassName, Table
from gpcnoise_cli.data.table_file import BLOCK_ROWS, TableFile, open_table
from gpcnoise_cli.data.table_parts import TableParts
from gpcnoise_cli.data.treatment import KEEP, Treatment, unknown_column
from gpcnoise_cli.errors import GpcnoiseError, UsageError, nearest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class FittedTable:
    """What a table turned out to be."""

    encoder: TableEncoder
    findings: tuple[Finding, ...]
    labelled: int
    """Rows that have a class; the others are left out."""
    notes: tuple[str, ...]


class TableFitter:
    """Fits an encoder block by block: `observe` each block, of one file or of several, then `finish`."""

    def __init__(self, target: str, treatment: Treatment | None = None, *, typed: bool = True) -> None:
        self.target, self.treatment, self.typed = target, treatment or Treatment(), typed
        self.columns: dict[str, ColumnObserver] = {}
        self.classes: Counter[ClassName] = Counter()
        self.rows = 0

    def observe(self, frame: pd.DataFrame) -> None:
        """Rows without a class count for nothing."""
        header = [str(name) for name in frame.columns]
        if not self.columns:
            self._begin(header)
        absent = [name for name in (self.target, *self.columns) if name not in header]
        if absent:
            raise GpcnoiseError(f"column {absent[0]!r} is not in every part of the table.")
        has_class, labels = present_labels(frame[self.target], self.treatment.markers)
        self.classes.update(labels)
        rows = self.rows + np.flatnonzero(has_class)
        for name, observer in self.columns.items():
            observer.observe(Cells.of(frame.loc[has_class, name], self.treatment.markers), rows)
        self.rows += len(frame)

    def _begin(self, header: Sequence[str]) -> None:
        if self.target not in header:
            close = nearest(self.target, header)
            hint = f"did you mean {' or '.join(repr(name) for name in close)}? " if close else ""
            listed = ", ".join(header[:20]) + (", …" if len(header) > 20 else "")
            raise UsageError(f"there is no target column {self.target!r}; {hint}the file has: {listed}.")
        roles = self.treatment.roles(header, self.target)
        self.columns = {name: ColumnObserver(name, roles.get(name)) for name in header if name != self.target}
        if not self.columns:
            raise GpcnoiseError(f"there is no column besides the target {self.target!r}; features are needed.")

    def finish(self) -> FittedTable:
        labelled = self.classes.total()
        class_names = named_classes(self.classes, self.target, typed=self.typed)
        findings = tuple(observer.finish(self.treatment.missing) for observer in self.columns.values())
        columns = tuple(finding.column for finding in findings if finding.column is not None)
        if not columns:
            reasons = "; ".join(f"{finding.name}: {finding.used}" for finding in findings[:5])
            raise GpcnoiseError(f"no column is left to learn from ({reasons}).")
        kept = tuple(name for name, observer in self.columns.items() if observer.role == KEEP)
        encoder = TableEncoder(columns, self.target, class_names, self.treatment.markers, kept)
        return FittedTable(encoder, findings, labelled, tuple(self._notes(findings, self.rows - labelled)))

    def _notes(self, findings: Sequence[Finding], unlabelled: int) -> Iterator[str]:
        if unlabelled:
            yield f"{_rows(unlabelled)} without a class in column {self.target!r} left out."
        for finding in findings:
            if finding.column is None and finding.kind not in ("ignored", "kept"):
                yield f"column {finding.name!r} is left out: {finding.why}."
            yield from finding.notes
        filled = [finding.name for finding in findings if finding.column is not None and finding.missing]
        if filled and self.treatment.missing == "impute":
            names = ", ".join(repr(name) for name in filled[:5]) + (", …" if len(filled) > 5 else "")
            yield f"missing values in {names} are filled (--missing refuse refuses them)."


def _rows(count: int) -> str:
    return f"{count:,} row{'s' if count != 1 else ''}"


def fit_encoder(frame: pd.DataFrame, target: str, treatment: Treatment | None = None) -> TableEncoder:
    """The encoder of a data frame; `target` holds the classes."""
    fitter = TableFitter(target, treatment)
    fitter.observe(frame)
    return fitter.finish().encoder


def fitter_of(file: TableFile | TableParts, target: str, treatment: Treatment) -> TableFitter:
    """The first pass: every block of the file observed."""
    fitter = TableFitter(target, treatment, typed=file.typed)
    for frame in file.blocks(BLOCK_ROWS):
        fitter.observe(frame)
    return fitter


def read_own_file(path: str | Path, target: str, treatment: Treatment | None = None) -> Table:
    """A whole file for training; numbers that are missing are NaN, for the split to fill."""
    treatment = treatment or Treatment()
    with open_table(path, treatment.sep, treatment.encoding) as file, file.naming():
        fitted = fitter_of(file, target, treatment).finish()
        encoder = fitted.encoder
        X = np.empty((fitted.labelled, len(encoder.feature_names)))
        y, numbers = np.empty((2, fitted.labelled), dtype=np.int64)
        weights = np.empty(fitted.labelled) if treatment.weights is not None else None
        place = 0
        for frame, classes, rows in labelled_blocks(file, encoder):
            block = slice(place, place + len(frame))
            X[block], y[block] = encoder.encode(frame, rows=rows, fill=False), classes
            numbers[block] = rows
            if weights is not None and treatment.weights is not None:
                weights[block] = _weights_in(frame, treatment.weights, rows)
            place = block.stop
        notes = (*file.notes(), *fitted.notes, *leaks(fitted, X, y))
    return Table(
        X, y, encoder.class_names, encoder.feature_names, source="file", encoder=encoder,
        findings=fitted.findings, notes=notes, rows=numbers, weights=weights,
    )  # fmt: skip


def read_weights(path: str | Path, encoder: TableEncoder, treatment: Treatment) -> NDArray[np.float64] | None:
    """The weights of the rows that have a class; None where no column holds any."""
    if treatment.weights is None:
        return None
    with open_table(path, treatment.sep, treatment.encoding) as file, file.naming():
        blocks = labelled_blocks(file, encoder)
        return np.concatenate([_weights_in(frame, treatment.weights, rows) for frame, _, rows in blocks])


def _weights_in(frame: pd.DataFrame, column: str, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    import pandas as pd

    if column not in frame.columns:
        raise unknown_column(column, list(frame.columns))
    found = np.asarray(pd.to_numeric(frame[column], errors="coerce"), dtype=np.float64)
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        cell = Cell(int(rows[row]), column, frame[column].iloc[row])
        raise CellError(cell, f"{shown(cell.value)} is no weight", "a weight is a number of at least 0")
    return found


def leaks(fitted: FittedTable, X: NDArray[np.float64], y: NDArray[np.int64]) -> Iterator[str]:
    """A warning for each column that looks like a row number, is used all the same, and tells the class."""
    features = fitted.encoder.feature_names
    for finding in fitted.findings:
        if finding.column is None or not finding.identifier or finding.column.kind != "numeric":
            continue
        numbers = X[:, features.index(finding.name)]
        known = ~np.isnan(numbers)
        audit = audit_column(finding.name, "file", numbers[known], y[known], len(fitted.encoder.class_names))
        if audit.verdict != "none":
            yield (
                f"warning: column {finding.name!r} looks like a row number and tells the class: alone it is right in "
                f"{audit.vote:.1f}% of rows (the largest class: {audit.majority:.1f}%), so the scores say little about "
                "new rows."
            )


def read_feature_blocks(
    path: str | Path,
    encoder: TableEncoder,
    rows: int,
    treatment: Treatment | None = None,
    tally: Tally | None = None,
) -> Iterator[tuple[NDArray[np.float64], pd.DataFrame]]:
    """The features of a new file block by block, at most `rows` rows each, with the columns to keep as they are."""
    treatment = treatment or Treatment()
    with open_table(path, treatment.sep, treatment.encoding) as file, file.naming():
        place = 0
        for frame in file.blocks(rows):
            header = list(frame.columns)
            for name in treatment.keep:
                if name not in header:
                    raise unknown_column(name, header)
            kept = [name for name in dict.fromkeys((*encoder.kept, *treatment.keep)) if name in header]
            yield encoder.encode(frame, rows=place + np.arange(len(frame)), tally=tally), frame[kept]
            place += len(frame)


def read_features(path: str | Path, encoder: TableEncoder) -> NDArray[np.float64]:
    """The features of a whole new file, before scaling; columns may stand in any order."""
    return np.vstack([X for X, _ in read_feature_blocks(path, encoder, BLOCK_ROWS)])


def read_labelled(
    path: str | Path, encoder: TableEncoder, treatment: Treatment | None = None, tally: Tally | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features and class numbers of a new file that has the target column too; rows without a class are left out."""
    blocks = [*read_labelled_blocks(path, encoder, treatment, tally)]
    return np.vstack([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


def read_labelled_blocks(
    path: str | Path, encoder: TableEncoder, treatment: Treatment | None = None, tally: Tally | None = None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """The same block by block."""
    treatment, found = treatment or Treatment(), 0
    with open_table(path, treatment.sep, treatment.encoding) as file, file.naming():
        for frame, classes, rows in labelled_blocks(file, encoder, tally):
            yield encoder.encode(frame, rows=rows, tally=tally), classes
            found += len(classes)
        if not found:
            raise GpcnoiseError(f"no row has a class in column {encoder.target!r}; labelled rows are needed.")


def labelled_blocks(
    file: TableFile | TableParts, encoder: TableEncoder, tally: Tally | None = None
) -> Iterator[tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.int64]]]:
    """The rows that have a class, the numbers of their classes, and their numbers in the table."""
    place = 0
    for frame in file.blocks(BLOCK_ROWS):
        if encoder.target not in frame.columns:
            raise GpcnoiseError(f"missing target column {encoder.target!r}; it holds the true classes.")
        rows = place + np.arange(len(frame))
        y = encoder.encode_labels(frame[encoder.target], rows)
        known = y >= 0
        if tally is not None:
            tally.unlabelled += len(y) - int(known.sum())
        yield frame[known], y[known], rows[known]
        place += len(frame)
