"""Pictures and their numbers on disk: each written whole or not at all, the same bytes every time."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.files import write_atomically, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = 7
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}
"""The endings a picture may have, and what is kept out of it: a date or a version would change its bytes."""


def make_folder(folder: Path) -> None:
    """Make the folder for the files, or say why it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GpcnoiseError(f"cannot make the folder {folder}: {error.strerror}; choose another --out.") from error


def check_folder(folder: Path) -> None:
    """Refuse, before any work is done, a folder that `make_folder` could not make or nobody may write to."""
    there = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), Path())
    if not there.is_dir():
        raise UsageError(f"--out {str(folder)!r} cannot be a folder: {str(there)!r} is none; choose another --out.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"--out {str(folder)!r}: no permission to write in {str(there)!r}; choose another --out.")


def picture(figure: Figure, ending: str) -> bytes:
    """The figure in one of the formats."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=ending, metadata=FORMATS[ending])
    return buffer.getvalue()


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """`name.png` and `name.pdf`."""
    return [write_picture(figure, folder / f"{name}.{ending}") for ending in ("png", "pdf")]


def write_picture(figure: Figure, path: Path) -> Path:
    """The figure in the format that the ending of `path` names."""
    content = picture(figure, path.suffix.lstrip(".").lower())
    write_atomically(path, lambda stream: stream.write(content))
    return path


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], note: str = "") -> None:
    """One line per row, numbers to seven digits; with a `note`, a last column repeats it in every row."""
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns, *(["note"] if note else [])], lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        values = {key: _short(value) for key, value in row.items()}
        writer.writerow({**values, "note": note} if note else values)
    write_text(path, text.getvalue())


def _short(value: Any) -> Any:
    if value is None:
        return ""
    if hasattr(value, "item"):
        value = value.item()
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value
