"""`data verify`: are the archive's files here, and are they the archive's?"""

from __future__ import annotations

from dataclasses import dataclass

from gpcnoise_cli.data.checksums import matches
from gpcnoise_cli.data.folder import data_dir
from gpcnoise_cli.data.registry import UCI_NAMES, DatasetSpec, get_spec
from gpcnoise_cli.errors import GpcnoiseError, UsageError


@dataclass(frozen=True)
class Verification:
    """What was found of one set: `correct`, `unverified` (no hash is known), `wrong` or `absent`."""

    dataset: str
    status: str
    detail: str


def verify_sets(names: tuple[str, ...] = ()) -> list[Verification]:
    """The named sets of the archive, all 19 where none is named."""
    specs = [get_spec(name) for name in names or UCI_NAMES]
    for spec in specs:
        if spec.kind != "uci":
            raise UsageError(f"{spec.name!r} is not a set of the archive: there is no known hash to verify.")
    return [verify_set(spec) for spec in specs]


def verify_set(spec: DatasetSpec) -> Verification:
    missing = [file for file in spec.files if not (data_dir() / file).is_file()]
    if missing:
        return Verification(spec.name, "absent", f"get it with: {spec.how_to_get}")
    try:
        found = {file: matches(data_dir() / file, file) for file in spec.files}
    except OSError as error:
        raise GpcnoiseError(f"{spec.name}: cannot be read ({error.strerror or error}).") from error
    wrong = [file for file, correct in found.items() if correct is False]
    if wrong:
        advice = f"gpcnoise data fetch {spec.name} --force"
        return Verification(spec.name, "wrong", f"{', '.join(wrong)}: sha256 differs; fetch again by: {advice}")
    if None in found.values():
        return Verification(spec.name, "unverified", "present; no sha256 is known for it")
    return Verification(spec.name, "correct", ", ".join(spec.files))
