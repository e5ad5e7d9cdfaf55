"""`data fetch`: download the archive with pooch and take the asked sets out of it.

The archive is one tar file of some 195 MB over plain http; its own hash is not known, but that of every file taken out
of it is, so a mirror (`url`) is as good as the original. pooch writes to a temporary file; the tar file is deleted
afterwards, and a download that breaks off leaves nothing behind, so the next attempt starts afresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from gpcnoise_cli.data.folder import data_dir, temporary_folder, write_problem
from gpcnoise_cli.data.intake import Intake, take_in
from gpcnoise_cli.data.registry import ARCHIVE_URL, UCI_NAMES, get_spec
from gpcnoise_cli.data.verify import verify_set
from gpcnoise_cli.errors import GpcnoiseError, UsageError


class Progress(Protocol):
    """What pooch asks of a progress bar."""

    total: int

    def update(self, size: int) -> None: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...


def fetch_sets(
    names: Sequence[str] = (), *, url: str = ARCHIVE_URL, force: bool = False, progress: Progress | None = None
) -> Intake:
    """Download the archive and take in the named sets (all 19 where none is named); those here already are left."""
    specs = [get_spec(name) for name in names or UCI_NAMES]
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not an address to download from; it must start with http:// or https://.")
    for spec in specs:
        if spec.kind != "uci":
            raise UsageError(f"{spec.name!r} is not in the archive; get it with: {spec.how_to_get}.")
    asked = [spec for spec in specs if force or verify_set(spec).status in ("absent", "wrong")]
    here = tuple(file for spec in specs if spec not in asked for file in spec.files)
    if not asked:
        return Intake((), here, ())
    with temporary_folder() as folder:
        archive = download(url, folder, progress)
        intake = take_in(archive, [spec.name for spec in asked], force=force)
    got = {*intake.taken, *intake.already}
    lacking = [spec.name for spec in asked if not got.issuperset(spec.files)]
    if lacking:
        raise GpcnoiseError(f"the archive at {url} does not hold {', '.join(lacking)}; the other sets were taken in.")
    return Intake(intake.taken, (*here, *intake.already), intake.unverified)


def download(url: str, folder: Path, progress: Progress | None = None) -> Path:
    """The file at `url`, whole, in `folder`; without a network, one sentence that says what to do instead."""
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    bar: Any = progress if progress is not None else False
    try:
        fetched = pooch.retrieve(
            url, known_hash=None, fname="data.tar.gz", path=folder, downloader=pooch.HTTPDownloader(progressbar=bar)
        )
    except requests.exceptions.RequestException as error:
        raise GpcnoiseError(
            f"could not download {url} ({_reason(error)}); get data.tar.gz (or a folder of its files) another way "
            "and run `gpcnoise data import PATH`, or set GPCNOISE_DATA_DIR to a folder that has the files."
        ) from error
    except OSError as error:
        raise write_problem(data_dir(), error) from error
    return Path(fetched)


def _reason(error: Exception) -> str:
    """The shortest true reason: requests wraps the cause several times over."""
    import requests

    if isinstance(error, requests.exceptions.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.HTTPError):
        return str(error).split(" for url")[0]
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the download broke off"
    if isinstance(error, requests.exceptions.ConnectionError):
        return "no connection"
    return str(error).splitlines()[0]
