"""Writing files so that a crash, a full disk or a second writer never leaves half of one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO

from gpcnoise_cli.errors import GpcnoiseError


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file beside `path`, flush it to disk, then move it into place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise GpcnoiseError(f"cannot write {path}: {error.strerror or error}; nothing was changed there.") from error
    finally:
        with contextlib.suppress(OSError):  # where nothing could be made there is nothing to remove
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """`text` as UTF-8, atomically."""
    write_atomically(path, lambda stream: stream.write(text.encode()))
