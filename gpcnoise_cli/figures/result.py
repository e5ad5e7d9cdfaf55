"""What every experiment gives back: tables of numbers, and what they say in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Row = Mapping[str, Any]


class Result(Protocol):
    """The numbers of one experiment; frozen, without any drawing."""

    def tables(self) -> dict[str, Sequence[Row]]:
        """The CSV files by name: rows with the same keys."""

    def findings(self) -> list[str]:
        """The conclusion in sentences, each computed from the numbers."""

    def summary(self) -> dict[str, Any]:
        """The few figures worth a line of JSON."""


def holds(claim: bool) -> str:
    """How a claim of the paper fares."""
    return "as the paper says" if claim else "contrary to the paper"
