"""An experiment's numbers turned into files: pictures as PNG and PDF, tables as CSV, and a summary that says it all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.figures.files import make_folder, save_figure, write_csv
from gpcnoise_cli.figures.style import drawing
from gpcnoise_cli.files import write_json, write_text

if TYPE_CHECKING:
    from gpcnoise_cli.figures.experiment import Experiment, Result, Settings

SUMMARY = "summary.json"


@dataclass(frozen=True)
class Published:
    """What was written for one experiment, and what it says."""

    name: str
    folder: Path
    files: tuple[Path, ...]
    note: str
    findings: tuple[str, ...]
    summary: dict[str, Any]


def publish(experiment: Experiment, settings: Settings, result: Result, folder: Path) -> Published:
    """Draw and write everything; the summary comes last, so a folder that has it is complete."""
    make_folder(folder)
    note, files = settings.note(), []
    with drawing():
        for name, figure in experiment.draw(result, note).items():
            files += save_figure(figure, folder, name)
    for name, rows in result.tables().items():
        path = folder / f"{name}.csv"
        write_csv(path, rows, note)
        files.append(path)
    warning = [f"{note[0].upper()}{note[1:]}; so what follows is no verdict on the paper."] if note else []
    findings = (*warning, *result.findings())
    summary = {"experiment": experiment.name, "settings": asdict(settings), "note": note, **result.summary()}
    write_json(folder / SUMMARY, {**summary, "findings": findings, "files": sorted(path.name for path in files)})
    return Published(experiment.name, folder, (*files, folder / SUMMARY), note, findings, summary)


def read_published(experiment: Experiment, folder: Path) -> Published | None:
    """What an earlier run left in `folder`; None where it left nothing complete."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        files = tuple(folder / name for name in summary["files"])
        return Published(experiment.name, folder, files, summary["note"], tuple(summary["findings"]), summary)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_index(path: Path, parts: Sequence[tuple[Experiment, Published | str]]) -> None:
    """`index.md`: every experiment with its pictures, numbers and findings, or why there are none."""
    lines = ["# Figures", "", "`gpcnoise reproduce all` computes all of this; each part has its own command.", ""]
    for experiment, published in parts:
        lines += [f"## {experiment.name}: {experiment.shows}", ""]
        if isinstance(published, str):
            lines += [f"Not done: {published}", ""]
            continue
        inside = _beside(published.folder, path.parent)
        lines += [f"`gpcnoise reproduce {experiment.name}`", ""]
        lines += [f"- {finding}" for finding in published.findings]
        lines += [""]
        lines += [f"![{file.stem}]({inside}/{file.name})" for file in published.files if file.suffix == ".png"]
        lines += ["", "Files: " + ", ".join(f"[{file.name}]({inside}/{file.name})" for file in published.files), ""]
    make_folder(path.parent)
    write_text(path, "\n".join(lines))


def _beside(folder: Path, base: Path) -> str:
    return folder.relative_to(base).as_posix() if folder.is_relative_to(base) else folder.as_posix()
