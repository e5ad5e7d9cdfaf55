"""The Hydra tree: where `conf/` is, which groups a user may choose from, and what the choices are.

A choice is a file, or a registered data set, so help and shell completion list them without importing Hydra. In a
source checkout `conf/` stands beside the package; in an installed wheel it lies inside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpcnoise_cli.data.registry import DATASETS, MISSING_POLICIES, PROTOCOLS, SOURCES, STORAGES, TEST_ROWS
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.likelihoods.registry import DELTA_MODES, DELTA_PRIORS, OBJECTIVES

# The groups of conf/train.yaml in its order; preset_likelihood and preset_method are the preset's, never the user's.
GROUPS = ("dataset", "likelihood", "kernel", "delta", "optimizer", "runtime", "preset", "method")

# What the keys may hold that are a choice, too, but of words that no file explains.
VALUES: dict[str, tuple[str, ...]] = {
    "objective": OBJECTIVES,
    "protocol": PROTOCOLS,
    "dataset.source": SOURCES,
    "dataset.storage": STORAGES,
    "dataset.test_rows": TEST_ROWS,
    "inducing_start": ("minibatch", "scipy"),
    "dataset.missing": MISSING_POLICIES,
    "dataset.categories": ("column", "level"),
    "kernel.ard_by": ("feature", "column"),
    "kernel.lengthscale_start": ("data", "paper"),
    "delta.mode": DELTA_MODES,
    "delta.prior": DELTA_PRIORS,
    "runtime.precision": ("mixed", "float64", "float32"),
    "runtime.device": ("auto", "cpu", "gpu"),
    "tracking": ("none", "tensorboard", "mlflow"),
}

_PACKAGE = Path(__file__).resolve().parent.parent


def conf_dir() -> Path:
    """The folder that holds train.yaml."""
    folder = _find()
    if folder is None:
        raise GpcnoiseError(
            f"the installation is incomplete: no conf/train.yaml in or beside {_PACKAGE}; reinstall gpcnoise."
        )
    return folder


def _find() -> Path | None:
    places = (_PACKAGE / "conf", _PACKAGE.parent / "conf")
    return next((folder for folder in places if (folder / "train.yaml").is_file()), None)


def choices(group: str) -> list[str]:
    """The names that `group=` accepts, sorted; none where `conf/` is missing, because help must work all the same."""
    if group == "dataset":
        return sorted(DATASETS)
    folder = _find()
    return sorted(path.stem for path in (folder / group).glob("*.yaml")) if folder is not None else []


def name_key(group: str) -> str:
    """The key that holds the name of what was chosen from `group`."""
    return {"preset": "preset", "delta": "delta.mode"}.get(group, f"{group}.name")


def method_settings(method: str) -> dict[str, Any]:
    """The settings that a method brings along: its file says their names, their defaults and so their types."""
    from omegaconf import OmegaConf

    content: Any = OmegaConf.to_container(OmegaConf.load(conf_dir() / "method" / f"{method}.yaml"))
    return content.get("method", content).get("settings", {})  # in the file's own package, or in the global one


def either(names: Sequence[str]) -> str:
    """`a, b or c`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
