"""Reading a request for many runs: names and numbers between commas, a shard of the whole, and how much is too much."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from gpcnoise_cli.errors import UsageError

MOST_CELLS = 10_000

_Item = TypeVar("_Item")


def parse_numbers(text: str, what: str) -> tuple[int, ...]:
    """`0-9`, `3` or `0,2,5-7` as numbers in order, each once."""
    numbers: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part)
        if found is None or (found[2] is not None and int(found[2]) < int(found[1])):
            raise UsageError(f"{what} {text!r} cannot be read; write numbers and ranges such as 0-9 or 0,2,5-7.")
        numbers |= set(range(int(found[1]), int(found[2] or found[1]) + 1))
    return tuple(sorted(numbers))


def parse_names(text: str) -> tuple[str, ...]:
    """Names between commas, each once, in the order given."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def take_shard(items: Sequence[_Item], shard: str | None) -> list[_Item]:
    """Part I of N: every N-th item from the I-th on, so that each part gets cheap and dear ones alike."""
    if shard is None:
        return list(items)
    found = re.fullmatch(r"(\d+)/(\d+)", shard)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise UsageError(f"--shard {shard!r} cannot be read; write I/N with 1 ≤ I ≤ N, such as 1/4.")
    return list(items[part - 1 :: parts])


def check_size(cells: int) -> None:
    """Refuse a request before it is expanded, if no machine would ever finish it."""
    if cells > MOST_CELLS:
        raise UsageError(f"that would be {cells} cells, more than {MOST_CELLS}; name fewer values.")
