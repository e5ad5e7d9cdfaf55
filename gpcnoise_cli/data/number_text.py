"""Numbers as people write them: `3,750`, `1.234,50 €`, `12.5%`, `$-7`, `(300)`, `1 000`.

Which of point and comma is the decimal sign is a fact of a column, not of a value: `3,750` alone could be either. So
every function takes it, and a column is read with the sign under which all of its values are numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DECIMALS = (".", ",")
_CURRENCIES = "$€£¥₹₽₩¢"
_SPACES = "'’\u00a0\u2009\u202f "
_BODY = {
    decimal: re.compile(
        rf"(\d+|\d{{1,3}}(?P<thousands>[{_SPACES}{other}])\d{{3}}(?:(?P=thousands)\d{{3}})*)?"
        rf"({re.escape(decimal)}\d*)?(e[+-]?\d+)?"
    )
    for decimal, other in ((".", ","), (",", "."))
}


def number_of(text: str, decimal: str = ".") -> float:
    """The number that `text` stands for, NaN where it is none; a percentage is a part of one."""
    if decimal == "." and (plain := _plain(text)) is not None:
        return plain
    body, negative = text.strip().lower(), False
    if body.startswith("(") and body.endswith(")"):  # as accountants write what is owed
        body, negative = body[1:-1], True
    for _ in range(2):  # the sign may stand before or after the currency
        if body[:1] in ("-", "+", "−") and body:
            negative, body = negative or body[0] != "+", body[1:].lstrip()
        body = body.lstrip(_CURRENCIES).lstrip()
    percent = body.endswith("%")
    body = body.rstrip("%" if percent else _CURRENCIES).rstrip()
    found = _BODY[decimal].fullmatch(body)
    if found is None or not (found[1] or found[3] not in (None, decimal)):
        return math.nan
    for mark in _SPACES + ("," if decimal == "." else "."):
        body = body.replace(mark, "")
    value = float(body.replace(decimal, ".")) / (100.0 if percent else 1.0)
    return -value if negative else value


def _plain(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parse_numbers(texts: Sequence[str], decimal: str = ".") -> NDArray[np.float64]:
    """Every text as a number, NaN where it is none."""
    if decimal == ".":
        try:  # the usual case, at the speed of C
            return np.asarray(texts, dtype=object).astype(np.float64)
        except ValueError:
            pass
    known = {text: number_of(text, decimal) for text in set(texts)}
    return np.asarray([known[text] for text in texts], dtype=np.float64)
