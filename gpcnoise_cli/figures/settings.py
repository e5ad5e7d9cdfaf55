"""What each experiment may be asked to do otherwise; the defaults are the settings its pictures are published with.

Nothing heavy is imported here: the help pages read these defaults. Anything that departs from them is named in the
figure, in the CSV and in the folder, so that a shortened run cannot be taken for a full one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

METHODS = ("step", "probit", "logit", "softmax")
GAUSSIAN_METHODS = METHODS[:3]


@dataclass(frozen=True)
class Settings:
    """The common part: nothing to set."""

    def departures(self) -> dict[str, Any]:
        """The settings that are not the published ones."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}

    def note(self) -> str:
        """What is not as published, in words; empty for a full run."""
        defaults = {f.name: f.default for f in fields(self)}
        parts = [
            f"{_words(name)} {_text(value)} instead of {_text(defaults[name])}"
            for name, value in self.departures().items()
        ]
        return f"not the full settings: {'; '.join(parts)}" if parts else ""

    def folder_name(self, name: str) -> str:
        """`toy`, or `toy-iterations-20-inducing-8` for one that departs from the full settings."""
        parts = [name, *(f"{key}-{_text(value)}" for key, value in self.departures().items())]
        return re.sub(r"[^A-Za-z0-9.+-]+", "-", "-".join(parts)).strip("-")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    if value is None:
        return "the preset's"
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value) or "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class ToySettings(Settings):
    """Section IV-A: m = 32, Matérn32, 5000 Adam iterations on all rows at once."""

    iterations: int = 5000
    inducing: int = 32


@dataclass(frozen=True)
class ErrorsSettings(Settings):
    """App. A has nothing to choose."""


@dataclass(frozen=True)
class NoiseSettings(Settings):
    """App. B, on the toys' models and on two larger sets trained by preset fast."""

    iterations: int = 5000
    inducing: int = 32
    sets: tuple[str, ...] = ("twonorm", "waveform-noise")
    set_iterations: int | None = None
    set_inducing: int = 100


@dataclass(frozen=True)
class DeltaSettings(Settings):
    """Section IV-B1: the paper's UCI settings on adult and waveform-noise."""

    iterations: int = 10_000
    inducing: int = 300
    methods: tuple[str, ...] = GAUSSIAN_METHODS
    sets: tuple[str, ...] = ("adult", "waveform-noise")


@dataclass(frozen=True)
class AirlineSettings(Settings):
    """Section IV-A3, with a fifth of the paper's 100,000 iterations: on two cores those take most of a day."""

    iterations: int = 20_000
    inducing: int = 200
    methods: tuple[str, ...] = METHODS


@dataclass(frozen=True)
class CapabilitiesSettings(Settings):
    """Table I has nothing to choose."""


@dataclass(frozen=True)
class BoundsSettings(Settings):
    """Random marginals for the curves; preset fast with either bound for the sets."""

    points: int = 200
    iterations: int | None = None
    inducing: int = 300
    splits: int = 1
    sets: tuple[str, ...] = (
        "page-blocks",
        "thyroid",
        "wall-following",
        "waveform-noise",
        "wine-quality-white",
        "statlog-landsat",
        "pendigits",
    )

    def departures(self) -> dict[str, Any]:
        """No sets at all leaves the second half out; the first is complete by itself."""
        return {key: value for key, value in super().departures().items() if value != ()}
