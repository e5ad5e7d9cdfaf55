"""Where data files live: `GPCNOISE_DATA_DIR`, else the user's cache folder.

Inside, the layout is `uci/<set>/<set>_R.dat` (or `_train_R.dat` and `_test_R.dat`), `airline/…` and `banana/…`, as the
registry lists it.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpcnoise_cli.data.registry import DatasetSpec, get_spec
from gpcnoise_cli.errors import GpcnoiseError

ENVIRONMENT = "GPCNOISE_DATA_DIR"
_TEMPORARY = ".incoming-"


def data_dir() -> Path:
    """The data folder; it need not exist yet."""
    chosen = os.environ.get(ENVIRONMENT, "")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("gpcnoise")


def is_present(spec: DatasetSpec) -> bool:
    """Whether every file of the set is in the data folder (a set without files never is)."""
    return bool(spec.files) and all((data_dir() / file).is_file() for file in spec.files)


def present_sets(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The sets that can be loaded here, and those that cannot."""
    named = list(names)
    here = [name for name in named if get_spec(name).generated or is_present(get_spec(name))]
    return here, [name for name in named if name not in here]


def absent(spec: DatasetSpec) -> GpcnoiseError:
    """The error for a set whose files are not here."""
    return GpcnoiseError(
        f"{spec.name!r} is not in the data folder {str(data_dir())!r}; get it with: {spec.how_to_get}."
    )


def write_problem(target: Path, error: OSError) -> GpcnoiseError:
    """The sentence for a file that could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        advice = "free some space or choose another disk, then try again"
        return GpcnoiseError(f"no space left to write {str(target)!r}; nothing was kept: {advice}.")
    return GpcnoiseError(f"cannot write {str(target)!r} ({error.strerror or error}); choose a writable place.")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder inside the data folder, so that moving out of it is a rename; it is gone when the block ends."""
    root = data_dir()
    try:
        root.mkdir(parents=True, exist_ok=True)
        for left in root.glob(f"{_TEMPORARY}*"):  # by a process that was killed; a day-old one is no longer in use
            if time.time() - left.stat().st_mtime > 86_400:
                shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=root))
    except OSError as error:
        raise write_problem(root, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
