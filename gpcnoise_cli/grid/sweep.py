"""A sweep: the product of overrides in Hydra's own sweep syntax, as cells.

`likelihood=step,probit`, `inducing=range(50,200,50)`, `kernel=glob(matern*)` and `choice(...)` name several values;
every other override holds for all cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, isfinite, prod
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.config.compose import compose, with_absolute_paths
from gpcnoise_cli.config.groups import GROUPS, choices
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.request import check_size

if TYPE_CHECKING:
    from hydra.core.override_parser.types import RangeSweep

_LONGEST_NAME = 100


@dataclass(frozen=True)
class SweptCell:
    """A cell with the values that distinguish it, by key."""

    cell: Cell
    values: dict[str, str]


def expand(overrides: Sequence[str]) -> list[SweptCell]:
    """One cell for each combination, in the order of the overrides, the last one varying fastest."""
    parsed = [_values(text) for text in overrides]
    check_size(prod(len(one.values) for one in parsed))
    swept = [one.key for one in parsed if one.swept]
    cells = []
    for combination in product(*(one.values for one in parsed)):
        chosen = {one.key: value for one, value in zip(parsed, combination, strict=True)}
        # The workers may run in another folder.
        config = with_absolute_paths(compose([f"{key}={value}" for key, value in chosen.items()]))
        if config.dataset.path == "-":
            raise UsageError(
                "a sweep reads its table many times, and standard input only once; save it to a file first."
            )
        values = {key: _bare(chosen[key]) for key in swept}
        unnamed = Cell.of("", config)
        cells.append(SweptCell(Cell.of(_name(values, unnamed.digest), config), values))
    # Two spellings of one value are one run.
    return list({swept_cell.cell.digest: swept_cell for swept_cell in cells}.values())


@dataclass(frozen=True)
class _Parsed:
    key: str
    values: list[str]
    swept: bool


def _values(text: str) -> _Parsed:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import Glob, RangeSweep
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(text)
    except HydraException as error:
        raise UsageError(
            f"{text!r} cannot be read as an override; write KEY=VALUE or KEY=a,b,c or KEY=range(0,10)."
        ) from error
    key = override.get_key_element()
    if not override.is_sweep_override():
        return _Parsed(key, [text.partition("=")[2]], False)
    if override.is_interval_sweep():
        raise UsageError(f"{text!r} is an interval, which has no end of values; write a range or a list.")
    value: Any = override.value()
    if isinstance(value, RangeSweep):
        check_size(_length(value, text))
    names = value.filter(choices(key)) if isinstance(value, Glob) and key in GROUPS else None
    values = names if names is not None else list(override.sweep_string_iterator())
    if not values:
        raise UsageError(f"{text!r} names no value.")
    return _Parsed(key, values, True)


def _length(swept: RangeSweep, text: str) -> int:
    """The number of values in a range, which may be too many to count them out."""
    start, stop, step = swept.start, swept.stop, swept.step
    if start is None or stop is None or not all(map(isfinite, (start, stop, step))) or step == 0:
        raise UsageError(
            f"{text!r} has no end; write range(START,STOP) or range(START,STOP,STEP) with a STEP other than 0."
        )
    return max(0, ceil((stop - start) / step))


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _name(values: dict[str, str], digest: str) -> str:
    """A file name that people can read, made unique by the digest."""
    readable = ",".join(f"{key}={value}" for key, value in values.items())
    safe = re.sub(r"[^A-Za-z0-9.,=+_-]+", "-", readable)[:_LONGEST_NAME].strip("-.")
    return f"{safe}-{digest}" if safe else digest
