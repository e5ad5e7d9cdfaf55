"""What the columns of a table turned out to be, for the screen, for the run folder, and without training at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.data.column_kinds import Finding

if TYPE_CHECKING:
    from gpcnoise_cli.data.split import ClassName, Split
    from gpcnoise_cli.data.treatment import Treatment

HEADINGS = ("column", "kind", "missing", "levels", "used")


@dataclass(frozen=True)
class Description:
    """A table looked at: its columns, its classes with their rows, and what is to be said about it."""

    target: str
    rows: int
    classes: dict[ClassName, int]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        classes = [{"class": name, "rows": count} for name, count in self.classes.items()]
        return {"target": self.target, "rows": self.rows, "classes": classes, **column_facts(self.findings, self.notes)}


def describe_file(path: str | Path, target: str, treatment: Treatment) -> Description:
    """Look at a file as training would, in one pass."""
    from gpcnoise_cli.data.table import fitter_of
    from gpcnoise_cli.data.table_file import open_table

    with open_table(path, treatment.sep, treatment.encoding) as file, file.naming():
        fitter = fitter_of(file, target, treatment)
        fitted = fitter.finish()
        by_text = {str(name): count for name, count in fitter.classes.items()}
        classes = {name: by_text[str(name)] for name in fitted.encoder.class_names}
        return Description(target, fitter.rows, classes, fitted.findings, (*file.notes(), *fitted.notes))


def described(split: Split) -> dict[str, Any]:
    """The summary that a run keeps."""
    return column_facts(split.findings, split.notes)


def column_facts(findings: Sequence[Finding], notes: Sequence[str]) -> dict[str, Any]:
    columns = [
        {
            "column": one.name,
            "kind": one.kind,
            "missing": one.missing,
            "levels": one.levels,
            "used": one.used,
            "features": list(one.column.features) if one.column is not None else [],
        }
        for one in findings
    ]
    return {"columns": columns, "notes": list(notes)}


def table_rows(findings: Sequence[Finding]) -> list[tuple[Any, ...]]:
    """The lines under HEADINGS; why a column is left out stands in the notes."""
    return [
        (
            one.name,
            one.kind,
            one.missing or None,
            one.levels,
            one.used.partition(":")[0] if one.column is None else one.used,
        )
        for one in findings
    ]
