"""The one family of errors a user may meet.

Each message is a single sentence that names the value, what was expected and what to do; the command line prints it
and exits with `exit_code`. Anything else that escapes is a defect of the program and is reported as such.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from pathlib import Path


class GpcnoiseError(Exception):
    """Something the user can act on went wrong while the work was under way."""

    exit_code = 1


class UsageError(GpcnoiseError):
    """The request itself cannot be carried out: a wrong name, value or combination."""

    exit_code = 2


def quoted(path: Path | str) -> str:
    """`path` as it must stand in a command that the reader may copy."""
    return shlex.quote(str(path))


def nearest(value: str, choices: Iterable[str], most: int = 3) -> list[str]:
    """The choices that look most like `value`, best first; empty when none is close."""
    return difflib.get_close_matches(value, list(choices), n=most, cutoff=0.5)


def unknown_choice(kind: str, value: str, choices: Iterable[str]) -> UsageError:
    """The error for a name that is not among `choices`, with the nearest valid ones."""
    known = sorted(choices)
    close = nearest(value, known)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? " if close else ""
    return UsageError(f"unknown {kind} {value!r}; {hint}choose from: {', '.join(known)}.")
