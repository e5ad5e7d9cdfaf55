"""What a figure of the paper is made of: its settings, which are the options of its command, numbers, and pictures.

Each figure is one module: a `Settings` class, `compute`, `draw`, and the `Experiment` that holds them together;
`catalogue` lists them. The settings' defaults are those the pictures are published with. Whatever departs from them is
named in the figure, in the CSV and in the folder, so that a shortened run cannot be taken for a full one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

from gpcnoise_cli.data.registry import DATASETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpcnoise_cli.figures.runs import Runs

Row = Mapping[str, Any]
_OPTION = "option"


@dataclass(frozen=True)
class Option:
    """How the command line asks for a setting."""

    help: str
    short: str | None = None
    what: str = ""
    """What the names stand for; empty for a number."""
    choices: Collection[str] = ()
    empty: tuple[str, str] | None = None
    """A flag that stands for no name at all, and its help."""
    extends: bool = False
    """Whether further names beside the default's only add to the figure, so that it is the full one all the same."""


def number(default: int | None, help: str, *, short: str | None = None) -> Any:
    """A setting that counts something; None leaves it to the preset."""
    return field(default=default, metadata={_OPTION: Option(f"{help} Default: {_text(default)}.", short)})


def names(
    default: Iterable[str],
    help: str,
    choices: Collection[str],
    what: str,
    *,
    empty: tuple[str, str] | None = None,
    extends: bool = False,
) -> Any:
    """A setting that lists some of the choices."""
    default = tuple(default)
    help = f"{help}, between commas. Default: {_text(default)}."
    return field(default=default, metadata={_OPTION: Option(help, None, what, choices, empty, extends)})


def datasets(default: Iterable[str], help: str, *, empty: tuple[str, str] | None = None) -> Any:
    """A setting that lists data sets."""
    return names(default, help, DATASETS, "dataset", empty=empty)


@dataclass(frozen=True)
class Settings:
    """The common part: nothing to set."""

    @classmethod
    def options(cls) -> dict[str, Option]:
        return {f.name: f.metadata[_OPTION] for f in fields(cls)}

    def departures(self) -> dict[str, Any]:
        """The settings that are not the published ones."""
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        full = type(self)()
        return {
            name: value
            for name, value in changed.items()
            if not (self.options()[name].extends and set(value) >= set(getattr(full, name)))
        }

    def note(self) -> str:
        """What is not as published, in words; empty for a full run."""
        defaults = {f.name: f.default for f in fields(self)}
        parts = [
            f"{name.replace('_', ' ')} {_text(value)} instead of {_text(defaults[name])}"
            for name, value in self.departures().items()
        ]
        return f"not the full settings: {'; '.join(parts)}" if parts else ""

    def folder_name(self, name: str) -> str:
        """`toy`, or `toy-iterations-20-inducing-8` for one that departs from the full settings."""
        parts = [name, *(f"{key}-{_text(value)}" for key, value in self.departures().items())]
        return re.sub(r"[^A-Za-z0-9.+-]+", "-", "-".join(parts)).strip("-")


def _text(value: Any) -> str:
    if value is None:
        return "the preset's"
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


class Result(Protocol):
    """The numbers of one experiment; frozen, without any drawing."""

    def tables(self) -> dict[str, Sequence[Row]]:
        """The CSV files by name: rows with the same keys."""

    def findings(self) -> list[str]:
        """The conclusion in sentences, each computed from the numbers."""

    def summary(self) -> dict[str, Any]:
        """The few figures worth a line of JSON."""


@dataclass(frozen=True)
class Experiment:
    """One of the paper's figures or tables."""

    name: str
    shows: str
    """What there is to see, without a full stop."""
    settings: type[Settings]
    compute: Callable[[Any, Runs], Result]
    draw: Callable[[Any, str], dict[str, Figure]]
    """The pictures by name, from the result and the note on its settings."""
    example: str = ""
    """Options for the example on the help page."""


def holds(claim: bool) -> str:
    """How a claim of the paper fares."""
    return "as the paper says" if claim else "contrary to the paper"
