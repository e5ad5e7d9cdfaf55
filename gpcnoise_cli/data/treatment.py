"""What the user says about a table of their own: how to read the file, what columns are, what to do about gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcnoise_cli.data.cells import MISSING_MARKERS
from gpcnoise_cli.data.registry import TREATMENTS
from gpcnoise_cli.errors import GpcnoiseError, UsageError, nearest, unknown_choice

KEEP = "keep"


@dataclass(frozen=True)
class Treatment:
    """The keys of `dataset.` that concern one's own file; the defaults leave everything to be found out."""

    treat: Sequence[str] = ()
    """COLUMN=number, category, date or ignore."""
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    columns: str | None = None
    """A YAML file with `COLUMN: kind` lines; what is said on the command line beats it."""
    missing: str = "impute"
    na_values: Sequence[str] | None = None
    sep: str | None = None
    encoding: str | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """The texts that mean missing, besides an empty cell."""
        if self.na_values is None:
            return MISSING_MARKERS
        return tuple(text.strip() for text in self.na_values if text.strip())

    def roles(self, header: Sequence[str], target: str) -> dict[str, str]:
        """What each named column is to be: number, category, date, ignore or keep."""
        said: dict[str, str] = {}
        for column, role in self._said():
            if said.setdefault(column, role) != role:
                raise UsageError(f"column {column!r} is to be both {said[column]} and {role}; give one of them.")
        from_file = _columns_file(Path(self.columns)) if self.columns else {}
        roles = {**from_file, **said}
        for column in roles:
            if column not in header:
                raise unknown_column(column, header)
            if column == target:
                raise UsageError(f"column {column!r} is the target, which holds the classes; leave it as it is.")
        return roles

    def _said(self) -> Iterable[tuple[str, str]]:
        for text in self.treat:  # checked with the configuration
            column, _, role = text.rpartition("=")  # a name may hold equals signs
            yield column, role
        yield from ((column, "ignore") for column in self.drop)
        yield from ((column, KEEP) for column in self.keep)


def unknown_column(name: str, header: Sequence[str]) -> UsageError:
    close = nearest(name, header)
    hint = f"did you mean {' or '.join(repr(one) for one in close)}? " if close else ""
    listed = ", ".join(header[:20]) + (", …" if len(header) > 20 else "")
    return UsageError(f"there is no column {name!r}; {hint}the file has: {listed}.")


def _columns_file(path: Path) -> dict[str, str]:
    import yaml

    try:
        found: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {str(path)!r} for --columns.") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise GpcnoiseError(f"--columns {path.name} cannot be read ({str(error).splitlines()[0]}).") from error
    if not isinstance(found, dict):
        raise UsageError(f"--columns {path.name} must hold lines such as `age: number`, one for each column named.")
    for column, role in found.items():
        if role not in (*TREATMENTS, KEEP):
            raise unknown_choice(f"treatment of column {str(column)!r} in {path.name}:", str(role), (*TREATMENTS, KEEP))
    return {str(column): role for column, role in found.items()}
