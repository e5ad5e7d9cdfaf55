"""Writing files so that a crash, a full disk or a second writer never leaves half of one; and what JSON can hold."""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from gpcnoise_cli.errors import GpcnoiseError, UsageError


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


def write_arrays(path: Path, arrays: Mapping[str, Any], *, compressed: bool = False) -> None:
    """An npz file, atomically. NumPy's own writer, met by a full disk, leaves the archive open and complains later."""
    import numpy as np
    from numpy.lib.format import write_array

    def write(stream: IO[bytes]) -> None:
        method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
        with zipfile.ZipFile(stream, "w", method) as archive:
            for name, values in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    write_array(member, np.asanyarray(values), allow_pickle=False)

    write_atomically(path, write)


def write_text(path: Path, text: str) -> None:
    """`text` as UTF-8, atomically."""
    write_atomically(path, lambda stream: stream.write(text.encode()))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Readable JSON, atomically."""
    write_text(path, json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """`value` in JSON's own types: NumPy's, tuples and paths are converted; NaN and infinities become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def json_or_file(given: str, what: str, expected: str) -> str:
    """An option that is a JSON object itself, or names a text file: the text."""
    if given.lstrip().startswith("{"):
        return given
    try:
        return Path(given).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"cannot read the {what} {given!r}: {reason}; give {expected}.") from error
