"""Writing any text as a Hydra override, so that Hydra reads back exactly that text.

Hydra's override grammar gives meaning to commas, equals signs, brackets, quotes and `${...}`; file names and column
names may hold all of them. Everything that comes from an option is therefore single-quoted. Two escapes are needed:
backslashes that run into a quote are doubled, as in Hydra's grammar, and `${` is escaped for OmegaConf, which would
otherwise look for a key of that name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Scalar = bool | int | float | str


def assign(key: str, value: Scalar | Sequence[Scalar] | None) -> str:
    """The override `key=value`."""
    if isinstance(value, list | tuple):
        return f"{key}=[{','.join(assign('', one)[1:] for one in value)}]"
    if value is None:
        return f"{key}=null"
    if isinstance(value, bool):
        return f"{key}={str(value).lower()}"
    if isinstance(value, str):
        return f"{key}={_quote(escape_interpolation(value))}"
    return f"{key}={value!r}"


def escape_interpolation(text: str) -> str:
    """`text` with every `${` made literal for OmegaConf."""
    return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", text)


def _quote(text: str) -> str:
    doubled = re.sub(r"(\\+)('|$)", lambda found: found[1] * 2 + found[2], text)
    return "'" + doubled.replace("'", r"\'") + "'"
