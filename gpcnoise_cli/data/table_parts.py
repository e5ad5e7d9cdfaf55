"""A table in several files: a folder, or a pattern such as 'flights/*.parquet'.

The files are read in the order of their names, one after the other, as if they were one. All must have the same
columns, in any order, and be of one kind, text or typed, because a text file does not tell 1 from "1".
"""

from __future__ import annotations

import bisect
import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpcnoise_cli.data.cell import CellError
from gpcnoise_cli.errors import GpcnoiseError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from gpcnoise_cli.data.table_file import TableFile

_ENDINGS = (
    *(".parquet", ".feather", ".arrow", ".xlsx", ".xlsm", ".json", ".jsonl", ".ndjson"),
    *(".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".psv"),
)
_PACKED = (".gz", ".bz2", ".xz")


def is_several(path: str | Path) -> bool:
    """Whether `path` is a folder or a pattern."""
    return Path(path).is_dir() or (glob.has_magic(str(path)) and not Path(path).exists())


def parts_of(path: str | Path) -> list[Path]:
    """The files that `path` stands for, sorted; the file itself where it is one."""
    if not is_several(path):
        return [Path(path)]
    if Path(path).is_dir():
        files = sorted(one for one in Path(path).iterdir() if _is_table(one))
        if not files:
            raise UsageError(
                f"the folder {str(path)!r} holds no table; files that end in .parquet, .csv and the like are read, "
                f"and those of sub-folders by a pattern, such as {str(Path(path) / '**' / '*.parquet')!r}."
            )
        return files
    files = sorted(Path(name) for name in _matches(str(path)) if Path(name).is_file())
    if not files:
        raise UsageError(f"no file matches {str(path)!r}; quote the pattern and check the folder.")
    return files


def _matches(pattern: str) -> list[str]:
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 (Path.glob takes no absolute pattern)


def _is_table(path: Path) -> bool:
    """Hidden files, and such as _SUCCESS and _metadata that other programs leave, are no part of the table."""
    name = path.name.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return not path.name.startswith((".", "_")) and name.endswith(_ENDINGS) and path.is_file()


class _OfOneFile(GpcnoiseError):
    """An error that names its file already."""


@dataclass(frozen=True)
class TableParts:
    """What `TableFile` offers, for several of them."""

    name: str
    files: Sequence[TableFile]
    _starts: list[int] = field(default_factory=list)  # the first row of each file, as far as they have been read

    @property
    def typed(self) -> bool:
        return self.files[0].typed

    def notes(self) -> list[str]:
        notes = [(file.name, note) for file in self.files for note in file.notes()]
        others = f" (and {len(notes) - 1} more such files)" if len(notes) > 1 else ""
        return [f"{name}: {note}{others}" for name, note in notes[:1]]

    def blocks(self, rows: int) -> Iterator[pd.DataFrame]:
        """The rows in order, at most `rows` at a time; an error if there is none."""
        self._starts.clear()
        header: list[str] = []
        place = 0
        for file in self.files:
            self._starts.append(place)
            try:
                with file.naming():
                    if file.typed != self.typed:
                        raise GpcnoiseError(
                            f"it is no file of the kind of {self.files[0].name}; give files of one kind."
                        )
                    for frame in file.frames(rows):
                        header = header or list(frame.columns)
                        self._check(header, list(frame.columns))
                        yield frame[header]
                        place += len(frame)
            except UsageError:
                raise
            except GpcnoiseError as error:
                raise _OfOneFile(str(error)) from error
        if not place:
            raise GpcnoiseError("none of its files has a row.")

    def _check(self, header: list[str], found: list[str]) -> None:
        lacking = [name for name in header if name not in found]
        more = [name for name in found if name not in header]
        if lacking or more:
            said = [f"it lacks {lacking[0]!r}"] if lacking else []
            said += [f"it has {more[0]!r} besides"] if more else []
            raise GpcnoiseError(
                f"its columns are not those of {self.files[0].name} ({' and '.join(said)}); the files of one "
                "table need the same columns."
            )

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Add the name of the file that an error is about, and the line of a cell in it."""
        try:
            yield
        except CellError as error:
            part = bisect.bisect_right(self._starts, error.cell.row) - 1
            cell = replace(error.cell, row=error.cell.row - self._starts[part])
            with self.files[part].naming():
                raise CellError(cell, error.problem, error.advice) from error
        except (UsageError, _OfOneFile):
            raise
        except GpcnoiseError as error:
            raise GpcnoiseError(f"{self.name}: {error}") from error
