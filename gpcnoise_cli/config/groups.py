"""The Hydra tree on disk: where `conf/` is, which groups a user may choose from, and what the choices are.

A choice is a file, so the names come from listing folders: help and shell completion read them without importing
Hydra. In a source checkout `conf/` stands beside the package; in an installed wheel it lies inside it.
"""

from __future__ import annotations

from pathlib import Path

from gpcnoise_cli.errors import GpcnoiseError

# The groups of conf/train.yaml in its order; experiment_likelihood is chosen by the recipe, never by the user.
GROUPS = ("dataset", "likelihood", "kernel", "delta", "optimizer", "runtime", "experiment")

_PACKAGE = Path(__file__).resolve().parent.parent


def conf_dir() -> Path:
    """The folder that holds train.yaml."""
    for folder in (_PACKAGE / "conf", _PACKAGE.parent / "conf"):
        if (folder / "train.yaml").is_file():
            return folder
    raise GpcnoiseError(
        f"the installation is incomplete: no conf/train.yaml in or beside {_PACKAGE}; reinstall gpcnoise."
    )


def choices(group: str) -> list[str]:
    """The names that `group=` accepts, sorted."""
    return sorted(path.stem for path in (conf_dir() / group).glob("*.yaml"))
