"""Taking files into the data folder, from a folder, a tar archive or a single file that one already has.

Everything is first copied into a staging folder inside the data folder and checked there against the known hashes; only
when all of it is right are the files moved to their places, each by one rename. A failure of any kind leaves the data
folder as it was. Archives are never unpacked as a whole: members are matched by name and copied out one by one, and an
archive that holds a path leading outside is refused altogether.
"""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from gpcnoise_cli.data.checksums import known_checksums, matches, sha256_of
from gpcnoise_cli.data.folder import data_dir, temporary_folder, write_problem
from gpcnoise_cli.data.registry import DATASETS
from gpcnoise_cli.errors import GpcnoiseError, UsageError

# The year of flights as it is published is taken in too; the airline reader streams it.
_AIRLINE_ORIGINALS = ("airline/2008.csv", "airline/2008.csv.bz2", "airline/2008.csv.gz", "airline/plane-data.csv")


@dataclass(frozen=True)
class Intake:
    """Paths in the data folder: what was taken in, what was there already, and what of it has no known hash."""

    taken: tuple[str, ...]
    already: tuple[str, ...]
    unverified: tuple[str, ...]


def wanted_files(names: Sequence[str] = ()) -> dict[str, str]:
    """From a file's own name to its place in the data folder, for the named sets or for all."""
    places = [file for spec in DATASETS.values() if not names or spec.name in names for file in spec.files]
    if not names or "airline" in names:
        places += _AIRLINE_ORIGINALS
    return {PurePosixPath(place).name: place for place in places}


def take_in(source: Path, names: Sequence[str] = (), *, force: bool = False) -> Intake:
    """Take the known files in `source`, a folder, a tar archive or a single data file, into the data folder."""
    wanted = wanted_files(names)
    if not source.exists():
        raise UsageError(f"there is no file or folder {str(source)!r}.")
    with temporary_folder() as staging:
        if source.is_dir():
            staged = _copy_folder(source, wanted, staging)
        elif source.name in wanted:
            staged = {wanted[source.name]: _copy(source, staging / wanted[source.name])}
        else:
            staged = _copy_members(source, wanted, staging)
        if not staged:
            sample = ", ".join(sorted(wanted)[:3])
            raise GpcnoiseError(f"{str(source)!r} holds none of the known files ({sample}, …).")
        return _settle(staged, force=force)


def _copy(source: Path, target: Path) -> Path:
    try:
        file = source.open("rb")
    except OSError as error:
        raise GpcnoiseError(f"{str(source)!r} cannot be read ({error.strerror or error}).") from error
    with file:
        return _write(_blocks(file, source.name), target)


def _blocks(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The content of `file`; its errors become sentences here, so that `_write` sees only its own."""
    try:
        while block := file.read(1 << 20):
            yield block
    except OSError as error:
        raise GpcnoiseError(f"{name} cannot be read to its end ({error.strerror or error}); get it again.") from error


def _write(blocks: Iterator[bytes], target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for block in blocks:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())  # before it is moved to where it counts as taken
    except OSError as error:
        raise write_problem(data_dir(), error) from error
    return target


def _copy_folder(source: Path, wanted: dict[str, str], staging: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(source.rglob("*")):
        if path.name in wanted and path.is_file() and staging not in path.parents:
            found.setdefault(wanted[path.name], path)
    return {place: _copy(path, staging / place) for place, path in found.items()}


def _copy_members(source: Path, wanted: dict[str, str], staging: Path) -> dict[str, Path]:
    staged: dict[str, Path] = {}
    try:
        with tarfile.open(source, "r:*") as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts:
                    raise GpcnoiseError(
                        f"{source.name} holds the path {member.name!r}, which leads outside the data folder; "
                        "it was refused and nothing was taken from it."
                    )
                content = archive.extractfile(member) if member.isfile() and path.name in wanted else None
                if content is not None:
                    place = wanted[path.name]
                    staged[place] = _write(_blocks(content, source.name), staging / place)
    except (tarfile.TarError, EOFError, zlib.error, LZMAError) as error:
        raise GpcnoiseError(
            f"{source.name} is no whole tar archive and no known data file ({_cause(error)}); nothing was taken."
        ) from error
    except OSError as error:
        raise GpcnoiseError(f"{source.name} cannot be read ({error.strerror or error}).") from error
    return staged


def _cause(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["it breaks off"])[0]


def _settle(staged: dict[str, Path], *, force: bool) -> Intake:
    """Check every staged file, then move them all."""
    wrong = [place for place, path in staged.items() if matches(path, place) is False]
    if wrong:
        raise GpcnoiseError(
            f"{wrong[0]} does not have the sha256 of the archive's file (cut off or changed)"
            f"{f', nor have {len(wrong) - 1} others' if len(wrong) > 1 else ''}; nothing was taken."
        )
    root, known = data_dir(), known_checksums()
    already = [place for place, path in staged.items() if _same(path, root / place)]
    moves = [place for place in staged if place not in already]
    clash = [place for place in moves if place not in known and (root / place).exists()]
    if clash and not force:
        raise UsageError(f"{clash[0]} is in the data folder already and differs; --force replaces it.")
    try:
        for place in moves:
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            staged[place].replace(root / place)
    except OSError as error:
        raise write_problem(root / place, error) from error
    return Intake(tuple(moves), tuple(already), tuple(place for place in staged if place not in known))


def _same(staged: Path, present: Path) -> bool:
    return (
        present.is_file()
        and staged.stat().st_size == present.stat().st_size
        and sha256_of(staged) == sha256_of(present)
    )
